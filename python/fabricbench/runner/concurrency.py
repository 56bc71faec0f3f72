"""Decides how many trials run concurrently, from their estimated time and the available cores and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabricbench.backend.machine import available_cores, available_memory_bytes
from fabricbench.backend.protocol import Backend, SharingCores
from fabricbench.plan.loaded_plan import LoadedPlan

if TYPE_CHECKING:
    from fabricbench.plan.engine import Estimate

_GAIN_MS: Final = 2_000
"""Least time that concurrency must save [ms]: each process takes at least half a second to start."""
_LONG_MS: Final = 10_000
"""Estimated time of a first trial [ms] above which concurrency starts without measuring that trial first."""


@dataclass(frozen=True)
class SharedResources:
    """Resources shared by concurrent trials.

    Attributes:
        at_once: Largest number of concurrent trials.
        cores: Cores of the machine.
        memory_bytes: Memory available to all trials [bytes]; None if the machine does not report it.
        allowed: Called before each trial; returns the number of concurrent trials allowed at that time.
    """

    at_once: int
    cores: int
    memory_bytes: int | None
    allowed: Callable[[], int] | None = None

    def has_room(self, running: Sequence[int | None], needed_bytes: int | None) -> bool:
        """Return whether a trial may start while others are running.

        A single trial always may: its memory was checked against the machine before.

        Args:
            running: Estimated memory of each running trial [bytes]; None if unknown.
            needed_bytes: Estimated memory of the trial [bytes]; None if unknown.
        """
        if not running:
            return True
        trials_max = self.at_once if self.allowed is None else min(self.at_once, self.allowed())
        if len(running) >= trials_max:
            return False
        if self.memory_bytes is None:
            return True
        estimates = [memory_bytes for memory_bytes in (*running, needed_bytes) if memory_bytes is not None]
        return len(estimates) == len(running) + 1 and sum(estimates) <= self.memory_bytes

    def cores_of(self, needed_bytes: int | None, left: int) -> int:
        """Return the number of cores for a trial while similar trials run concurrently.

        Args:
            needed_bytes: Its estimated memory [bytes]; None if unknown.
            left: Number of trials that run or wait, including this one.
        """
        fitting = (
            self.memory_bytes // needed_bytes if needed_bytes and self.memory_bytes is not None else left
        )
        return max(1, self.cores // max(1, min(self.at_once, fitting, left)))


class Pace:
    """Decides when the trials of a run switch from sequential to concurrent.

    Short runs start sequentially: starting processes would take longer, and `repeat` may make a trial take
    far less than estimated. The measured times of the first trials correct the estimates of the others.
    """

    def __init__(
        self, resources: SharedResources, estimates: Sequence[Estimate | None], *, is_forced: bool
    ) -> None:
        """Take the resources and the estimated cost of each trial; `is_forced` if the user set `--jobs`."""
        self.resources = resources
        self._times_ms = [estimate["time_ms"] if estimate else 0 for estimate in estimates]
        self._is_forced = is_forced
        self._estimated_ms = 0.0
        self._taken_ms = 0.0

    def took(self, index: int, time_s: float) -> None:
        """Record how long a trial took."""
        self._estimated_ms += self._times_ms[index]
        self._taken_ms += time_s * 1000

    def is_concurrent(self, started: int) -> bool:
        """Return whether the trials after the first `started` should run concurrently."""
        left_ms = self._times_ms[started:]
        if self._is_forced or len(left_ms) < 2:
            return self._is_forced
        at_once = min(self.resources.at_once, len(left_ms))
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
    """Return the pace of a plan's trials; None if they cannot run concurrently.

    Args:
        loaded: The plan.
        backend: The backend that runs it.
        threads: Threads of each trial; None for as many as help.
        jobs: Number of concurrent trials; None for as many as there are cores, if that saves time.
        allowed: Called before each trial; returns the number of concurrent trials allowed at that time.
    """
    cores = available_cores()
    at_once = min(len(loaded.trials), jobs or cores // (threads or 1))
    if at_once < 2 or not isinstance(backend, SharingCores):
        return None
    resources = SharedResources(at_once, cores, available_memory_bytes(), allowed)
    return Pace(resources, loaded.estimates, is_forced=jobs is not None)
