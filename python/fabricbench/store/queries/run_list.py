"""Lists the runs of a workspace, one row each; the database counts, sorts and pages them.

A run is the set of trials with the same `suite`: a plan with its sweeps, variants and iterations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from fabricbench.metrics import BY_NAME, IDEAL_SHARE, Direction
from fabricbench.store.catalog.memberships import ENTRIES, LISTED_ENTRIES
from fabricbench.store.catalog.outcomes import worst
from fabricbench.store.catalog.schema import COMPLETE, NOT_IN_TRASH
from fabricbench.store.catalog.sql import Connection, Row, contains, joined, one_of
from fabricbench.store.queries.listing import (
    COLUMNS,
    TrialQuery,
    conditions_of,
    page_of,
    sort_value,
    source_of,
)
from fabricbench.store.workspace import Workspace


@dataclass(frozen=True)
class RunRow:
    """A run, restricted to its trials that match the query.

    Attributes:
        suite: Id that its trials share.
        plan: Name of the plan.
        title: Its title.
        backend: Backend that made it.
        engine_version: Version of the program that made it.
        trials: Number of trials.
        variants: Number of variants, without those of jobs alone.
        sizes: Number of data sizes.
        iterations: Number of iterations.
        swept: Number of values of each swept field with several, by its path.
        states: Number of trials of each status.
        tags: Tags that at least one trial has.
        started_at: Start of the first trial.
        ended_at: End of the last trial; None while none has ended.
        ideal_percent: Smallest and largest percentage of the ideal, with the worst job of each
            complete trial.
        times: Smallest number of times that a trial of it has run, as a part of any run.
        changes: Number of times that a trial ran again and gave other results than before.
        same_plan_as: The first run with the same run specs, if it is another one.
        same_results: Whether the results of that run are the same; None without one.
    """

    suite: str
    plan: str
    title: str
    backend: str
    engine_version: str
    trials: int
    variants: int
    sizes: int
    iterations: int
    swept: Mapping[str, int]
    states: Mapping[str, int]
    tags: Sequence[str]
    started_at: str
    ended_at: str | None
    ideal_percent: tuple[float, float] | None
    times: int
    changes: int
    same_plan_as: str | None
    same_results: bool | None


def run_page(workspace: Workspace, query: TrialQuery) -> tuple[int, list[RunRow]]:
    """Return the number of runs with a trial that matches a query, and the runs of one page.

    Sorted by a metric, a run counts with its worst trial; by a column, with its largest value.

    Raises:
        StoreError: The catalog cannot be read.
    """
    is_least_worst = query.sort not in COLUMNS and BY_NAME[query.sort].direction is not Direction.LOWER
    value = joined(f"{'min' if is_least_worst else 'max'}(", sort_value(query), ") AS value")
    direction = "DESC" if query.descending else "ASC"
    with workspace.database.reading() as connection:
        page = connection.execute(
            *("SELECT suite, count(*) OVER () AS total FROM ( SELECT suite,", value),
            *(f"FROM {source_of(query)} WHERE", conditions_of(query), "GROUP BY suite ) AS grouped"),
            *(f"ORDER BY value {direction} NULLS LAST, suite ASC", page_of(query)),
        ).all()
        if not page and query.offset > 0:  # after the last page
            return run_page(workspace, replace(query, limit=1, offset=0))[0], []
        suites = [row.suite for row in page if isinstance(row.suite, str)]
        rows = _run_rows(connection, suites, query)
        states = _states(connection, suites, query)
        swept = _swept(connection, suites, query)
        tags = _tags(connection, suites)
        identical = _Identical(connection, suites)
        runs = [
            _run(rows[suite], swept[suite], states[suite], tags[suite], identical)
            for suite in suites
            if suite in rows
        ]
    return int(page[0].total) if page else 0, runs


def _run_rows(connection: Connection, suites: Sequence[str], query: TrialQuery) -> dict[str, Row]:
    ideal = worst(IDEAL_SHARE.name, query.job)
    rows = connection.execute(
        "SELECT suite, max(plan) AS plan, max(title) AS title, max(backend) AS backend,",
        "max(engine_version) AS engine_version,",
        *("count(DISTINCT CASE WHEN NOT", contains("variant", "solo/"), "THEN variant END) AS variants,"),
        "count(DISTINCT data_size_bytes) AS sizes, count(DISTINCT iteration) AS iterations,",
        "count(*) AS trials, min(started_at) AS started_at, max(ended_at) AS ended_at,",
        *(f"min(CASE WHEN status = '{COMPLETE}' THEN", ideal, "END) AS least,"),
        *(f"max(CASE WHEN status = '{COMPLETE}' THEN", ideal, f"END) AS most FROM {ENTRIES} WHERE"),
        *(one_of("suite", suites), "AND", conditions_of(query), "GROUP BY suite"),
    )
    return {row.suite: row for row in rows}


def _states(connection: Connection, suites: Sequence[str], query: TrialQuery) -> Mapping[str, dict[str, int]]:
    rows = connection.execute(
        f"SELECT suite, status, count(*) AS trials FROM {ENTRIES} WHERE",
        *(one_of("suite", suites), "AND", conditions_of(query), "GROUP BY suite, status"),
    )
    states: dict[str, dict[str, int]] = {suite: {} for suite in suites}
    for row in rows:
        states[row.suite][str(row.status)] = int(row.trials)
    return states


def _swept(connection: Connection, suites: Sequence[str], query: TrialQuery) -> Mapping[str, dict[str, int]]:
    rows = connection.execute(
        f"SELECT DISTINCT suite, axes FROM {ENTRIES} WHERE",
        *(one_of("suite", suites), "AND axes <> '[]' AND", conditions_of(query)),
    )
    values: dict[str, dict[str, set[str]]] = {suite: {} for suite in suites}
    for suite, axes in rows:
        with suppress(ValueError, TypeError):  # edited by hand
            for name, value in json.loads(axes):
                values[suite].setdefault(str(name), set()).add(json.dumps(value))
    return {
        suite: {name: len(own) for name, own in fields.items() if len(own) > 1}
        for suite, fields in values.items()
    }


def _tags(connection: Connection, suites: Sequence[str]) -> Mapping[str, list[str]]:
    of_users = f"SELECT DISTINCT suite, tags.tag FROM {ENTRIES}, tags WHERE entries.id = tags.trial_id"
    of_plans = f"SELECT DISTINCT suite, entries.tag FROM {ENTRIES} WHERE entries.tag <> ''"
    tags: dict[str, set[str]] = {suite: set() for suite in suites}
    for query in (of_users, of_plans):
        for suite, tag in connection.execute(query, "AND", one_of("suite", suites), "AND", NOT_IN_TRASH):
            tags[suite].add(_text(tag))
    return {suite: sorted(filter(None, suite_tags)) for suite, suite_tags in tags.items()}


class _Identical:
    """Groups runs with the same run specs, independent of their backends and names."""

    def __init__(self, connection: Connection, suites: Sequence[str]) -> None:
        """Read the outcomes of some runs, and of all runs that share a run spec with one of them."""
        outcomes = _outcomes(connection, suites)
        firsts = {min(specs) for specs in (_specs(rows) for rows in outcomes.values()) if specs}
        sharing = connection.execute(
            f"SELECT DISTINCT suite FROM {LISTED_ENTRIES} WHERE {NOT_IN_TRASH} AND",
            *("attempt IN (SELECT attempt FROM outcomes WHERE", one_of("spec", firsts), ")"),
        )
        others = {suite for suite in sharing.scalars() if suite not in outcomes}
        self._rows = outcomes | _outcomes(connection, sorted(others))
        self._first: dict[tuple[str, ...], str] = {}
        by_age = sorted(self._rows, key=lambda suite: (min(row.attempt for row in self._rows[suite]), suite))
        for suite in by_age:
            self._first.setdefault(tuple(sorted(_specs(self._rows[suite]))), suite)

    def of(self, suite: str) -> dict[str, Any]:
        """Return `times`, `changes`, `same_plan_as` and `same_results` of a run."""
        rows = self._rows.get(suite, [])
        times = min((row.times for row in rows), default=0)
        counts = {"times": times, "changes": sum(row.changes for row in rows)}
        specs = _specs(rows)
        first_suite = self._first.get(tuple(sorted(specs)), suite)
        if first_suite == suite:
            return counts | {"same_plan_as": None, "same_results": None}
        return counts | {
            "same_plan_as": first_suite,
            "same_results": specs == _specs(self._rows[first_suite]),
        }


def _outcomes(connection: Connection, suites: Sequence[str]) -> dict[str, list[Row]]:
    result = connection.execute(
        "SELECT suite, outcomes.attempt, spec, outcomes.results, times, changes",
        f"FROM {ENTRIES}, outcomes WHERE entries.attempt = outcomes.attempt AND",
        *(one_of("suite", suites), f"AND entries.{NOT_IN_TRASH}"),
    )
    rows: dict[str, list[Row]] = {}
    for row in result:
        rows.setdefault(row.suite, []).append(row)
    return rows


def _specs(rows: Sequence[Row]) -> dict[str, str]:
    return {row.spec: row.results for row in rows}


def _run(
    row: Row,
    swept: Mapping[str, int],
    states: Mapping[str, int],
    tagged: Sequence[str],
    identical: _Identical,
) -> RunRow:
    values: dict[str, Any] = {
        name: _text(row.mapping[name]) for name in ("plan", "title", "backend", "engine_version")
    }
    values |= {name: int(row.mapping[name]) for name in ("trials", "variants", "sizes", "iterations")}
    ideal = None if row.least is None else (float(row.least), float(row.most))
    return RunRow(
        suite=row.suite,
        **values,
        swept=swept,
        states=states,
        tags=tagged,
        started_at=_text(row.started_at),
        ended_at=_text(row.ended_at) or None,
        ideal_percent=ideal,
        **identical.of(row.suite),
    )


def _text(value: object) -> str:
    """Return a text without characters that cannot be shown; empty for other types."""
    return value.encode(errors="ignore").decode() if isinstance(value, str) else ""
