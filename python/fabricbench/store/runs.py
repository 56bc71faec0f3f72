"""The queue of runs: durable, in the catalog, for any number of servers.

A run waits as `queued`, is claimed by the process that executes it as `running`, and ends as `complete`,
`cancelled`, `failed` or `interrupted`. A run whose process has ended is interrupted; it can be queued again,
as can cancelled and failed runs. A run on hosts is claimed where they are available and no other run uses
them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from fabricbench.store.catalog.process_identity import ProcessIdentity
from fabricbench.store.catalog.schema import COMPLETE, FAILED, INTERRUPTED, QUEUED, RUNNING
from fabricbench.store.catalog.sql import Connection, Row, Sql, all_of, one_of
from fabricbench.store.catalog.trial import to_json
from fabricbench.store.catalog.trials import now
from fabricbench.store.host_sets import HostSet, obstacles_in
from fabricbench.store.workspace import Workspace

CANCELLED = "cancelled"
ENDED = (COMPLETE, CANCELLED, FAILED, INTERRUPTED)
"""States of a run that has ended."""
RESUMABLE = (CANCELLED, FAILED, INTERRUPTED)
_IDS_AT_ONCE = 500
_NO_PROCESS = {"host": "", "pid": 0, "process_start": ""}


@dataclass(frozen=True)
class QueuedRun:
    """A requested run.

    Attributes:
        number: Its number; a later one has a higher number.
        id: 12 random hexadecimal digits.
        state: `queued`, `running`, `complete`, `cancelled`, `failed` or `interrupted`.
        plan: Name of the plan.
        title: Its title.
        plan_source: Its text as the user wrote it.
        options: `overrides`, `variants`, `tags`, `threads`, `force`, `twin`, `resume`, `count` (upper bound
            on its trials) and, for a plan with a search, `search`: the results of the search.
        trials: The first of its trials: `id`, `backend`, `variant`, `iteration`, `data_size_bytes`, `axes`
            (the values of swept fields), `size_kind`.
        owner: The user who requested it; empty if there is only one user.
        message: Why it ended as it did; empty if it is complete.
        cancel_requested: Whether a user has cancelled it.
        created_at: Time of the request, ISO 8601 in UTC.
        queued_at: Time when it was last queued.
        started_at: Time when it was last claimed; None if never.
        ended_at: Time when it ended; None if it has not.
        backend: The backend that runs it; empty for runs queued by an earlier version.
        hosts: Its hosts; None for a backend that needs none.
    """

    number: int
    id: str
    state: str
    plan: str
    title: str
    plan_source: str
    options: Mapping[str, Any]
    trials: Sequence[Mapping[str, Any]]
    owner: str
    message: str
    cancel_requested: bool
    created_at: str
    queued_at: str
    started_at: str | None
    ended_at: str | None
    backend: str
    hosts: HostSet | None

    @property
    def has_ended(self) -> bool:
        """Whether it is neither queued nor running."""
        return self.state in ENDED


class RunQueue:
    """The runs of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        """Take an open workspace."""
        self._database = workspace.database

    def add(
        self,
        *,
        plan: str,
        title: str,
        plan_source: str,
        options: Mapping[str, Any],
        planned: Sequence[Mapping[str, Any]],
        owner: str = "",
        backend: str = "",
        hosts: HostSet | None = None,
    ) -> QueuedRun:
        """Queue a run.

        Raises:
            StoreError: The catalog cannot be written.
        """
        requested_at = now()
        row: dict[str, Any] = {
            "id": uuid4().hex[:12],
            "state": QUEUED,
            "plan": plan,
            "title": title,
            "message": "",
        }
        row |= {"plan_source": plan_source, "options": to_json(options), "trials": to_json(list(planned))}
        row |= {"owner": owner, "backend": backend, "hosts": hosts.as_json() if hosts else None}
        values = (
            row | _NO_PROCESS | {"cancel_requested": 0, "created_at": requested_at, "queued_at": requested_at}
        )
        with self._database.writing() as connection:
            connection.insert("runs", values)
            return _run_with_id(connection, row["id"])

    def find(self, run_id: str) -> QueuedRun | None:
        """Return the run with an id; None if there is none.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self._database.reading() as connection:
            row = _row(connection, run_id)
        return _readable(row) if row is not None else None

    def page(
        self, *, states: Sequence[str] = (), limit: int = 100, offset: int = 0
    ) -> tuple[int, list[QueuedRun]]:
        """Return the number of runs in some states (or any), and a page of them, newest first.

        Raises:
            StoreError: The catalog cannot be read.
        """
        condition = one_of("state", states) if states else all_of()
        with self._database.reading() as connection:
            total = connection.execute("SELECT count(*) FROM runs WHERE", condition).scalar()
            in_order = Sql("ORDER BY number DESC LIMIT ? OFFSET ?", limit, offset)
            rows = connection.execute("SELECT * FROM runs WHERE", condition, in_order)
            runs = [_readable(row) for row in rows]
        return int(total or 0), [run for run in runs if run is not None]

    def waiting(self) -> list[str]:
        """Return the ids of the queued runs, the next one first.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self._database.reading() as connection:
            return [row.id for row in _queued(connection)]

    def counts(self) -> dict[str, int]:
        """Return the number of runs in each state.

        Raises:
            StoreError: The catalog cannot be read.
        """
        query = "SELECT state, count(*) FROM runs GROUP BY state"
        with self._database.reading() as connection:
            return {state: int(count) for state, count in connection.execute(query)}

    def obstacles(self, offered: Collection[HostSet] = ()) -> dict[str, str]:
        """Return why queued runs cannot be claimed here, by their ids; all others are omitted.

        Args:
            offered: The hosts that are available here.

        Raises:
            StoreError: The catalog cannot be read.
        """
        with self._database.reading() as connection:
            return obstacles_in(connection, offered)

    def claim(self, offered: Collection[HostSet] = ()) -> QueuedRun | None:
        """Claim for this process the run that has waited longest and may start; None if there is none.

        Args:
            offered: The hosts that are available here.

        Raises:
            StoreError: The catalog cannot be written.
        """
        with self._database.writing() as connection:
            obstacles = obstacles_in(connection, offered)
            row = next((row for row in _queued(connection) if row.id not in obstacles), None)
            if row is None:
                return None
            values = {"state": RUNNING, "started_at": now(), "ended_at": None, "message": ""}
            values |= _this_process()
            connection.update("runs", values, Sql("number = ?", row.number))
            return _run_with_id(connection, row.id)

    def end(self, run_id: str, state: str, message: str = "", *, pid: int | None = None) -> None:
        """Record how a running run ended; one that has already ended is not changed.

        Args:
            run_id: Id of the run.
            state: Final state.
            message: Reason.
            pid: Only if this process of this host has claimed it; by default for any process.

        Raises:
            StoreError: The catalog cannot be written.
        """
        values = {"state": state, "message": message, "ended_at": now(), "cancel_requested": 0} | _NO_PROCESS
        with self._database.writing() as connection:
            of_process = []
            if pid is not None:
                of_process = [Sql("pid = ? AND host = ?", pid, _this_process()["host"])]
            connection.update("runs", values, all_of(_run_in_state(run_id, RUNNING), *of_process))

    def save_search_progress(
        self, run_id: str, options: Mapping[str, Any], trials: Sequence[Mapping[str, Any]]
    ) -> None:
        """Store the progress of a running run's search: its options, and the trials that it has chosen.

        Raises:
            StoreError: The catalog cannot be written.
        """
        values = {"options": to_json(options), "trials": to_json(list(trials))}
        with self._database.writing() as connection:
            connection.update("runs", values, _run_in_state(run_id, RUNNING))

    def put_back(self, run_id: str) -> None:
        """Return a running run to its old position in the queue, because none of it has been executed.

        Raises:
            StoreError: The catalog cannot be written.
        """
        values = {"state": QUEUED, "started_at": None} | _NO_PROCESS
        with self._database.writing() as connection:
            connection.update("runs", values, _run_in_state(run_id, RUNNING))

    def cancel(self, run_id: str) -> QueuedRun | None:
        """Remove a run from the queue, or request its end if it is running; None if there is no such run.

        Raises:
            StoreError: The catalog cannot be written.
        """
        ended = {"state": CANCELLED, "message": "cancelled before it started", "ended_at": now()}
        with self._database.writing() as connection:
            connection.update("runs", ended, _run_in_state(run_id, QUEUED))
            connection.update("runs", {"cancel_requested": 1}, _run_in_state(run_id, RUNNING))
            row = _row(connection, run_id)
        return _run_of(row) if row is not None else None

    def cancelled(self, run_ids: Sequence[str]) -> list[str]:
        """Return those of some runs for which cancellation was requested.

        Raises:
            StoreError: The catalog cannot be read.
        """
        query = "SELECT id FROM runs WHERE cancel_requested = 1 AND"
        with self._database.reading() as connection:
            return list(connection.execute(query, one_of("id", run_ids)).scalars())

    def resume(self, run_id: str) -> QueuedRun | None:
        """Queue a cancelled, failed or interrupted run again; its finished trials are not run again.

        Returns:
            The run, whose state shows whether that was possible; None if there is no such run.

        Raises:
            StoreError: The catalog cannot be written.
        """
        with self._database.writing() as connection:
            row = _row(connection, run_id)
            if row is None or row.state not in RESUMABLE:
                return _run_of(row) if row is not None else None
            options = to_json({**json.loads(row.options), "resume": True})
            values: dict[str, Any] = {"state": QUEUED, "options": options, "queued_at": now(), "message": ""}
            values |= {"started_at": None, "ended_at": None, "cancel_requested": 0}
            connection.update("runs", values, Sql("id = ?", run_id))
            return _run_with_id(connection, run_id)

    def attempts(self, since: str, always: Collection[str] = ()) -> dict[str, list[tuple[str, str]]]:
        """Return status and start of every attempt at a trial that started after a time, by trial id.

        Args:
            since: The time.
            always: Ids of trials whose attempts are all included.

        Raises:
            StoreError: The catalog cannot be read.
        """
        ids, batch_size = list(always), _IDS_AT_ONCE
        conditions = [Sql("started_at >= ?", since)]
        conditions += [
            one_of("id", ids[start : start + batch_size]) for start in range(0, len(ids), batch_size)
        ]
        rows: dict[int, Row] = {}
        with self._database.reading() as connection:
            for condition in conditions:
                query = "SELECT attempt, id, status, started_at FROM trials WHERE"
                rows |= {row.attempt: row for row in connection.execute(query, condition)}
        attempts: dict[str, list[tuple[str, str]]] = {}
        for _, row in sorted(rows.items()):
            attempts.setdefault(row.id, []).append((row.status, row.started_at))
        return attempts

    def recover(self) -> list[str]:
        """Mark the runs whose process has ended as interrupted, and return their ids.

        Raises:
            StoreError: The catalog cannot be read or written.
        """
        with self._database.reading() as connection:
            if not _abandoned(connection):
                return []
        with self._database.writing() as connection:
            abandoned = _abandoned(connection)
            for row in abandoned:
                message = f"process {row.pid} on {row.host} ended before the run did"
                values = {"state": INTERRUPTED, "message": message, "ended_at": now()} | _NO_PROCESS
                connection.update("runs", values, Sql("number = ?", row.number))
        return [row.id for row in abandoned]


