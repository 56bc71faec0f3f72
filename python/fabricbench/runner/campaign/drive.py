"""Carries a campaign out: every trial once, whatever becomes of workers, nodes and of this process.

What has its record already is left out, so that a campaign goes on where it ended. This process alone writes
the catalog, some trials at a time. A trial that fails is noted and stops no other.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from fabricbench.plan.cost import duration
from fabricbench.runner.campaign.pool import Answer, Pool, put_files, remove_tries
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.loading import backend_of
from fabricbench.runner.messages import Done, Order, Setup
from fabricbench.runner.trials import facts_of, machine_facts
from fabricbench.store.writer import finish_together

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Backend, SharingCores
    from fabricbench.plan.expand import PlannedTrial
    from fabricbench.runner.campaign.file import Campaign
    from fabricbench.runner.trials import Results
    from fabricbench.store import TrialFacts, Workspace
    from fabricbench.store.writer import Attempt, ReadyTrial

_AHEAD: Final = 2
"""Trials begun for each core: the next waits where one ends."""
_WAIT_S: Final = 0.2
_UNKNOWN_MS: Final = 1_000
"""Time that a trial without an estimate counts as."""


@dataclass
class Unit:
    """A trial of the campaign.

    Attributes:
        planned: The trial.
        facts: What is known of it, by the first plan that has it.
        backend: What carries it out.
        others: The same by other plans that have it in common.
        cost_ms: Estimated time of one core.
        memory_bytes: Estimated memory; none if unknown.
    """

    planned: PlannedTrial
    facts: TrialFacts
    backend: Backend
    cost_ms: int
    memory_bytes: int | None
    others: list[TrialFacts] = field(default_factory=list)


@dataclass
class Progress:
    """How far a campaign is.

    Attributes:
        trials: How many it has.
        kept: How many had their record already.
        finished: How many have ended with a record since.
        failed: What did not: the trial, and why.
        cost_ms: Estimated time of one core of all that had to run, and of what has ended.
        done_ms: The same of what has ended.
        busy_s: Time that cores worked on trials [s].
        cores: Cores that there are.
        begun_at: When it began, by the clock of this process.
    """

    trials: int
    kept: int = 0
    finished: int = 0
    failed: list[tuple[TrialFacts, BaseException]] = field(default_factory=list)
    cost_ms: int = 0
    done_ms: int = 0
    busy_s: float = 0.0
    cores: int = 1
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def share(self) -> float:
        """Share of the estimated work that is done, from 0 to 1."""
        return self.done_ms / self.cost_ms if self.cost_ms else 1.0

    @property
    def elapsed_s(self) -> float:
        """Time since it began [s]."""
        return time.monotonic() - self.begun_at

    @property
    def left_s(self) -> float | None:
        """Time that the rest will take [s], by what the work so far took; none before anything has ended."""
        return self.elapsed_s * (1 - self.share) / self.share if self.done_ms else None

    @property
    def busy_percent(self) -> float:
        """Share of the time of all cores in which they worked on trials [%]."""
        return 100 * self.busy_s / (self.cores * self.elapsed_s)


def units_of(campaign: Campaign) -> list[Unit]:
    """Return the trials of a campaign, each once, in the order of its plans."""
    units: dict[str, Unit] = {}
    for loaded in campaign.plans:
        backend = backend_of(loaded)
        for (planned, facts), estimate in zip(facts_of(loaded, backend), loaded.estimates, strict=True):
            if facts.id in units:
                units[facts.id].others.append(facts)
                continue
            cost_ms, memory_bytes = _UNKNOWN_MS, None
            if estimate:
                cost_ms, memory_bytes = estimate["time_ms"], estimate["memory_bytes"]
            units[facts.id] = Unit(planned, facts, backend, cost_ms, memory_bytes)
    return list(units.values())


def longest_first(units: Iterable[Unit]) -> list[Unit]:
    """Return trials by their estimated time, the longest first: the short ones fill the end."""
    return sorted(units, key=lambda unit: unit.cost_ms, reverse=True)


def drive(
    workspace: Workspace,
    units: Sequence[Unit],
    on: str,
    results: Results,
    told: Callable[[Progress], None],
) -> Progress:
    """Carry out the trials of a campaign.

    Args:
        workspace: Where records go.
        units: What to run; see `units_of`.
        on: `local`, or the address of a Ray cluster.
        results: Computes the rows of the table `trials`.
        told: Gets the progress a few times a second.

    Raises:
        ClusterError: Ray is not installed, or there is no such cluster.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; what has ended is kept.
    """
    progress = Progress(len(units))
    waiting = _left(workspace, units, progress)
    if not waiting:
        return progress
    backends = {unit.facts.backend: cast("SharingCores", unit.backend) for unit in waiting}
    setups = {name: Setup(backend, results, threads=1) for name, backend in backends.items()}
    # Ray tells of lost workers on standard output, which is for the result.
    with redirect_stdout(sys.stderr), Interrupts() as interrupts:
        pool = Pool(on, setups, workspace.records)
        progress.cores = pool.cores
        driver = _Driver(workspace, pool, waiting, progress)
        try:
            while driver.is_going:
                interrupts.check()
                driver.step()
                told(progress)
        except BaseException as error:
            driver.give_up(error)
            raise
        finally:
            pool.close()
    return progress


def _left(workspace: Workspace, units: Sequence[Unit], progress: Progress) -> deque[Unit]:
    """Return what has no record, the longest first."""
    left = []
    for unit in units:
        if workspace.resume(unit.facts) is None:
            left.append(unit)
        else:
            progress.kept += 1
            _share(workspace, unit)
    progress.cost_ms = sum(unit.cost_ms for unit in left)
    return deque(longest_first(left))


def _share(workspace: Workspace, unit: Unit) -> None:
    """Note that a finished trial is part of the other plans as well."""
    for facts in unit.others:
        workspace.resume(facts)


class _Driver:
    def __init__(self, workspace: Workspace, pool: Pool, waiting: deque[Unit], progress: Progress) -> None:
        self._workspace = workspace
        self._pool = pool
        self._waiting = waiting
        self._running: dict[str, tuple[Unit, Attempt]] = {}
        self._progress = progress

    @property
    def is_going(self) -> bool:
        """Whether anything runs or waits."""
        return bool(self._waiting or self._running)

    def step(self) -> None:
        """Begin what there is room for, and finish what has ended."""
        room = min(len(self._waiting), _AHEAD * self._pool.cores - len(self._running))
        if room > 0:
            most_bytes = self._pool.largest_memory_bytes()
            for _ in range(room):
                self._begin(self._waiting.popleft(), most_bytes)
        if self._running:
            self._finish(list(self._pool.answers(_WAIT_S)))

    def _begin(self, unit: Unit, most_bytes: int) -> None:
        if unit.memory_bytes is not None and unit.memory_bytes > most_bytes:
            needed, there = unit.memory_bytes / 1e9, most_bytes / 1e9
            found = f"it needs some {needed:.1f} GB, and no node has more than {there:.1f}"
            self._fail(unit, MemoryError(found))
            return
        attempt = self._workspace.begin_elsewhere(unit.facts, machine_facts())
        self._running[unit.facts.id] = unit, attempt
        order = Order(unit.planned, unit.facts, attempt.folder, 1)
        self._pool.begin(unit.facts.id, order, unit.memory_bytes)

    def _finish(self, ended: Sequence[tuple[str, Answer | Exception]]) -> None:
        """Put the records of trials that have ended in their places, all of them at once."""
        ready: dict[str, ReadyTrial] = {}
        for key, answer in ended:
            unit, attempt = self._running[key]
            if isinstance(answer, Exception):
                error: BaseException = answer
            else:
                self._progress.busy_s += answer.busy_s
                if isinstance(answer.said, Done):
                    ready[key] = _ready(attempt, answer, answer.said)
                    continue
                error = answer.said.error
            attempt.give_up(error)
            del self._running[key]
            self._fail(unit, error)
        finish_together(self._workspace, list(ready.values()))
        for key in ready:
            unit, _ = self._running.pop(key)
            _share(self._workspace, unit)
            self._progress.finished += 1
            self._progress.done_ms += unit.cost_ms

    def _fail(self, unit: Unit, error: BaseException) -> None:
        self._progress.failed.append((unit.facts, error))
        self._progress.done_ms += unit.cost_ms

    def give_up(self, error: BaseException) -> None:
        """Note of everything that runs, or has ended and is not in its place, that it came to nothing."""
        for _, attempt in self._running.values():
            attempt.give_up(error)


def _ready(attempt: Attempt, answer: Answer, said: Done) -> ReadyTrial:
    if answer.files is None:
        remove_tries(attempt.folder)
    else:
        put_files(attempt.folder, answer.files)
    return attempt.ready(said.summary, said.engine, said.record)


def progress_text(progress: Progress) -> str:
    """Say in a line how far a campaign is."""
    done = progress.kept + progress.finished + len(progress.failed)
    parts = [f"{done} of {progress.trials} trials", f"{100 * progress.share:.0f} % of the estimated work"]
    if progress.failed:
        parts.append(f"{len(progress.failed)} failed")
    if (left_s := progress.left_s) is not None:
        parts.append(f"{duration(round(1000 * left_s))} left")
    return ", ".join(parts)
