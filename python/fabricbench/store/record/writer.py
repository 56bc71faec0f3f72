"""Attempts at a trial: starts one in the catalog, writes its result tables, and finishes or gives it up."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fabricbench.store.catalog.schema import COMPLETE, FAILED, INCOMPLETE, INTERRUPTED, IS_FINISHED
from fabricbench.store.catalog.sql import Connection, Sql
from fabricbench.store.catalog.trial import TrialFacts, to_json
from fabricbench.store.columns import SCHEMA_VERSION
from fabricbench.store.errors import StoreError
from fabricbench.store.record.replacement import RecordSwap
from fabricbench.store.record.schema import TRIALS
from fabricbench.store.record.tables import RecordWriter, TableFolder

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.store.workspace import Workspace


class Attempt:
    """An attempt at a trial, `running` in the catalog until its record is `ready` and finished.

    Another process may write its record: with `open_record`, and `written` when all rows are in. If it fails,
    `give_up` removes its rows.
    """

    def __init__(
        self, workspace: Workspace, facts: TrialFacts, attempt: int, folder: Path, url: str | None
    ) -> None:
        self._workspace = workspace
        self._url = url
        self._is_uploaded = False
        self._facts = facts
        self._attempt = attempt
        self._folder = folder
        self._is_finished = False
        self._is_in_doubt = False
        self._machine: Mapping[str, Any] | None = None

    @property
    def attempt(self) -> int:
        """The number of the attempt."""
        return self._attempt

    @property
    def folder(self) -> Path:
        """Temporary folder in which the record is written."""
        return self._folder

    def ran_on(self, machine: Mapping[str, Any]) -> None:
        """Set the machine that ran the trial, if another one started it."""
        self._machine = machine

    @property
    def machine(self) -> Mapping[str, Any]:
        """The catalog column of the machine; empty if it is the one that started the trial."""
        return {} if self._machine is None else {"machine": self._machine}

    def ready(
        self, summary: Mapping[str, Any], engine: Mapping[str, Any], record: WrittenRecord
    ) -> ReadyTrial:
        """Prepare a complete record to be moved to its path; see `finish_together`.

        A record that belongs at a URL is uploaded here.

        Raises:
            StoreError: The location of the URL cannot be written.
        """
        self._is_uploaded = self._url is not None
        swap = self._workspace.swap(self._facts.id, self._folder, self._url)
        return ReadyTrial(self, swap, summary, engine, record)

    def record_end(self, connection: Connection, ready: ReadyTrial) -> set[str]:
        """Record in the catalog how the trial ended.

        Returns:
            The URLs of the records that this one replaces.
        """
        summary = ready.summary
        reasons = (f"{job['name']}: {job['reason']}" for job in summary["jobs"] if job["reason"])
        catalog = self._workspace.catalog
        has_record = Sql(f"id = ? AND {IS_FINISHED}", self._facts.id)
        replaced = catalog.remote_records(connection, has_record)
        catalog.finish(
            connection,
            self._attempt,
            self._facts,
            status=COMPLETE if summary["status"] == COMPLETE else INCOMPLETE,
            message="; ".join(reasons),
            outcome={
                "summary": summary,
                "results": ready.record.results,
                "engine": ready.engine,
                "digests": ready.record.digests,
                **self.machine,
            },
        )
        return replaced

    def mark_finished(self) -> None:
        """Mark the attempt as finished: its record is at its path."""
        self._is_finished = True

    def leave_in_doubt(self) -> None:
        """Leave everything unchanged: only the catalog, now out of reach, can show how the trial ended.

        Its row is either finished or `running`, like that of a process that was killed: the next start cleans
        up accordingly.
        """
        self._is_in_doubt = True

    @property
    def is_in_doubt(self) -> bool:
        """Whether only the catalog can show how the trial ended."""
        return self._is_in_doubt

    def settle(self) -> None:
        """Resolve the doubt: the catalog shows that the trial has not finished."""
        self._is_in_doubt = False

    @property
    def is_open(self) -> bool:
        """Whether it is neither finished nor in doubt."""
        return not (self._is_finished or self._is_in_doubt)

    @property
    def uploaded(self) -> str | None:
        """URL at which a part of its record may be stored; None if nothing was uploaded."""
        return self._url if self._is_uploaded else None

    def give_up(self, error: BaseException | None) -> None:
        """Unless the trial has finished, remove its rows, which may free disk space, then record the reason.

        It counts as interrupted after KeyboardInterrupt, and as failed after any other error.
        """
        give_up_together(self._workspace, [self], error)


class TrialWriter(Attempt):
    """An attempt whose rows this process writes; a context manager that cleans up on exit.

    Call `write` while running, then `close`, then `finish`. Leaving the block before `finish` gives it up.
    """

    _record: RecordWriter | None = None

    def __enter__(self) -> Self:
        """Open the tables.

        Raises:
            StoreError: The folder cannot be written, or the disk is full.
        """
        try:
            self._record = open_record(self._folder, self._facts)
        except StoreError as error:
            self.give_up(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the attempt up unless it has finished."""
        self.give_up(error)

    @property
    def _tables(self) -> RecordWriter:
        if self._record is None:
            raise AssertionError("the trial's tables are not open")
        return self._record

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Append rows to a table.

        Raises:
            StoreError: The disk is full or failing.
            RecordSchemaError: The rows do not have the table's columns.
        """
        self._tables.write(table, batch)

    def close(self) -> TableFolder:
        """Finish the backend's tables and return them for reading.

        Raises:
            StoreError: The disk is full or failing.
        """
        self._tables.close()
        return TableFolder(self._folder)

    def finish(self, summary: Mapping[str, Any], engine: Mapping[str, Any], results: pa.Table) -> None:
        """Move the record to its path and record how the trial ended, both or neither.

        Args:
            summary: The backend's summary of the run, without machine-dependent values.
            engine: Cost of the run.
            results: One row of metrics for each job.

        Raises:
            StoreError: The disk is full or failing, or the catalog cannot be written.
        """
        finish_together(self._workspace, [self.ready(summary, engine, self.written(results))])

    def written(self, results: pa.Table) -> WrittenRecord:
        """Write the results, which completes the record.

        Raises:
            StoreError: The disk is full or failing.
        """
        return written(self._tables, results)

    def give_up(self, error: BaseException | None) -> None:
        """Also close the tables."""
        if self._record is not None and self.is_open:
            self._record.abandon()
        super().give_up(error)


@dataclass(frozen=True)
class WrittenRecord:
    """Catalog data of a complete record: rows of metrics, and the digests of its files."""

    results: Sequence[Mapping[str, Any]]
    digests: Mapping[str, str]


def open_record(folder: Path, facts: TrialFacts) -> RecordWriter:
    """Open the tables of a trial in the folder of its attempt.

    Raises:
        StoreError: The folder cannot be written, or the disk is full.
    """
    return RecordWriter(folder, _metadata(facts), facts.observed)


def written(record: RecordWriter, results: pa.Table) -> WrittenRecord:
    """Write the results of a record whose other tables are closed, which completes it.

    Raises:
        StoreError: The disk is full or failing.
    """
    record.write_results(TRIALS, results)
    return WrittenRecord(results.to_pylist(), record.digests())


@dataclass(frozen=True)
class ReadyTrial:
    """A trial whose record is complete and not yet at its path."""

    attempt: Attempt
    swap: RecordSwap
    summary: Mapping[str, Any]
    engine: Mapping[str, Any]
    record: WrittenRecord


def finish_together(workspace: Workspace, ready: Sequence[ReadyTrial]) -> None:
    """Move the records of several trials to their paths and record how they ended: all of them or none.

    If the catalog did not respond, it can be called again with the same arguments.

    Raises:
        UnreachableError: The catalog does not respond.
        StoreError: The disk is full or failing, or the catalog cannot be written.
    """
    if any(trial.attempt.is_in_doubt for trial in ready) and _has_finished(workspace, ready):
        return
    replaced: set[str] = set()
    is_committing = False
    try:
        with workspace.database.writing() as connection:
            for trial in ready:
                replaced |= trial.attempt.record_end(connection, trial)
                trial.swap.apply()
            is_committing = True
    except BaseException:
        # An error of the commit itself leaves open whether it took effect; an earlier one does not.
        attempts = [trial.attempt.attempt for trial in ready]
        is_recorded = workspace.has_ended(attempts) if is_committing else False
        if is_recorded is None:
            for trial in ready:
                trial.attempt.leave_in_doubt()
        if not is_recorded:
            if is_recorded is False:
                for trial in reversed(ready):
                    trial.swap.undo()
            raise
    _mark_finished(ready)
    workspace.remove_records(replaced)


def _has_finished(workspace: Workspace, ready: Sequence[ReadyTrial]) -> bool:
    """Check in the catalog how trials in doubt ended; if they have not finished, move everything back.

    Raises:
        StoreError: The catalog still does not respond.
    """
    # A commit without a response may still be in progress: it has the write lock.
    with workspace.database.writing() as connection:
        attempts = (trial.attempt.attempt for trial in ready)
        is_recorded = all(workspace.catalog.is_finished(connection, attempt) for attempt in attempts)
    if is_recorded:
        _mark_finished(ready)
    else:
        for trial in reversed(ready):
            trial.swap.undo()
            trial.attempt.settle()
    return is_recorded


def _mark_finished(ready: Sequence[ReadyTrial]) -> None:
    for trial in ready:
        trial.attempt.mark_finished()
        trial.swap.discard()


def give_up_together(workspace: Workspace, attempts: Sequence[Attempt], error: BaseException | None) -> None:
    """Give up those of some attempts that have not finished; see `Attempt.give_up`."""
    open_attempts = [attempt for attempt in attempts if attempt.is_open]
    if not open_attempts:
        return
    for attempt in open_attempts:
        shutil.rmtree(attempt.folder, ignore_errors=True)
    is_interrupt = isinstance(error, KeyboardInterrupt)
    status = INTERRUPTED if is_interrupt else FAILED
    message = "stopped by the user" if is_interrupt else f"{type(error).__name__}: {error}"
    try:
        with workspace.database.writing() as connection:
            for attempt in open_attempts:
                workspace.catalog.give_up(connection, attempt.attempt, status, message, **attempt.machine)
    except StoreError:
        # Not even the message can be stored. The row remains `running` until the next start detects that this
        # process has ended.
        return
    workspace.remove_records(attempt.uploaded for attempt in open_attempts)


def _metadata(facts: TrialFacts) -> dict[str, str]:
    """Return the metadata of every file of the record."""
    return {
        "trial": facts.id,
        "record_version": str(SCHEMA_VERSION),
        "backend": facts.backend,
        "backend_version": facts.backend_version,
        "engine_version": facts.engine_version,
        "observed": to_json(facts.observed),
        "run_spec": to_json(facts.run_spec),
    }
