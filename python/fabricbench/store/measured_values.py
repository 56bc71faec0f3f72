"""Metrics of thousands of trials, read as rows for large tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from fabricbench.store.catalog import is_deleted
from fabricbench.store.catalog_schema import FINISHED, trash, trial_metrics, trials
from fabricbench.store.sql.expression import call, count
from fabricbench.store.sql.statement import Select, select

if TYPE_CHECKING:
    from fabricbench.store.workspace import Workspace

T = TypeVar("T")

_AT_ONCE: Final = 500
"""Values per statement: SQLite before 3.32 allows 999."""


@dataclass(frozen=True)
class MeasuredValues:
    """Status, metrics and notes of some trials.

    Attributes:
        states: For each trial id, the status of its record if it has one, or else of its last attempt. Trials
            that never started, or are in the trash, are omitted.
        values: Trial, metric, job and value, for trials with a record.
        notes: Notes on results, with the number of trials for each; see `Trial.notes`.
    """

    states: dict[str, str]
    values: list[tuple[str, str, str, float]]
    notes: Counter[str]

    def has_record(self, trial_id: str) -> bool:
        """Return whether a trial has a record."""
        return self.states.get(trial_id) in FINISHED


def values_stamp(workspace: Workspace) -> tuple[object, ...]:
    """Return a stamp that changes whenever the result of `measured_values` may.

    Raises:
        StoreError: The catalog cannot be read.
    """
    latest = select(count(), call("max", trials.c.attempt), call("max", trials.c.ended_at))
    with workspace.database.reading() as connection:
        found = connection.execute(latest.select_from(trials)).all()
        found += connection.execute(select(count()).select_from(trash)).all()
    return tuple(value for row in found for value in row)


def measured_metrics(workspace: Workspace, ids: Sequence[str]) -> set[str]:
    """Return the names of the metrics that at least one of some trials has.

    Raises:
        StoreError: The catalog cannot be read.
    """
    names: set[str] = set()
    with workspace.database.reading() as connection:
        for some in _parts(ids):
            attempts = select(trials.c.attempt).where(
                trials.c.id.in_(some), trials.c.status.in_(FINISHED), ~is_deleted(trials)
            )
            found = select(trial_metrics.c.metric).where(trial_metrics.c.attempt.in_(attempts)).distinct()
            names.update(metric for (metric,) in connection.execute(found))
    return names


def measured_values(workspace: Workspace, ids: Sequence[str], metrics: Sequence[str]) -> MeasuredValues:
    """Return status, metrics and notes of trials, by their ids.

    Args:
        workspace: The workspace.
        ids: Ids of the trials.
        metrics: Names of the metrics.

    Raises:
        StoreError: The catalog cannot be read.
    """
    with workspace.database.reading() as connection:
        attempts: dict[str, tuple[int, str]] = {}
        for some in _parts(ids):
            for attempt, trial_id, status in connection.execute(_attempts(some)):
                if attempts.get(trial_id, (0, ""))[1] not in FINISHED:
                    attempts[trial_id] = attempt, status
        finished = {attempt: name for name, (attempt, status) in attempts.items() if status in FINISHED}
        values = [
            (finished[attempt], metric, job, value)
            for some_attempts in _parts(list(finished))
            for attempt, metric, job, value in connection.execute(_values(some_attempts, metrics))
        ]
        notes = Counter(
            note
            for some_attempts in _parts(list(finished))
            for (summary,) in connection.execute(_noted(some_attempts))
            for note in json.loads(summary).get("notes", ())
        )
    return MeasuredValues({name: status for name, (_, status) in attempts.items()}, values, notes)


def _attempts(ids: Sequence[str]) -> Select:
    """Return a query for number, trial and status of each attempt at some trials, in order."""
    found = select(trials.c.attempt, trials.c.id, trials.c.status)
    return found.where(trials.c.id.in_(ids), ~is_deleted(trials)).order_by(trials.c.attempt)


def _values(attempts: Sequence[int], metrics: Sequence[str]) -> Select:
    """Return a query for attempt, metric, job and value of some metrics of some attempts."""
    columns = trial_metrics.c
    found = select(columns.attempt, columns.metric, columns.job, columns.value)
    return found.where(columns.attempt.in_(attempts), columns.metric.in_(metrics))


def _noted(attempts: Sequence[int]) -> Select:
    """Return a query for the summaries with notes among some attempts."""
    columns = trials.c
    has_notes = columns.summary.contains('"notes":')
    return select(columns.summary).where(columns.attempt.in_(attempts), has_notes)


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(values), _AT_ONCE):
        yield values[first : first + _AT_ONCE]
