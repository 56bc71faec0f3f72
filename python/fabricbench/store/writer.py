"""The life of one attempt at a trial: running, then a record in its place, or nothing but a note."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fabricbench.store.catalog_schema import COMPLETE, FAILED, FINISHED, INCOMPLETE, INTERRUPTED, trials
from fabricbench.store.columns import SCHEMA_VERSION
from fabricbench.store.errors import StoreError
from fabricbench.store.schema import TRIALS
from fabricbench.store.tables import RecordWriter, TableFolder
from fabricbench.store.trial import TrialFacts, to_json

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.store.sql.connection import Connection
    from fabricbench.store.swap import RecordSwap
    from fabricbench.store.workspace import Workspace


class TrialWriter:
    """Takes the rows of a running trial; as a context manager it cleans up whatever happens.

    Call `write` while running, then `close`, then `finish`. Leaving the block before `finish` marks the
    attempt as interrupted (KeyboardInterrupt) or failed and removes its rows.
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
        self._record: RecordWriter | None = None
        self._is_finished = False
        self._is_in_doubt = False

    def __enter__(self) -> Self:
        """Open the tables.

        Raises:
            StoreError: The folder cannot be written, or the disk is full.
        """
        try:
            self._record = RecordWriter(self._folder, _metadata(self._facts), self._facts.observed)
        except StoreError as error:
            self._give_up(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the attempt up unless it has finished."""
        if not self._is_finished and not self._is_in_doubt:
            self._give_up(error)

    @property
    def attempt(self) -> int:
        """The number of the attempt."""
        return self._attempt

    @property
    def folder(self) -> Path:
        """Where the record is written until it is put in its place."""
        return self._folder

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
        """Put the record in place and note how the trial ended, both or neither.

        Args:
            summary: What the backend says of the run, without what depends on the machine.
            engine: What the run cost.
            results: One row of metrics for each job.

        Raises:
            StoreError: The disk is full or failing, or the catalog cannot be written.
        """
        finish_together(self._workspace, [self.ready(summary, engine, results)])

    def ready(self, summary: Mapping[str, Any], engine: Mapping[str, Any], results: pa.Table) -> ReadyTrial:
        """Write the results, so that the record is whole and only has to be put in place; see `finish`.

        A record that is going to lie at a URL is uploaded here.

        Raises:
            StoreError: The disk is full or failing, or the place of the URL cannot be written.
        """
        self._tables.write_results(TRIALS, results)
        digests = self._tables.digests()
        self._is_uploaded = self._url is not None
        swap = self._workspace.swap(self._facts.id, self._folder, self._url)
        return ReadyTrial(self, swap, summary, engine, results.to_pylist(), digests)

    def note_end(self, connection: Connection, ready: ReadyTrial) -> set[str]:
        """Note in the catalog how the trial ended.

        Returns:
            The URLs of the records that this one replaces.
        """
        summary = ready.summary
        reasons = (f"{job['name']}: {job['reason']}" for job in summary["jobs"] if job["reason"])
        catalog = self._workspace.catalog
        replaced = catalog.remote_records(
            connection, trials.c.id == self._facts.id, trials.c.status.in_(FINISHED)
        )
        catalog.finish(
            connection,
            self._attempt,
            self._facts,
            status=COMPLETE if summary["status"] == COMPLETE else INCOMPLETE,
            message="; ".join(reasons),
            outcome={
                "summary": summary,
                "results": ready.results,
                "engine": ready.engine,
                "digests": ready.digests,
            },
        )
        return replaced

    def mark_finished(self) -> None:
        """Take note that the record is in place."""
        self._is_finished = True

    def leave_in_doubt(self) -> None:
        """Touch nothing any more: only the catalog, out of reach now, can tell how the trial ended.

        Its row says either that the trial has finished, or `running`, as does that of a process that is
        killed: the next start puts right what does not fit.
        """
        self._is_in_doubt = True

    def _give_up(self, error: BaseException | None) -> None:
        """Remove the rows, which may free the disk that was full, then note why."""
        if self._record is not None:
            self._record.abandon()
        shutil.rmtree(self._folder, ignore_errors=True)
        is_interrupt = isinstance(error, KeyboardInterrupt)
        status = INTERRUPTED if is_interrupt else FAILED
        message = "stopped by the user" if is_interrupt else f"{type(error).__name__}: {error}"
        try:
            with self._workspace.database.writing() as connection:
                self._workspace.catalog.give_up(connection, self._attempt, status, message)
        except StoreError:
            # Not even the note fits. The row says `running` until the next start finds this process gone.
            return
        if self._is_uploaded:
            self._workspace.remove_records([self._url])


@dataclass(frozen=True)
class ReadyTrial:
    """A trial whose record is written and not yet in its place."""

    writer: TrialWriter
    swap: RecordSwap
    summary: Mapping[str, Any]
    engine: Mapping[str, Any]
    results: Sequence[Mapping[str, Any]]
    digests: Mapping[str, str]


def finish_together(workspace: Workspace, ready: Sequence[ReadyTrial]) -> None:
    """Put the records of several trials in place and note how they ended: all of them or none.

    Raises:
        StoreError: The disk is full or failing, or the catalog cannot be written.
    """
    replaced: set[str] = set()
    is_committing = False
    try:
        with workspace.database.writing() as connection:
            for trial in ready:
                replaced |= trial.writer.note_end(connection, trial)
                trial.swap.apply()
            is_committing = True
    except BaseException:
        # An error of the commit itself leaves open whether it took place; one before it does not.
        attempts = [trial.writer.attempt for trial in ready]
        is_noted = workspace.has_ended(attempts) if is_committing else False
        if is_noted is None:
            for trial in ready:
                trial.writer.leave_in_doubt()
        if not is_noted:
            if is_noted is False:
                for trial in reversed(ready):
                    trial.swap.undo()
            raise
    for trial in ready:
        trial.writer.mark_finished()
        trial.swap.discard()
    workspace.remove_records(replaced)


def _metadata(facts: TrialFacts) -> dict[str, str]:
    """Return what every file of the record says of itself."""
    return {
        "trial": facts.id,
        "record_version": str(SCHEMA_VERSION),
        "backend": facts.backend,
        "backend_version": facts.backend_version,
        "engine_version": facts.engine_version,
        "observed": to_json(facts.observed),
        "run_spec": to_json(facts.run_spec),
    }
