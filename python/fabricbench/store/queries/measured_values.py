"""Reads status, metrics and notes of thousands of trials for large tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from fabricbench.store.catalog.schema import FINISHED, IS_FINISHED, NOT_IN_TRASH
from fabricbench.store.catalog.sql import contains, one_of
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
    with workspace.database.reading() as connection:
        rows = connection.execute("SELECT count(*), max(attempt), max(ended_at) FROM trials").all()
        rows += connection.execute("SELECT count(*) FROM trash").all()
    return tuple(value for row in rows for value in row)


def measured_metrics(workspace: Workspace, ids: Sequence[str]) -> set[str]:
    """Return the names of the metrics that at least one of some trials has.

    Raises:
        StoreError: The catalog cannot be read.
    """
    names: set[str] = set()
    with workspace.database.reading() as connection:
        for some_ids in _parts(ids):
            rows = connection.execute(
                "SELECT DISTINCT metric FROM trial_metrics WHERE attempt IN (",
                *("SELECT attempt FROM trials WHERE", one_of("id", some_ids)),
                f"AND {IS_FINISHED} AND {NOT_IN_TRASH})",
            )
            names.update(rows.scalars())
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
        for some_ids in _parts(ids):
            in_order = f"AND {NOT_IN_TRASH} ORDER BY attempt"
            rows = connection.execute(
                "SELECT attempt, id, status FROM trials WHERE", one_of("id", some_ids), in_order
            )
            for attempt, trial_id, status in rows:
                if attempts.get(trial_id, (0, ""))[1] not in FINISHED:
                    attempts[trial_id] = attempt, status
        finished = {attempt: name for name, (attempt, status) in attempts.items() if status in FINISHED}
        values: list[tuple[str, str, str, float]] = []
        notes: Counter[str] = Counter()
        for some_attempts in _parts(list(finished)):
            of_attempts = one_of("attempt", some_attempts)
            rows = connection.execute(
                "SELECT attempt, metric, job, value FROM trial_metrics WHERE",
                *(of_attempts, "AND", one_of("metric", metrics)),
            )
            values += ((finished[attempt], metric, job, value) for attempt, metric, job, value in rows)
            summaries = connection.execute(
                "SELECT summary FROM trials WHERE", of_attempts, "AND", contains("summary", '"notes":')
            )
            for summary in summaries.scalars():
                notes.update(json.loads(summary).get("notes", ()))
    return MeasuredValues({name: status for name, (_, status) in attempts.items()}, values, notes)


def _parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
