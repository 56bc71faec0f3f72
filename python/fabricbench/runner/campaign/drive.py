"""Carries a campaign out: every trial once, whatever becomes of workers, nodes and of this process.

What has its record already is left out, so that a campaign goes on where it ended. This process alone writes
the catalog, some trials at a time. A trial that fails is noted and stops no other.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from fabricbench.backend.protocol import carrier_of
from fabricbench.runner.campaign.batches import Batches
from fabricbench.runner.campaign.patience import Patience
from fabricbench.runner.campaign.pool import Pool
from fabricbench.runner.campaign.worker import Answer, put_files, remove_tries
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.loading import backend_of
from fabricbench.runner.messages import Done, Failed, Order, Setup
from fabricbench.runner.trials import facts_of, machine_facts
from fabricbench.store.errors import DiskFullError
from fabricbench.store.writer import finish_together, give_up_together

if TYPE_CHECKING:
    from fabricbench.backend.protocol import Backend, SharingCores
    from fabricbench.plan.expand import PlannedTrial
    from fabricbench.runner.campaign.file import Campaign
    from fabricbench.runner.trials import Results
    from fabricbench.store import TrialFacts, Workspace
    from fabricbench.store.writer import Attempt, ReadyTrial

_AHEAD: Final = 2
"""Batches of trials begun for each core: the next waits where one ends."""
_AT_ONCE: Final = 16
"""Batches that are noted in one transaction of the catalog."""
_UPLOADS: Final = 8
"""Records that are uploaded at once."""
_WAIT_S: Final = 0.2
_LOOK_S: Final = 1.0
"""How often nodes are looked for."""
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
        cores: Cores that there are just now.
        there_s: Time that cores have been there since it began, up to `seen_at` [s].
        seen_at: When they were counted last, by the clock of this process.
        nodes: How many trials have ended with a record on each node, by its address.
        waits: What does not answer just now and is waited for; nothing if empty.
        begun_at: When it began, by the clock of this process.
    """

    trials: int
    kept: int = 0
    finished: int = 0
    failed: list[tuple[TrialFacts, BaseException]] = field(default_factory=list)
    cost_ms: int = 0
    done_ms: int = 0
    busy_s: float = 0.0
    cores: int = 0
    there_s: float = 0.0
    seen_at: float = field(default_factory=time.monotonic)
    nodes: Counter[str] = field(default_factory=Counter)
    waits: str = ""
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

    def finish(self, unit: Unit, answer: Answer) -> None:
        """Take note of a trial that has its record now."""
        self.finished += 1
        self.done_ms += unit.cost_ms
        self.busy_s += answer.busy_s
        self.nodes[answer.node] += 1

    def have(self, cores: int) -> None:
        """Take note of how many cores there are now; the first were there from the beginning."""
        now = time.monotonic()
        self.there_s += (self.cores or cores) * (now - self.seen_at)
        self.cores, self.seen_at = cores, now

    @property
    def busy_percent(self) -> float:
        """Share of the time of all cores in which they worked on trials [%]."""
        there_s = self.there_s + self.cores * (time.monotonic() - self.seen_at)
        return 100 * self.busy_s / there_s if there_s else 0.0


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
            carrier = carrier_of(backend, planned)
            units[facts.id] = Unit(planned, facts, carrier, cost_ms, memory_bytes)
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
        StoreError: The workspace cannot be written, or the disk is full; what has ended is kept.
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
        progress.have(pool.cores)
        patience = Patience(interrupts, lambda waits: _tell_waiting(progress, waits, told))
        driver = _Driver(workspace, pool, waiting, progress, patience)
        try:
            with closing(pool):
                told(progress)
                while driver.is_going:
                    interrupts.check()
                    driver.step()
                    told(progress)
        except BaseException as error:
            driver.give_up(error)
            raise
    return progress


def _tell_waiting(progress: Progress, waits: str, told: Callable[[Progress], None]) -> None:
    progress.waits = waits
    told(progress)


def _left(workspace: Workspace, units: Sequence[Unit], progress: Progress) -> list[Unit]:
    """Return what has no record, the longest first."""
    left = []
    recorded = workspace.recorded()
    for unit in units:
        if unit.facts.id not in recorded or workspace.resume(unit.facts) is None:
            left.append(unit)
        else:
            progress.kept += 1
            _share(workspace, unit)
    progress.cost_ms = sum(unit.cost_ms for unit in left)
    return longest_first(left)


def _share(workspace: Workspace, unit: Unit) -> None:
    """Note that a finished trial is part of the other plans as well."""
    for facts in unit.others:
        workspace.resume(facts)


