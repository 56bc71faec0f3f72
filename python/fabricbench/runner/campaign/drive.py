"""Carries a campaign out: every trial once, whatever becomes of workers, nodes and of this process.

What has its record already is left out, so that a campaign goes on where it ended. This process alone writes
the catalog, some trials at a time. A trial that fails is noted and stops no other.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from fabricbench.runner.campaign.pool import Answer, Pool, longest_first, put_files, remove_tries
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.loading import backend_of
from fabricbench.runner.messages import Done, Order, Setup
from fabricbench.runner.trials import facts_of, machine_facts
from fabricbench.store.writer import finish_together

if TYPE_CHECKING:
    from fabricbench.backend.protocol import SharingCores
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
        others: The same by other plans that have it in common.
        cost_ms: Estimated time of one core.
        memory_bytes: Estimated memory; none if unknown.
        attempt: The attempt at it.
    """

    planned: PlannedTrial
    facts: TrialFacts
    cost_ms: int
    memory_bytes: int | None
    others: list[TrialFacts] = field(default_factory=list)
    attempt: Attempt | None = None


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
            cost_ms = estimate["time_ms"] if estimate else _UNKNOWN_MS
            units[facts.id] = Unit(planned, facts, cost_ms, estimate["memory_bytes"] if estimate else None)
    return list(units.values())


def drive(
    workspace: Workspace,
    campaign: Campaign,
    on: str,
    results: Results,
    told: Callable[[Progress], None],
) -> Progress:
    """Carry out a campaign.

    Args:
        workspace: Where records go.
        campaign: What to run.
        on: `local`, or the address of a Ray cluster.
        results: Computes the rows of the table `trials`.
        told: Gets the progress a few times a second.

    Raises:
        ClusterError: Ray is not installed, or there is no such cluster.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; what has ended is kept.
    """
    units = units_of(campaign)
    progress = Progress(len(units))
    waiting = _left(workspace, units, progress)
    if not waiting:
        return progress
    backends = [backend_of(loaded) for loaded in campaign.plans]
    setups = {each.name: Setup(cast("SharingCores", each), results, threads=1) for each in backends}
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
    return deque(left[place] for place in longest_first([unit.cost_ms for unit in left]))


def _share(workspace: Workspace, unit: Unit) -> None:
    """Note that a finished trial is part of the other plans as well."""
    for facts in unit.others:
        workspace.resume(facts)


class _Driver:
    def __init__(self, workspace: Workspace, pool: Pool, waiting: deque[Unit], progress: Progress) -> None:
        self._workspace = workspace
        self._pool = pool
        self._waiting = waiting
        self._running: dict[str, Unit] = {}
        self._progress = progress

    @property
    def is_going(self) -> bool:
        """Whether anything runs or waits."""
        return bool(self._waiting or self._running)

    def step(self) -> None:
        """Begin what there is room for, and finish what has ended."""
        while self._waiting and len(self._running) < _AHEAD * self._pool.cores:
            self._begin(self._waiting.popleft())
        if self._running:
            self._finish(list(self._pool.answers(_WAIT_S)))

    def _begin(self, unit: Unit) -> None:
        most = self._pool.largest_memory_bytes()
        if unit.memory_bytes is not None and unit.memory_bytes > most:
            needed, there = unit.memory_bytes / 1e9, most / 1e9
            self._fail(
                unit, MemoryError(f"it needs some {needed:.1f} GB, and no node has more than {there:.1f}")
            )
            return
        unit.attempt = self._workspace.begin_elsewhere(unit.facts, machine_facts())
        self._running[unit.facts.id] = unit
        order = Order(unit.planned, unit.facts, unit.attempt.folder, 1)
        self._pool.begin(unit.facts.id, order, unit.memory_bytes)

    def _finish(self, ended: Sequence[tuple[str, Answer | Exception]]) -> None:
        """Put the records of trials that have ended in their places, all of them at once."""
        ready: list[tuple[Unit, ReadyTrial]] = []
        for key, answer in ended:
            unit = self._running.pop(key)
            if isinstance(answer, Exception):
                self._fail(unit, answer)
                continue
            self._progress.busy_s += answer.busy_s
            if isinstance(answer.said, Done):
                ready.append((unit, self._ready(unit, answer, answer.said)))
            else:
                self._fail(unit, answer.said.error)
        try:
            finish_together(self._workspace, [each for _, each in ready])
        except BaseException as error:
            for unit, _ in ready:
                _attempt(unit).give_up(error)
            raise
        for unit, _ in ready:
            _share(self._workspace, unit)
            self._progress.finished += 1
            self._progress.done_ms += unit.cost_ms

    def _ready(self, unit: Unit, answer: Answer, said: Done) -> ReadyTrial:
        attempt = _attempt(unit)
        try:
            if answer.files is None:
                remove_tries(attempt.folder)
            else:
                put_files(attempt.folder, answer.files)
            return attempt.ready(said.summary, said.engine, said.record)
        except BaseException as error:
            attempt.give_up(error)
            raise

    def _fail(self, unit: Unit, error: BaseException) -> None:
        if unit.attempt is not None:
            unit.attempt.give_up(error)
        self._progress.failed.append((unit.facts, error))
        self._progress.done_ms += unit.cost_ms

    def give_up(self, error: BaseException) -> None:
        """Note of everything that runs that it came to nothing."""
        for unit in self._running.values():
            _attempt(unit).give_up(error)


def _attempt(unit: Unit) -> Attempt:
    if unit.attempt is None:
        raise AssertionError("a trial ends that has not begun")
    return unit.attempt


def progress_text(progress: Progress) -> str:
    """Say in a line how far a campaign is."""
    done = progress.kept + progress.finished + len(progress.failed)
    parts = [f"{done} of {progress.trials} trials", f"{100 * progress.share:.0f} % of the estimated work"]
    if progress.failed:
        parts.append(f"{len(progress.failed)} failed")
    if (left_s := progress.left_s) is not None:
        parts.append(f"{_time_text(left_s)} left")
    return ", ".join(parts)


def _time_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
