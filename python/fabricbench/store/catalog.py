"""The catalog: the trials of a workspace and their status."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fabricbench.store.catalog_schema import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    OF_RUN,
    RUNNING,
    TAG_LENGTH_MAX,
    tags,
    trash,
    trials,
)
from fabricbench.store.columns import SCHEMA_VERSION
from fabricbench.store.identity import Identity
from fabricbench.store.lease import is_leased
from fabricbench.store.memberships import NEWEST_FIRST, Place, forget, keep_place, places
from fabricbench.store.outcomes import forget_outcomes, keep_outcome, outcome_of
from fabricbench.store.process import ProcessIdentity
from fabricbench.store.rows import RowError, is_record_url
from fabricbench.store.sql.connection import Connection, Row
from fabricbench.store.sql.expression import Condition, any_of, call
from fabricbench.store.sql.statement import Select, delete, insert, select, update
from fabricbench.store.sql.table import Source
from fabricbench.store.tables import TableFolder
from fabricbench.store.trial import Trial, TrialFacts, row_of, to_json, trial_of

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
        query = select(places)
        for column, value in ((places.c.plan, plan), (places.c.suite, suite)):
            query = query if value is None else query.where(column == value)
        if tag is not None:
            query = query.where(has_tag(tag, places))
        if deleted is not None:
            query = query.where(is_deleted(places) if deleted else ~is_deleted(places))
        if states:
            query = query.where(places.c.status.in_(states))
        if prefix:
            query = query.where(places.c.id.startswith(prefix))
        if solo:
            query = query.where(places.c.variant.contains("solo/"))
        rows = connection.execute(query.order_by(places.c.attempt, NEWEST_FIRST)).all()
        return self._readable(_first_places(rows))

    def where(self, connection: Connection, condition: Condition) -> list[Trial]:
        """Return the trials that meet a condition on `places`, oldest attempt first.

        A trial that belongs to several runs is returned for each that matches, the newest first.
        """
        query = select(places).where(condition).order_by(places.c.attempt, NEWEST_FIRST)
        return self._readable(connection.execute(query))

    def at(self, connection: Connection, chosen: Sequence[Place]) -> list[Trial]:
        """Return the trials at the given rows of `places`, in that order; unreadable ones are skipped."""
        attempts = list(dict.fromkeys(attempt for attempt, _ in chosen))
        found: dict[Place, Row] = {}
        for first in range(0, len(attempts), _ATTEMPTS_AT_ONCE):
            some = attempts[first : first + _ATTEMPTS_AT_ONCE]
            rows = connection.execute(select(places).where(places.c.attempt.in_(some)))
            found |= {(row.attempt, row.number): row for row in rows}
        return self._readable(found[place] for place in chosen)

    def latest_finished(self, connection: Connection, back: int) -> Trial | None:
        """Return the trial with the newest record, or the one `back` positions before it."""
        query = (
            select(trials)
            .where(trials.c.status.in_(FINISHED), ~is_deleted(trials))
            .order_by(trials.c.ended_at.desc(), trials.c.attempt.desc())
        )
        return self._nth(connection, query, back)

    def latest_of_plan(self, connection: Connection, plan: str) -> Trial | None:
        """Return the finished trial that was most recently part of a plan; None if there is none."""
        last = (places.c.placed_at.desc(), places.c.attempt.desc(), NEWEST_FIRST)
        found = select(places).where(places.c.plan == plan, places.c.status.in_(FINISHED))
        return self._nth(connection, found.where(~is_deleted(places)).order_by(*last), 0)

    def _nth(self, connection: Connection, query: Select, number: int) -> Trial | None:
        """Return a trial of a query by its index among the readable ones, from 0."""
        for offset in itertools.count(0, _PAGE_ROWS):
            rows = connection.execute(query.offset(offset).limit(_PAGE_ROWS)).all()
            found = self._readable(rows)
            if number < len(found):
                return found[number]
            if len(rows) < _PAGE_ROWS:
                return None
            number -= len(found)
        return None

    def unreadable(self, connection: Connection) -> list[UnreadableRow]:
        """Return the rows with invalid values, in the order in which they were written."""
        found = []
        for row in connection.execute(select(places).order_by(places.c.attempt, NEWEST_FIRST)):
            try:
                trial_of(row.mapping, self._tables)
            except RowError as error:
                found.append(UnreadableRow(row.attempt, row.number, row.id, row.plan, str(error)))
        return found

    def _readable(self, rows: Iterable[Row]) -> list[Trial]:
        """Return the trials of rows; unreadable rows are skipped."""
        found = []
        for row in rows:
            with suppress(RowError):
                found.append(trial_of(row.mapping, self._tables))
        return found

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
        self.remove(connection, trials.c.id == facts.id, trials.c.status.in_((INTERRUPTED, FAILED)))
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
        return connection.added(insert(trials, row_of(facts) | values))

    def take(self, connection: Connection, row: Mapping[str, Any], folder: str, tables: str | None) -> None:
        """Add a trial that ran elsewhere, replacing attempts here that left no record.

        Args:
            connection: Open for writing.
            row: Its row in the other catalog.
            folder: Name of the folder in which its record was written.
            tables: URL of its record; None for a folder of the workspace.
        """
        self.remove(connection, trials.c.id == row["id"], trials.c.status.in_((INTERRUPTED, FAILED)))
        forget(connection, row["id"], row["suite"])
        attempt = connection.added(insert(trials, {**row, "folder": folder, "tables": tables}))
        forget_outcomes(connection, select(trials.c.attempt).where(trials.c.attempt == attempt))
        keep_outcome(connection, attempt, row["run_spec"], row["results"])

    def remove(self, connection: Connection, *conditions: Condition) -> None:
        """Remove attempts and their entries in the trash: their numbers may be reused."""
        numbers = select(trials.c.attempt).where(*conditions)
        connection.execute(delete(trash).where(trash.c.attempt.in_(numbers)))
        forget_outcomes(connection, numbers)
        connection.execute(delete(trials).where(*conditions))

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
        replaced = (trials.c.id == facts.id, trials.c.status.in_(FINISHED), trials.c.attempt != attempt)
        if connection.execute(select(trials.c.attempt).where(is_deleted(trials), *replaced)).first():
            forget(connection, facts.id)
        else:
            keep_place(connection, facts.id, facts.suite, *replaced)
        self._keep_tags(connection, *replaced)
        before = outcome_of(connection, select(trials.c.attempt).where(*replaced))
        self.remove(connection, *replaced)
        values = {"status": status, "message": message, "ended_at": now()}
        values |= {name: to_json(value) for name, value in outcome.items()}
        keep_outcome(connection, attempt, to_json(facts.run_spec), values.get("results"), before)
        connection.execute(update(trials).where(trials.c.attempt == attempt).values(values))

    def _keep_tags(self, connection: Connection, *conditions: Condition) -> None:
        """Copy the tags that attempts have from their plans to their trials, which outlive the attempts."""
        short = call("length", trials.c.tag).between(1, TAG_LENGTH_MAX)
        rows = connection.execute(select(trials.c.id, trials.c.tag).where(short, *conditions).distinct())
        for trial_id, tag in rows.all():
            same = (tags.c.trial_id == trial_id, tags.c.tag == tag)
            connection.execute(delete(tags).where(*same))
            connection.execute(insert(tags, {"trial_id": trial_id, "tag": tag}))

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
        is_it = (trials.c.attempt == attempt, trials.c.status.in_(states))
        connection.execute(update(trials).where(*is_it).values(values))

    def adopt(self, connection: Connection, trial: Trial, facts: TrialFacts) -> None:
        """Add a finished trial to the run of `facts`; its record, tag and other runs are unchanged."""
        self._keep_tags(connection, trials.c.attempt == trial.attempt, trials.c.tag != facts.tag)
        keep_place(connection, facts.id, facts.suite, trials.c.attempt == trial.attempt)
        values = {name: value for name, value in row_of(facts).items() if name in OF_RUN}
        connection.execute(update(trials).where(trials.c.attempt == trial.attempt).values(values))

    def abandoned(self, connection: Connection) -> list[Row]:
        """Return the running attempts whose process has ended and whose folder has no lease."""
        rows = connection.execute(select(trials).where(trials.c.status == RUNNING)).all()
        gone = [row for row in rows if not ProcessIdentity.of_row(row).may_be_alive()]
        return [row for row in gone if not is_leased(self._records / Path(str(row.folder)).name)]

    def running_folders(self, connection: Connection) -> set[str]:
        """Return the names of the temporary folders of running attempts."""
        return set(connection.execute(select(trials.c.folder).where(trials.c.status == RUNNING)).scalars())

    def remote_records(self, connection: Connection, *conditions: Condition) -> set[str]:
        """Return the URLs of records, finished or being written, of the attempts that meet the conditions."""
        query = select(trials.c.tables).where(trials.c.tables.is_not_null(), *conditions)
        return {url for url in connection.execute(query).scalars() if is_record_url(url)}

    def is_finished(self, connection: Connection, attempt: int) -> bool:
        """Return whether an attempt has finished."""
        query = select(trials.c.status).where(trials.c.attempt == attempt)
        return connection.execute(query).scalar() in FINISHED

    def has_record(self, connection: Connection, trial_id: str) -> bool:
        """Return whether a trial has a record."""
        query = select(trials.c.attempt).where(trials.c.id == trial_id, trials.c.status.in_(FINISHED))
        return connection.execute(query).first() is not None

    def _tables(self, row: Mapping[str, Any]) -> TableFolder:
        identity = Identity.of_row(row)
        if row["tables"] is None:
            return TableFolder(self._records / row["id"], identity)
        from fabricbench.store.remote import RemoteTables

        return RemoteTables(row["tables"], self._copies, identity)


def _first_places(rows: Sequence[Row]) -> list[Row]:
    """Return the first row of each attempt."""
    return list({row.attempt: row for row in reversed(rows)}.values())[::-1]


def is_deleted(table: Source) -> Condition:
    """Return the condition that an attempt, in `trials` or `places`, is in the trash."""
    return table.c.attempt.in_(select(trash.c.attempt))


def has_tag(tag: str, source: Source) -> Condition:
    """Return the condition that a trial of `places` or `listed` has a tag, from its plan or from users."""
    return any_of(source.c.tag == tag, source.c.id.in_(select(tags.c.trial_id).where(tags.c.tag == tag)))


def now() -> str:
    """Return the current time, ISO 8601 in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