class _Driver:
    def __init__(
        self,
        workspace: Workspace,
        pool: Pool,
        waiting: Sequence[Unit],
        progress: Progress,
        patiently: Patience,
    ) -> None:
        self._workspace = workspace
        self._pool = pool
        self._waiting = Batches(waiting)
        self._looked_at = time.monotonic()
        self._running: dict[str, tuple[Unit, Attempt]] = {}
        self._progress = progress
        self._patiently = patiently

    @property
    def is_going(self) -> bool:
        """Whether anything runs or waits."""
        return bool(self._waiting.is_left or self._running)

    def step(self) -> None:
        """Begin what there is room for, and finish what has ended."""
        self._look()
        while self._waiting.is_left and (room := _AHEAD * self._pool.cores - self._pool.tasks) > 0:
            most_bytes = self._pool.memory_bytes_max
            batches = self._waiting.next(min(room, _AT_ONCE), self._pool.cores)
            self._begin([self._fitting(batch, most_bytes) for batch in batches])
        if self._running:
            self._finish(list(self._pool.answers(_WAIT_S)))

    def _look(self) -> None:
        """See now and then which nodes there are."""
        if time.monotonic() - self._looked_at > _LOOK_S:
            self._pool.look()
            self._looked_at = time.monotonic()
        self._progress.have(self._pool.cores)

    def _fitting(self, batch: Sequence[Unit], most_bytes: int) -> list[Unit]:
        """Return the trials of a batch for which a node has the memory; the others have failed."""
        fitting = []
        for unit in batch:
            if unit.memory_bytes is None or unit.memory_bytes <= most_bytes:
                fitting.append(unit)
                continue
            needed, there = unit.memory_bytes / 1e9, most_bytes / 1e9
            found = f"it needs some {needed:.1f} GB, and no node has more than {there:.1f}"
            self._fail(unit, MemoryError(found))
        return fitting

    def _begin(self, batches: Sequence[Sequence[Unit]]) -> None:
        """Note trials as running, all of them at once, and hand them to the pool."""
        units = [unit for batch in batches for unit in batch]
        if not units:
            return
        new_record = self._workspace.new_record
        places = self._patiently(lambda: [(unit.facts, *new_record(unit.facts.id)) for unit in units])
        attempts = self._patiently(lambda: self._workspace.begin_together(places, machine_facts()))
        for unit, attempt in zip(units, attempts, strict=True):
            self._running[unit.facts.id] = unit, attempt
        for batch in filter(None, batches):
            folders = (self._running[unit.facts.id][1].folder for unit in batch)
            orders = [Order(u.planned, u.facts, folder, 1) for u, folder in zip(batch, folders, strict=True)]
            known = [unit.memory_bytes for unit in batch if unit.memory_bytes is not None]
            self._pool.begin(orders, max(known, default=None))

    def _finish(self, ended: Sequence[tuple[str, Answer | Exception]]) -> None:
        """Put the records of trials that have ended in their places, all of them at once."""
        done: list[tuple[str, Answer, Done]] = []
        lost: list[tuple[str, Answer | Exception]] = []
        for key, answer in ended:
            if isinstance(answer, Answer) and isinstance(answer.said, Done):
                done.append((key, answer, answer.said))
            else:
                lost.append((key, answer))
        if ready := self._all_ready(done):
            self._patiently(lambda: finish_together(self._workspace, ready))
        for key, answer, _ in done:
            unit, _ = self._running.pop(key)
            self._waiting.took(unit, answer.busy_s)
            self._progress.finish(unit, answer)
            self._patiently(partial(_share, self._workspace, unit))
        for key, answer_or_error in lost:
            self._lose(key, answer_or_error)

    def _all_ready(self, done: Sequence[tuple[str, Answer, Done]]) -> list[ReadyTrial]:
        """Have records whole in the workspace, and uploaded if they go to a URL: several at once."""
        make = [partial(self._patiently, partial(self._ready, *each)) for each in done]
        if self._workspace.location is None or len(make) < 2:
            return [each() for each in make]
        with ThreadPoolExecutor(_UPLOADS) as uploads:
            return list(uploads.map(lambda each: each(), make))

    def _lose(self, key: str, answer: Answer | Exception) -> None:
        """Note why a trial has no record; a full disk of the workspace ends the campaign.

        Raises:
            DiskFullError: No other record would fit either.
        """
        if isinstance(answer, Answer):
            self._progress.busy_s += answer.busy_s
            error = cast("Failed", answer.said).error
            if isinstance(error, DiskFullError) and answer.files is None:
                raise error
        else:
            error = answer
        unit, attempt = self._running.pop(key)
        attempt.give_up(error)
        self._fail(unit, error)

    def _ready(self, key: str, answer: Answer, said: Done) -> ReadyTrial:
        _, attempt = self._running[key]
        if answer.files is None:
            remove_tries(attempt.folder)
        else:
            put_files(attempt.folder, answer.files)
        return attempt.ready(said.summary, said.engine, said.record)

    def _fail(self, unit: Unit, error: BaseException) -> None:
        self._progress.failed.append((unit.facts, error))
        self._progress.done_ms += unit.cost_ms

    def give_up(self, error: BaseException) -> None:
        """Note of everything that runs, or has ended and is not in its place, that it came to nothing."""
        give_up_together(self._workspace, [attempt for _, attempt in self._running.values()], error)
