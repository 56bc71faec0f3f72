"""The runs of a workspace, one row each; the database counts, sorts and pages them.

A run is the set of trials with the same `suite`: a plan with its sweeps, variants and iterations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fabricbench.metrics import BY_NAME, IDEAL_SHARE, Direction
from fabricbench.store.catalog import is_deleted
from fabricbench.store.catalog_schema import outcomes, tags
from fabricbench.store.listing import COLUMNS, TrialQuery, conditions_of, source_of
from fabricbench.store.memberships import listed, places
from fabricbench.store.outcomes import worst
from fabricbench.store.sql.expression import Expression, call, count, count_all, count_distinct
from fabricbench.store.sql.statement import select

if TYPE_CHECKING:
    from fabricbench.store.sql.connection import Connection, Row
    from fabricbench.store.sql.table import Source
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
        variants: Number of variants.
        sizes: Number of data sizes.
        iterations: Number of iterations.
        states: Number of trials of each status.
        tags: Tags that at least one trial has.
        started_at: Start of the first trial.
        ended_at: End of the last trial; None while none has ended.
        ideal_percent: Smallest and largest percentage of the ideal, with the worst job of each trial.
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
    source = source_of(query)
    found = select(source.c.suite, _value(query, source).label("value")).where(*conditions_of(query, source))
    grouped = found.group_by(source.c.suite).subquery("grouped")
    value = grouped.c.value.desc() if query.descending else grouped.c.value.asc()
    wanted = select(grouped.c.suite, count_all().label("total"))
    wanted = wanted.order_by(value.nulls_last(), grouped.c.suite.asc())
    if query.limit is not None:
        wanted = wanted.offset(query.offset).limit(query.limit)
    with workspace.database.reading() as connection:
        chosen = list(connection.execute(wanted))
        if not chosen and query.offset > 0:  # after the last page
            return run_page(workspace, replace(query, limit=1, offset=0))[0], []
        suites = [row.suite for row in chosen if isinstance(row.suite, str)]
        rows = _counted(connection, suites, query)
        states = _states(connection, suites, query)
        tagged = _tags(connection, suites)
        same = _Identical(connection, suites)
        runs = [_run(rows[suite], states[suite], tagged[suite], same) for suite in suites if suite in rows]
    return int(chosen[0].total) if chosen else 0, runs


def _value(query: TrialQuery, source: Source) -> Expression:
    if query.sort in COLUMNS:
        return call("max", source.c[query.sort])
    is_lower = BY_NAME[query.sort].direction is Direction.LOWER
    return call("max" if is_lower else "min", worst(query.sort, source.c.attempt, query.job))


def _counted(connection: Connection, suites: Sequence[str], query: TrialQuery) -> dict[str, Row]:
    ideal = worst(IDEAL_SHARE.name, places.c.attempt, query.job)
    texts = ("plan", "title", "backend", "engine_version")
    numbers = {"variants": "variant", "sizes": "data_size_bytes", "iterations": "iteration"}
    wanted = [
        *(call("max", places.c[name]).label(name) for name in texts),
        *(count_distinct(places.c[name]).label(label) for label, name in numbers.items()),
        count().label("trials"),
        call("min", places.c.started_at).label("started_at"),
        call("max", places.c.ended_at).label("ended_at"),
        call("min", ideal).label("least"),
        call("max", ideal).label("most"),
    ]
    found = select(places.c.suite, *wanted).where(places.c.suite.in_(suites), *conditions_of(query, places))
    return {row.suite: row for row in connection.execute(found.group_by(places.c.suite))}


def _states(connection: Connection, suites: Sequence[str], query: TrialQuery) -> Mapping[str, dict[str, int]]:
    found = select(places.c.suite, places.c.status, count().label("trials"))
    found = found.where(places.c.suite.in_(suites), *conditions_of(query, places))
    states: dict[str, dict[str, int]] = {suite: {} for suite in suites}
    for row in connection.execute(found.group_by(places.c.suite, places.c.status)):
        states[row.suite][str(row.status)] = int(row.trials)
    return states


def _tags(connection: Connection, suites: Sequence[str]) -> Mapping[str, list[str]]:
    of_runs = places.c.suite.in_(suites) & ~is_deleted(places)
    of_users = select(places.c.suite, tags.c.tag).where(places.c.id == tags.c.trial_id, of_runs)
    of_plans = select(places.c.suite, places.c.tag).where(places.c.tag != "", of_runs)
    found: dict[str, set[str]] = {suite: set() for suite in suites}
    for query in (of_users, of_plans):
        for row in connection.execute(query.distinct()):
            found[row.suite].add(_text(row.tag))
    return {suite: sorted(filter(None, each)) for suite, each in found.items()}


class _Identical:
    """Groups runs with the same run specs, independent of their backends and names."""

    def __init__(self, connection: Connection, suites: Sequence[str]) -> None:
        """Read the outcomes of some runs, and of all runs that share a run spec with one of them."""
        own = _outcomes(connection, suites)
        firsts = {min(specs) for specs in (_specs(rows) for rows in own.values()) if specs}
        attempts = select(outcomes.c.attempt).where(outcomes.c.spec.in_(firsts))
        sharing = select(listed.c.suite).where(listed.c.attempt.in_(attempts), ~is_deleted(listed))
        others = {each for each in connection.execute(sharing.distinct()).scalars() if each not in own}
        self._rows = own | _outcomes(connection, sorted(others))
        self._first: dict[tuple[str, ...], str] = {}
        by_age = sorted(self._rows, key=lambda suite: (min(row.attempt for row in self._rows[suite]), suite))
        for suite in by_age:
            self._first.setdefault(tuple(sorted(_specs(self._rows[suite]))), suite)

    def of(self, suite: str) -> dict[str, Any]:
        """Return `times`, `changes`, `same_plan_as` and `same_results` of a run."""
        rows = self._rows.get(suite, [])
        times = min((row.times for row in rows), default=0)
        told = {"times": times, "changes": sum(row.changes for row in rows)}
        specs = _specs(rows)
        first = self._first.get(tuple(sorted(specs)), suite)
        if first == suite:
            return told | {"same_plan_as": None, "same_results": None}
        return told | {"same_plan_as": first, "same_results": specs == _specs(self._rows[first])}


def _outcomes(connection: Connection, suites: Sequence[str]) -> dict[str, list[Row]]:
    kept = (outcomes.c.attempt, outcomes.c.spec, outcomes.c.results, outcomes.c.times, outcomes.c.changes)
    found = select(places.c.suite, *kept).where(
        places.c.attempt == outcomes.c.attempt, places.c.suite.in_(suites), ~is_deleted(places)
    )
    rows: dict[str, list[Row]] = {}
    for row in connection.execute(found):
        rows.setdefault(row.suite, []).append(row)
    return rows


def _specs(rows: Sequence[Row]) -> dict[str, str]:
    return {row.spec: row.results for row in rows}


def _run(row: Row, states: Mapping[str, int], tagged: Sequence[str], same: _Identical) -> RunRow:
    values: dict[str, Any] = {
        name: _text(row.mapping[name]) for name in ("plan", "title", "backend", "engine_version")
    }
    values |= {name: int(row.mapping[name]) for name in ("trials", "variants", "sizes", "iterations")}
    ideal = None if row.least is None else (float(row.least), float(row.most))
    return RunRow(
        suite=row.suite,
        **values,
        states=states,
        tags=tagged,
        started_at=_text(row.started_at),
        ended_at=_text(row.ended_at) or None,
        ideal_percent=ideal,
        **same.of(row.suite),
    )


def _text(value: object) -> str:
    """Return a text without characters that cannot be shown; empty for other types."""
    return value.encode(errors="ignore").decode() if isinstance(value, str) else ""
