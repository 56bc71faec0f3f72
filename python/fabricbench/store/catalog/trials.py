"""Statements on the table of trials: find them; start, finish, give up and remove attempts at a trial.

A run can adopt a finished trial of an earlier one. Rows with invalid values are skipped and can be listed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fabricbench.store.catalog.memberships import (
    ENTRIES,
    NEWEST_FIRST,
    EntryKey,
    remove_memberships,
    save_membership,
)
from fabricbench.store.catalog.outcomes import outcome_of, remove_outcomes, save_outcome
from fabricbench.store.catalog.process_identity import ProcessIdentity
from fabricbench.store.catalog.rows import RowError, is_record_url
from fabricbench.store.catalog.schema import (
    FAILED,
    FINISHED,
    IN_TRASH,
    INTERRUPTED,
    IS_FINISHED,
    NOT_IN_TRASH,
    OF_RUN,
    RUNNING,
    TAG_LENGTH_MAX,
    TRIAL_COLUMNS,
)
from fabricbench.store.catalog.sql import (
    Connection,
    Result,
    Row,
    Sql,
    all_of,
    any_of,
    contains,
    one_of,
    starts_with,
)
from fabricbench.store.catalog.trial import Trial, TrialFacts, row_of, to_json, trial_of
from fabricbench.store.columns import SCHEMA_VERSION
from fabricbench.store.record.identity import Identity
from fabricbench.store.record.lease import is_leased
from fabricbench.store.record.remote import RemoteTables
from fabricbench.store.record.tables import TableFolder

_PAGE_ROWS = 16
_ATTEMPTS_AT_ONCE = 500


@dataclass(frozen=True)
class UnreadableRow:
    """A row of the catalog with invalid values, which is ignored.

    Attributes:
        attempt: Number of the attempt.
        number: Number of the membership; None for the row of the trial itself.
        trial_id: Its value for the id of the trial.
        plan: Its value for the name of the plan.
        problem: Description of the problem.
    """

    attempt: int
    number: int | None
    trial_id: object
    plan: object
    problem: str

    @property
    def found(self) -> str:
        """Description of the row and its problem."""
        name = ascii(self.trial_id).strip("'")
        return f"the row of trial {name:.40} cannot be read (attempt {self.attempt}): {self.problem}"


class Catalog:
    """Statements on the table of trials, each within the caller's transaction."""

    def __init__(self, records: Path, copies: Path) -> None:
        """Set the folders of records.

        Args:
            records: Folder with a subfolder per finished trial, named by its id, unless its record is at a
                URL.
            copies: Folder for local copies of records at URLs.
        """
        self._records = records
        self._copies = copies

    def select(
        self,
        connection: Connection,
        *,
        plan: str | None = None,
        tag: str | None = None,
        suite: str | None = None,
        states: Sequence[str] = (),
        prefix: str = "",
        solo: bool = False,
        deleted: bool | None = False,
    ) -> list[Trial]:
        """Return the trials that match all arguments, oldest attempt first.

        A trial that belongs to several runs is returned for the newest of them that matches.

        `solo`: trials of single jobs only; `deleted`: those in the trash only, or with None those as well.
        """
        conditions: list[str | Sql] = []
        for column, value in (("plan", plan), ("suite", suite)):
            conditions += [] if value is None else [Sql(f"{column} = ?", value)]
        if tag is not None:
            conditions.append(has_tag(tag))
        if deleted is not None:
            conditions.append(IN_TRASH if deleted else NOT_IN_TRASH)
        if states:
            conditions.append(one_of("status", states))
        if prefix:
            conditions.append(starts_with("id", prefix))
        if solo:
            conditions.append(contains("variant", "solo/"))
        rows = self._entries(connection, all_of(*conditions)).all()
        # Of each attempt the first row.
        newest = {row.attempt: row for row in reversed(rows)}.values()
        return self._readable(reversed(newest))

    def _entries(self, connection: Connection, which: Sql | str) -> Result:
        order = f"ORDER BY attempt, {NEWEST_FIRST}"
        return connection.execute(f"SELECT * FROM {ENTRIES} WHERE", which, order)

    def where(self, connection: Connection, which: Sql) -> list[Trial]:
        """Return the trials that meet a condition on `entries`, oldest attempt first.

        A trial that belongs to several runs is returned for each that matches, the newest first.
        """
        return self._readable(self._entries(connection, which))

    def at(self, connection: Connection, keys: Sequence[EntryKey]) -> list[Trial]:
        """Return the trials at the given rows of `entries`, in that order; unreadable ones are skipped."""
        attempts = list(dict.fromkeys(attempt for attempt, _ in keys))
        rows: dict[EntryKey, Row] = {}
        for start in range(0, len(attempts), _ATTEMPTS_AT_ONCE):
            batch = one_of("attempt", attempts[start : start + _ATTEMPTS_AT_ONCE])
            result = connection.execute(f"SELECT * FROM {ENTRIES} WHERE", batch)
            rows |= {(row.attempt, row.number): row for row in result}
        return self._readable(rows[key] for key in keys)

    def latest_finished(self, connection: Connection, back: int) -> Trial | None:
        """Return the trial with the newest record, or the one `back` positions before it."""
        query = f"SELECT {', '.join(TRIAL_COLUMNS)} FROM trials WHERE {IS_FINISHED} AND {NOT_IN_TRASH}"
        return self._nth(connection, Sql(f"{query} ORDER BY ended_at DESC, attempt DESC"), back)

    def latest_of_plan(self, connection: Connection, plan: str) -> Trial | None:
        """Return the finished trial that was most recently part of a plan; None if there is none."""
        query = f"SELECT * FROM {ENTRIES} WHERE plan = ? AND {IS_FINISHED} AND {NOT_IN_TRASH}"
        order = f"placed_at DESC, attempt DESC, {NEWEST_FIRST}"
        return self._nth(connection, Sql(f"{query} ORDER BY {order}", plan), 0)

    def _nth(self, connection: Connection, query: Sql, number: int) -> Trial | None:
        """Return a trial of a query by its index among the readable ones, from 0."""
        for offset in itertools.count(0, _PAGE_ROWS):
            rows = connection.execute(query, Sql("LIMIT ? OFFSET ?", _PAGE_ROWS, offset)).all()
            readable = self._readable(rows)
            if number < len(readable):
                return readable[number]
            if len(rows) < _PAGE_ROWS:
                return None
            number -= len(readable)
        return None

    def unreadable(self, connection: Connection) -> list[UnreadableRow]:
        """Return the rows with invalid values, in the order in which they were written."""
        unreadable = []
        for row in self._entries(connection, "1 = 1"):
            try:
                trial_of(row.mapping, self._tables)
            except RowError as error:
                unreadable.append(UnreadableRow(row.attempt, row.number, row.id, row.plan, str(error)))
        return unreadable

    def _readable(self, rows: Iterable[Row]) -> list[Trial]:
        """Return the trials of rows; unreadable rows are skipped."""
        trials = []
        for row in rows:
            with suppress(RowError):
                trials.append(trial_of(row.mapping, self._tables))
        return trials

    def add_running(
        self,
        connection: Connection,
        facts: TrialFacts,
        folder: str,
        tables: str | None,
        machine: Mapping[str, Any],
    ) -> int:
        """Add a running trial of this process, replacing earlier attempts that left no record.

        Args:
            connection: Open for writing.
            facts: Facts of the trial.
            folder: Name of the folder in which the record is written.
            tables: Future URL of the record; None for a folder of the workspace.
            machine: The machine that runs it.

        Returns:
            The number of the attempt.
        """
        process = ProcessIdentity.current()
        self._remove_without_record(connection, facts.id)
        values = {
            "status": RUNNING,
            "message": "",
            "record_version": SCHEMA_VERSION,
            "host": process.host,
            "pid": process.pid,
            "process_start": process.start,
            "folder": folder,
            "tables": tables,
            "started_at": now(),
            "machine": to_json(machine),
        }
        return connection.insert_numbered("trials", row_of(facts) | values, "attempt")

    def take(self, connection: Connection, row: Mapping[str, Any], folder: str, tables: str | None) -> None:
        """Add a trial that ran elsewhere, replacing attempts here that left no record.

        Args:
            connection: Open for writing.
            row: Its row in the other catalog.
            folder: Name of the folder in which its record was written.
            tables: URL of its record; None for a folder of the workspace.
        """
        self._remove_without_record(connection, row["id"])
        remove_memberships(connection, row["id"], row["suite"])
        values = {**row, "folder": folder, "tables": tables}
        attempt = connection.insert_numbered("trials", values, "attempt")
        remove_outcomes(connection, Sql("attempt = ?", attempt))
        save_outcome(connection, attempt, row["run_spec"], row["results"])

    def _remove_without_record(self, connection: Connection, trial_id: str) -> None:
        """Remove the attempts at a trial that ended without a record."""
        self.remove(connection, all_of(Sql("id = ?", trial_id), one_of("status", (INTERRUPTED, FAILED))))

    def remove(self, connection: Connection, which: Sql) -> None:
        """Remove attempts and their entries in the trash: their numbers may be reused."""
        numbers = "attempt IN (SELECT attempt FROM trials WHERE"
        connection.execute(f"DELETE FROM trash WHERE {numbers}", which, ")")
        remove_outcomes(connection, which)
        connection.execute("DELETE FROM trials WHERE", which)

    def finish(
        self,
        connection: Connection,
        attempt: int,
        facts: TrialFacts,
        *,
        status: str,
        message: str,
        outcome: Mapping[str, object],
    ) -> None:
        """Record how a trial ended, replacing its earlier record.

        `outcome` has the values of its JSON columns: `summary`, `results`, `engine`, `digests`, and `machine`
        if another machine started it.

        The trial keeps the tag of the earlier record, and stays part of its runs unless that record was
        deleted.
        """
        replaced = Sql(f"(id = ? AND {IS_FINISHED} AND attempt <> ?)", facts.id, attempt)
        was_deleted = connection.execute(f"SELECT attempt FROM trials WHERE {IN_TRASH} AND", replaced).first()
        if was_deleted:
            remove_memberships(connection, facts.id)
        else:
            save_membership(connection, facts.id, facts.suite, replaced)
        self._save_tags(connection, replaced)
        earlier_outcome = outcome_of(connection, replaced)
        self.remove(connection, replaced)
        values = {"status": status, "message": message, "ended_at": now()}
        values |= {name: to_json(value) for name, value in outcome.items()}
        save_outcome(connection, attempt, to_json(facts.run_spec), values.get("results"), earlier_outcome)
        connection.update("trials", values, Sql("attempt = ?", attempt))

    def _save_tags(self, connection: Connection, which: Sql) -> None:
        """Copy the tags that attempts have from their plans to their trials, which outlive the attempts."""
        short = f"length(tag) BETWEEN 1 AND {TAG_LENGTH_MAX} AND"
        rows = connection.execute(f"SELECT DISTINCT id, tag FROM trials WHERE {short}", which).all()
        for trial_id, tag in rows:
            connection.execute(Sql("DELETE FROM tags WHERE trial_id = ? AND tag = ?", trial_id, tag))
            connection.insert("tags", {"trial_id": trial_id, "tag": tag})

    def give_up(
        self,
        connection: Connection,
        attempt: int,
        status: str,
        message: str,
        *,
        states: Sequence[str] = (RUNNING,),
        machine: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that an attempt in one of some states has no record.

        `machine` is the machine that ran it, if another one started it.
        """
        values = {"status": status, "message": message, "ended_at": now()}
        values |= {} if machine is None else {"machine": to_json(machine)}
        connection.update("trials", values, all_of(Sql("attempt = ?", attempt), one_of("status", states)))

    def adopt(self, connection: Connection, trial: Trial, facts: TrialFacts) -> None:
        """Add a finished trial to the run of `facts`; its record, tag and other runs are unchanged."""
        is_trial = Sql("attempt = ?", trial.attempt)
        self._save_tags(connection, all_of(is_trial, Sql("tag <> ?", facts.tag)))
        save_membership(connection, facts.id, facts.suite, is_trial)
        values = {name: value for name, value in row_of(facts).items() if name in OF_RUN}
        connection.update("trials", values, is_trial)

    def abandoned(self, connection: Connection) -> list[Row]:
        """Return the running attempts whose process has ended and whose folder has no lease."""
        running = connection.execute(Sql("SELECT * FROM trials WHERE status = ?", RUNNING)).all()
        ended = [row for row in running if not ProcessIdentity.of_row(row).may_be_alive()]
        return [row for row in ended if not is_leased(self._records / Path(str(row.folder)).name)]

    def running_folders(self, connection: Connection) -> set[str]:
        """Return the names of the temporary folders of running attempts."""
        return set(connection.execute(Sql("SELECT folder FROM trials WHERE status = ?", RUNNING)).scalars())

    def remote_records(self, connection: Connection, which: Sql) -> set[str]:
        """Return the URLs of records, finished or being written, of the attempts that meet a condition."""
        urls = connection.execute("SELECT tables FROM trials WHERE tables IS NOT NULL AND", which).scalars()
        return {url for url in urls if is_record_url(url)}

    def is_finished(self, connection: Connection, attempt: int) -> bool:
        """Return whether an attempt has finished."""
        query = Sql("SELECT status FROM trials WHERE attempt = ?", attempt)
        return connection.execute(query).scalar() in FINISHED

    def has_record(self, connection: Connection, trial_id: str) -> bool:
        """Return whether a trial has a record."""
        query = Sql(f"SELECT attempt FROM trials WHERE id = ? AND {IS_FINISHED}", trial_id)
        return connection.execute(query).first() is not None

    def _tables(self, row: Mapping[str, Any]) -> TableFolder:
        identity = Identity.of_row(row)
        if row["tables"] is None:
            return TableFolder(self._records / row["id"], identity)
        return RemoteTables(row["tables"], self._copies, identity)


def has_tag(tag: str) -> Sql:
    """Return the condition that a row of `entries` has a tag, from its plan or from users."""
    return any_of(
        Sql("entries.tag = ?", tag), Sql("entries.id IN (SELECT trial_id FROM tags WHERE tag = ?)", tag)
    )


def now() -> str:
    """Return the current time, ISO 8601 in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
