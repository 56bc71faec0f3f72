"""Metrics of very many trials at once, as rows and not as trials: for tables of thousands."""

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
"""Values that a statement is given at once: SQLite before 3.32 takes 999."""


@dataclass(frozen=True)
class MeasuredValues:
    """What is known of some trials.

    Attributes:
        states: The status of the record of each trial that has one, or else of the last attempt at it, by its
            id. Trials that were never begun, or are in the trash, are left out.
        values: Trial, metric, job and value, of those that have a record.
        notes: What has to be said of some results, each with of how many; see `Trial.notes`.
    """

    states: dict[str, str]
    values: list[tuple[str, str, str, float]]
    notes: Counter[str]

    def has_record(self, trial_id: str) -> bool:
        """Tell whether a trial has its record."""
        return self.states.get(trial_id) in FINISHED


def values_stamp(workspace: Workspace) -> tuple[object, ...]:
    """Return what changes whenever `measured_values` may.

    Raises:
        StoreError: The catalog cannot be read.
    """
    latest = select(count(), call("max", trials.c.attempt), call("max", trials.c.ended_at))
    with workspace.database.reading() as connection:
        found = connection.execute(latest.select_from(trials)).all()
        found += connection.execute(select(count()).select_from(trash)).all()
    return tuple(value for row in found for value in row)


def measured_metrics(workspace: Workspace, ids: Sequence[str]) -> set[str]:
    """Return the names of the metrics that any of some trials has.

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
    """Return what trials came to, by their ids.

    Args:
        workspace: Where they are.
        ids: Which.
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
    """Return number, trial and status of each attempt at some trials, in their order."""
    found = select(trials.c.attempt, trials.c.id, trials.c.status)
    return found.where(trials.c.id.in_(ids), ~is_deleted(trials)).order_by(trials.c.attempt)


def _values(attempts: Sequence[int], metrics: Sequence[str]) -> Select:
    """Return attempt, metric, job and value of some metrics of some attempts."""
    columns = trial_metrics.c
    found = select(columns.attempt, columns.metric, columns.job, columns.value)
    return found.where(columns.attempt.in_(attempts), columns.metric.in_(metrics))


def _noted(attempts: Sequence[int]) -> Select:
    """Return the summaries of those of some attempts that have notes."""
    columns = trials.c
    has_notes = columns.summary.contains('"notes":')
    return select(columns.summary).where(columns.attempt.in_(attempts), has_notes)


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(values), _AT_ONCE):
        yield values[first : first + _AT_ONCE]
