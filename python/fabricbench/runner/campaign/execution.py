"""Runs every trial of a campaign once, despite lost workers, lost nodes and restarts of this process.

Trials that already have a record (tables of results) are skipped, so that a campaign resumes where it ended.
Only this process writes the catalog, several trials per transaction. A failed trial is recorded and stops no
other.

`Patience` retries operations on a catalog or record store that does not respond, e.g. while its server
restarts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Final, TypeVar, cast

from fabricbench.backend.protocol import SharingCores
from fabricbench.runner.campaign.batches import Batches
from fabricbench.runner.campaign.cluster import LOCAL
from fabricbench.runner.campaign.cluster_pool import Pool
from fabricbench.runner.campaign.local_pool import LocalPool
from fabricbench.runner.campaign.progress import Progress, TrialEvents
from fabricbench.runner.campaign.trial_units import Unit, longest_first
from fabricbench.runner.campaign.worker import Answer, put_files, remove_tries
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.listener import Listener
from fabricbench.runner.messages import Done, Failed, Order, Setup
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import Workspace
from fabricbench.store.errors import DiskFullError, UnreachableError
from fabricbench.store.record.writer import Attempt, ReadyTrial, finish_together, give_up_together

_PATIENCE_S: Final = 600
"""Timeout for a store that does not respond [s]."""
_PAUSE_S: Final = 0.5

T = TypeVar("T")


class Patience:
    """Retries an operation until the store responds or a timeout has passed."""

    def __init__(self, interrupts: Interrupts, report: Callable[[str], None]) -> None:
        """Create it; signals end the wait; `report` receives the error, or an empty string on recovery."""
        self._interrupts = interrupts
        self._report = report

    def __call__(self, do: Callable[[], T]) -> T:
        """Return the result of `do`, which must be safe to repeat after an UnreachableError.

        Raises:
            UnreachableError: The store has not responded for ten minutes.
            KeyboardInterrupt: The user stopped it.
        """
        deadline_s = time.monotonic() + _PATIENCE_S
        has_waited = False
        while True:
            try:
                result = do()
            except UnreachableError as error:
                if time.monotonic() > deadline_s:
                    raise
                has_waited = True
                self._report(str(error))
            else:
                if has_waited:
                    self._report("")
                return result
            self._interrupts.check()
            time.sleep(_PAUSE_S)


_BATCHES_PER_CORE: Final = 2
"""Batches queued per core, so that the next one starts as soon as one ends."""
_BATCHES_PER_TRANSACTION: Final = 16
"""Batches per transaction of the catalog."""
_UPLOADS: Final = 8
"""Concurrent uploads of records."""
_WAIT_S: Final = 0.2
_NODE_CHECK_S: Final = 1.0
"""Interval between checks of the nodes [s]."""


def drive(
    workspace: Workspace,
    units: Sequence[Unit],
    on: str,
    report: Callable[[Progress], None],
    *,
    listener: Listener | None = None,
    threads: int = 1,
    resume: bool = True,
) -> Progress:
    """Run the trials of a campaign.

    Args:
        workspace: Workspace that receives the records.
        units: The trials to run; see `units_of`.
        on: `local` for processes of this machine, or the address of a Ray cluster.
        report: Called with the progress a few times a second.
        listener: Receives the events of single trials, in the order in which they occur.
        threads: Worker threads of each trial, limited to the cores of a node.
        resume: Skip the trials that already have a record.

    Raises:
        ClusterError: Ray is not installed, or there is no such cluster.
        StoreError: The workspace cannot be written, or the disk is full; finished trials remain stored.
        KeyboardInterrupt: The user stopped it; finished trials remain stored.
    """
    progress = Progress(len(units))
    waiting = _unrecorded(workspace, units, progress, listener) if resume else longest_first(units)
    progress.cost_ms = sum(unit.cost_ms for unit in waiting)
    if not waiting:
        return progress
    backends = {unit.facts.backend: cast("SharingCores", unit.backend) for unit in waiting}
    setups = {name: Setup(backend, threads) for name, backend in backends.items()}
    with Interrupts() as interrupts:
        has_reports = listener is not None
        pool: Pool | LocalPool = (
            LocalPool(setups, has_reports=has_reports)
            if on == LOCAL
            else Pool(on, setups, workspace.records, has_reports=has_reports)
        )
        progress.have(pool.nodes.cores)
        patience = Patience(interrupts, lambda waits: _report_waiting(progress, waits, report))
        driver = _Driver(
            workspace, pool, waiting, progress, patience, TrialEvents(workspace, units, listener), threads
        )
        try:
            with closing(pool):
                report(progress)
                while driver.is_going:
                    interrupts.check()
                    driver.step()
                    report(progress)
        except BaseException as error:
            driver.give_up(error)
            raise
    return progress


def _report_waiting(progress: Progress, waits: str, report: Callable[[Progress], None]) -> None:
    progress.waits = waits
    report(progress)


def _unrecorded(
    workspace: Workspace, units: Sequence[Unit], progress: Progress, listener: Listener | None
) -> list[Unit]:
    """Return the trials without a record, longest first."""
    unrecorded = []
    recorded = workspace.recorded()
    for unit in units:
        stored = workspace.resume(unit.facts) if unit.facts.id in recorded else None
        if stored is None:
            unrecorded.append(unit)
            continue
        progress.kept += 1
        _register_in_other_plans(workspace, unit)
        if listener is not None:
            listener.trial_finished(stored, unit.number, resumed=True)
    return longest_first(unrecorded)


def _register_in_other_plans(workspace: Workspace, unit: Unit) -> None:
    """Register a finished trial in the other plans that include it."""
    for facts in unit.others:
        workspace.resume(facts)


class _Driver:
    def __init__(
        self,
        workspace: Workspace,
        pool: Pool | LocalPool,
        waiting: Sequence[Unit],
        progress: Progress,
        patiently: Patience,
        events: TrialEvents,
        threads: int,
    ) -> None:
        self._workspace = workspace
        self._pool = pool
        self._waiting = Batches(waiting)
        self._nodes_checked_at = time.monotonic()
        self._running: dict[str, tuple[Unit, Attempt]] = {}
        self._progress = progress
        self._patiently = patiently
        self._events = events
        self._threads = threads

    @property
    def _cores_each(self) -> int:
        """Cores per trial, limited to the largest node."""
        return min(self._threads, self._pool.nodes.cores_max)

    @property
    def is_going(self) -> bool:
        """Whether any trial is running or waiting."""
        return bool(self._waiting.is_left or self._running)

    def step(self) -> None:
        """Start trials on free cores, and finish those that have ended."""
        self._refresh_nodes()
        if self._pool.is_cut_off:
            time.sleep(_WAIT_S)
            return
        trials_at_once = max(1, self._pool.nodes.cores // self._cores_each)
        while self._waiting.is_left and (room := _BATCHES_PER_CORE * trials_at_once - self._pool.tasks) > 0:
            most_bytes = self._pool.nodes.memory_bytes_max
            batches = self._waiting.next(min(room, _BATCHES_PER_TRANSACTION), trials_at_once)
            self._begin([self._fitting(batch, most_bytes) for batch in batches])
        if self._running:
            ended = self._pool.answers(_WAIT_S)
            for key, report in self._pool.reports():
                if key in self._running:
                    self._events.reported(self._running[key][0], report)
            self._finish(ended)

    def _refresh_nodes(self) -> None:
        """Refresh the list of nodes, at most once a second."""
        if time.monotonic() - self._nodes_checked_at > _NODE_CHECK_S:
            self._pool.refresh_nodes()
            self._nodes_checked_at = time.monotonic()
        self._progress.have(self._pool.nodes.cores)

    def _fitting(self, batch: Sequence[Unit], most_bytes: int) -> list[Unit]:
        """Return the trials of a batch that fit into the memory of a node; mark the others as failed."""
        fitting = []
        for unit in batch:
            if unit.memory_bytes is None or unit.memory_bytes <= most_bytes:
                fitting.append(unit)
                continue
            needed, available = unit.memory_bytes / 1e9, most_bytes / 1e9
            message = f"it needs some {needed:.1f} GB, and no node has more than {available:.1f}"
            self._fail(unit, MemoryError(message))
        return fitting

    def _begin(self, batches: Sequence[Sequence[Unit]]) -> None:
        """Record trials as running in one transaction, and pass them to the pool."""
        units = [unit for batch in batches for unit in batch]
        if not units:
            return
        new_record = self._workspace.new_record
        new_records = self._patiently(lambda: [(unit.facts, *new_record(unit.facts.id)) for unit in units])
        attempts = self._patiently(lambda: self._workspace.begin_together(new_records, machine_facts()))
        for unit, attempt in zip(units, attempts, strict=True):
            self._running[unit.facts.id] = unit, attempt
        for batch in filter(None, batches):
            folders = (self._running[unit.facts.id][1].folder for unit in batch)
            cores = self._cores_each
            orders = [
                Order(unit.planned, unit.facts, folder, cores)
                for unit, folder in zip(batch, folders, strict=True)
            ]
            memory_bytes = [unit.memory_bytes for unit in batch if unit.memory_bytes is not None]
            self._pool.begin(orders, max(memory_bytes, default=None))

    def _finish(self, ended: Sequence[tuple[str, Answer | Exception]]) -> None:
        """Finish the trials that have ended, in one transaction."""
        done: list[tuple[str, Answer, Done]] = []
        unfinished: list[tuple[str, Answer | Exception]] = []
        for key, answer in ended:
            if isinstance(answer, Answer) and isinstance(answer.outcome, Done):
                done.append((key, answer, answer.outcome))
            else:
                unfinished.append((key, answer))
        if ready := self._all_ready(done):
            self._patiently(lambda: finish_together(self._workspace, ready))
        for key, answer, _ in done:
            unit, _ = self._running.pop(key)
            self._waiting.took(unit, answer.busy_s)
            self._progress.finish(unit, answer)
            self._patiently(partial(_register_in_other_plans, self._workspace, unit))
            self._patiently(partial(self._events.finished, unit))
        for key, answer_or_error in unfinished:
            self._lose(key, answer_or_error)

    def _all_ready(self, done: Sequence[tuple[str, Answer, Done]]) -> list[ReadyTrial]:
        """Complete records in the workspace and, if it is at a URL, upload several concurrently."""
        completions = [partial(self._patiently, partial(self._ready, *finished)) for finished in done]
        if self._workspace.location is None or len(completions) < 2:
            return [complete() for complete in completions]
        with ThreadPoolExecutor(_UPLOADS) as uploads:
            return list(uploads.map(lambda complete: complete(), completions))

    def _lose(self, key: str, answer: Answer | Exception) -> None:
        """Record why a trial has no record; if the disk of the workspace is full, end the campaign.

        Raises:
            DiskFullError: No other record would fit either.
        """
        if isinstance(answer, Answer):
            self._progress.busy_s += answer.busy_s
            error = cast("Failed", answer.outcome).error
            if isinstance(error, DiskFullError) and answer.files is None:
                raise error
        else:
            error = answer
        unit, attempt = self._running.pop(key)
        if isinstance(answer, Answer):
            attempt.ran_on(answer.machine)
        attempt.give_up(error)
        self._fail(unit, error)

    def _ready(self, key: str, answer: Answer, done: Done) -> ReadyTrial:
        _, attempt = self._running[key]
        attempt.ran_on(answer.machine)
        if answer.files is None:
            remove_tries(attempt.folder)
        else:
            put_files(attempt.folder, answer.files)
        return attempt.ready(done.summary, done.engine, done.record)

    def _fail(self, unit: Unit, error: BaseException) -> None:
        self._progress.failed.append((unit.facts, error))
        self._events.failed(unit)
        self._progress.done_ms += unit.cost_ms

    def give_up(self, error: BaseException) -> None:
        """Mark all trials that are running, or have ended without being finished, as given up."""
        give_up_together(self._workspace, [attempt for _, attempt in self._running.values()], error)
