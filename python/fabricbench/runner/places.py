"""How many trials run at once: by what each is estimated to take, and the cores and the memory there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Backend
    from fabricbench.plan.engine import Estimate
    from fabricbench.plan.loaded import LoadedPlan

_GAIN_MS: Final = 2_000
"""Time that running side by side has to save: each process takes a good half second to start."""
_LONG_MS: Final = 10_000
"""Estimated time of a first trial that is not waited for to learn how long the others take."""


@dataclass(frozen=True)
class Places:
    """What trials that run side by side share.

    Attributes:
        at_once: How many of them run at once at most.
        cores: Cores of the machine.
        memory_bytes: Memory that it has left for all of them; none where it does not tell.
        allowed: Asked before each trial how many may run at once just now.
    """

    at_once: int
    cores: int
    memory_bytes: int | None
    allowed: Callable[[], int] | None = None

    def have_room(self, running: Sequence[int | None], wanted: int | None) -> bool:
        """Tell whether a trial may start beside others.

        One alone always may: whether the machine can carry it at all has been asked before.

        Args:
            running: Memory that each of the others is estimated to take [bytes]; none if that is not known.
            wanted: The same of the trial.
        """
        if not running:
            return True
        most = self.at_once if self.allowed is None else min(self.at_once, self.allowed())
        if len(running) >= most:
            return False
        if self.memory_bytes is None:
            return True
        known = [each for each in (*running, wanted) if each is not None]
        return len(known) == len(running) + 1 and sum(known) <= self.memory_bytes

    def cores_of(self, wanted: int | None, left: int) -> int:
        """Return how many cores a trial can have while trials like it run beside it.

        Args:
            wanted: Memory that it is estimated to take [bytes]; none if that is not known.
            left: How many trials run or wait, itself included.
        """
        fitting = self.memory_bytes // wanted if wanted and self.memory_bytes is not None else left
        return max(1, self.cores // max(1, min(self.at_once, fitting, left)))


class Pace:
    """Tells from when on the trials of a run are better carried out side by side.

    Short ones begin one after the other: starting processes would take longer, and what repeats may make a
    trial take far less than is estimated of it. How long they take tells what to expect of the others.
    """

    def __init__(self, places: Places, estimates: Sequence[Estimate | None], *, is_asked: bool) -> None:
        """Take what trials share and what each is estimated to cost; `is_asked` if the user wants it so."""
        self.places = places
        self._times_ms = [each["time_ms"] if each else 0 for each in estimates]
        self._is_asked = is_asked
        self._estimated_ms = 0.0
        self._taken_ms = 0.0

    def took(self, index: int, time_s: float) -> None:
        """Learn how long a trial took."""
        self._estimated_ms += self._times_ms[index]
        self._taken_ms += time_s * 1000

    def is_side_by_side(self, begun: int) -> bool:
        """Tell whether the trials that are left after so many are to run side by side."""
        left_ms = self._times_ms[begun:]
        if self._is_asked or len(left_ms) < 2:
            return self._is_asked
        at_once = min(self.places.at_once, len(left_ms))
        saved_ms = sum(left_ms) - max(sum(left_ms) / at_once, *left_ms)
        if self._estimated_ms:
            return saved_ms * self._taken_ms / self._estimated_ms > _GAIN_MS
        return left_ms[0] > _LONG_MS and saved_ms > _GAIN_MS


def pace_of(
    loaded: LoadedPlan,
    backend: Backend,
    *,
    threads: int | None,
    jobs: int | None,
    allowed: Callable[[], int] | None = None,
) -> Pace | None:
    """Return when the trials of a plan are to run side by side; none if they cannot.

    Args:
        loaded: The plan.
        backend: What carries it out.
        threads: Threads of each trial; as many as help if none.
        jobs: How many run at once; if none, as many as there are cores, where that saves time.
        allowed: Asked before each trial how many may run at once just now.
    """
    from fabricbench.backend.machine import available_cores, available_memory_bytes
    from fabricbench.backend.protocol import SharingCores

    cores = available_cores()
    at_once = min(len(loaded.trials), jobs or cores // (threads or 1))
    if at_once < 2 or not isinstance(backend, SharingCores):
        return None
    places = Places(at_once, cores, available_memory_bytes(), allowed)
    return Pace(places, loaded.estimates, is_asked=jobs is not None)