def _this_process() -> dict[str, Any]:
    process = ProcessIdentity.current()
    return {"host": process.host, "pid": process.pid, "process_start": process.start}


def _abandoned(connection: Connection) -> list[Row]:
    rows = connection.execute(Sql("SELECT * FROM runs WHERE state = ?", RUNNING)).all()
    return [row for row in rows if not ProcessIdentity.of_row(row).may_be_alive()]


def _queued(connection: Connection) -> list[Row]:
    """Return number and id of the queued runs, the next one first."""
    return connection.execute(
        Sql("SELECT number, id FROM runs WHERE state = ? ORDER BY queued_at, number", QUEUED)
    ).all()


def _run_in_state(run_id: str, state: str) -> Sql:
    """Return the condition that a row is a run, and in a state."""
    return Sql("id = ? AND state = ?", run_id, state)


def _row(connection: Connection, run_id: str) -> Row | None:
    return connection.execute(Sql("SELECT * FROM runs WHERE id = ?", run_id)).first()


def _run_with_id(connection: Connection, run_id: str) -> QueuedRun:
    (row,) = connection.execute(Sql("SELECT * FROM runs WHERE id = ?", run_id))
    return _run_of(row)


def _readable(row: Row) -> QueuedRun | None:
    """Return a run; None if its row is invalid, so that the others can still be shown."""
    try:
        return _run_of(row)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _run_of(row: Row) -> QueuedRun:
    values = {name: getattr(row, name) for name in QueuedRun.__dataclass_fields__}
    values |= {"options": json.loads(row.options), "trials": json.loads(row.trials)}
    values |= {"hosts": HostSet.read(row.hosts)}
    return QueuedRun(**values | {"cancel_requested": bool(row.cancel_requested)})
