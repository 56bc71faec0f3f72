"""Queries for lists of trials: search, filters, order and pages, evaluated by the database."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fabricbench.errors import UserError
from fabricbench.metrics import BY_NAME
from fabricbench.store.catalog import has_tag, is_deleted
from fabricbench.store.catalog_schema import FINISHED, tags, trials
from fabricbench.store.memberships import listed, newest, places
from fabricbench.store.outcomes import worst
from fabricbench.store.sql.expression import Condition, Expression, any_of, call, cast, count, count_all
from fabricbench.store.sql.statement import Select, select
from fabricbench.store.sql.table import TEXT, Columns, Source
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    from fabricbench.store.trial import Trial
    from fabricbench.store.workspace import Workspace

COLUMNS = (
    "attempt",
    "started_at",
    "ended_at",
    "plan",
    "title",
    "variant",
    "backend",
    "status",
    "data_size_bytes",
    "tag",
    "id",
)
"""Columns by which trials can be sorted, in addition to metrics."""
_SEARCHED = ("id", "plan", "title", "variant", "backend", "tag", "status")


THRESHOLDS_MAX = 20
"""Largest number of thresholds of a list."""
COMPARISONS: Mapping[str, Callable[[Expression, float], Condition]] = {
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    ">": lambda value, bound: value > bound,
}
"""Comparison operators of thresholds; those of two characters first."""


@dataclass(frozen=True)
class Threshold:
    """A condition on a metric of a trial.

    Attributes:
        metric: Its name.
        comparison: One of `COMPARISONS`.
        bound: The value to compare with.
    """

    metric: str
    comparison: str
    bound: float

    @classmethod
    def read(cls, text: str) -> Threshold:
        """Parse `METRIC<NUMBER`, or with `<=`, `>` or `>=`.

        Raises:
            ThresholdError: It has another form, or the metric is unknown.
        """
        comparison = next((each for each in COMPARISONS if each in text), None)
        name, _, number = text.partition(comparison or "<")
        name = name.strip()
        if comparison is None:
            hint = close_match_hint(name, BY_NAME) or "write one, such as ideal_percent<50"
            raise ThresholdError(f'"{text}" compares a metric with no number', hint)
        check_metric(name)
        try:
            bound = float(number)
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound):
            unit = BY_NAME[name].unit
            hint = f"write one{f', in {unit}' if unit else ''}, such as {name}{comparison}50"
            raise ThresholdError(f'"{number.strip()}" in "{text}" is not a number', hint)
        return cls(name, comparison, bound)


class ThresholdError(UserError, ValueError):
    """A threshold that cannot be parsed, or a metric that is unknown.

    Attributes:
        hint: Suggested remedy.
    """

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(found)
        self.hint = hint


def check_metric(name: str, others: Sequence[str] = ()) -> None:
    """Check that a name is a metric or one of the `others`.

    Raises:
        ThresholdError: It is not.
    """
    if name not in BY_NAME and name not in others:
        hint = close_match_hint(name, (*others, *BY_NAME)) or "docs/metrics.md lists the metrics"
        raise ThresholdError(f'no metric "{name}"', hint)


@dataclass(frozen=True)
class TrialQuery:
    """A query for trials: filters, order and page.

    Attributes:
        search: Words that all have to occur in id, plan, title, variant, backend, status or a tag.
        tag: A tag of the trials.
        plan: Name of their plan.
        status: Their status.
        variant: Their variant.
        backend: Backend that made them.
        suite: The suite that they belong to.
        deleted: Only those in the trash, instead of only others.
        where: Conditions on their metrics; a trial without a value is omitted.
        job: The job whose metrics count; by default the one with the worst value, for each metric.
        sort: One of `COLUMNS`, or a metric.
        descending: Whether the largest comes first; trials without a value come last in any case.
        limit: Largest number of trials; None for all.
        offset: Number of trials to skip.
    """

    search: str = ""
    tag: str | None = None
    plan: str | None = None
    status: str | None = None
    variant: str | None = None
    backend: str | None = None
    suite: str | None = None
    deleted: bool = False
    where: Sequence[Threshold] = ()
    job: str | None = None
    sort: str = "started_at"
    descending: bool = True
    limit: int | None = 50
    offset: int = 0


def page(workspace: Workspace, query: TrialQuery) -> tuple[int, list[Trial]]:
    """Return the number of matching trials, and those of one page.

    Args:
        workspace: The workspace.
        query: The query.

    Raises:
        StoreError: The catalog cannot be read.
    """
    source = source_of(query)
    value = _value(query, source).label("value")
    found = select(source.c.attempt, source.c.number, value, newest(source))
    rows = found.where(*conditions_of(query, source)).subquery("found")
    matching = select(rows.c.attempt, rows.c.number, count_all().label("total")).where(rows.c.age == 1)
    wanted = _ordered(matching, rows.c, query)
    with workspace.database.reading() as connection:
        if query.limit is not None:
            wanted = wanted.offset(query.offset).limit(query.limit)
        chosen = list(connection.execute(wanted))
        if not chosen and query.offset > 0:  # after the last page
            return page(workspace, replace(query, limit=1, offset=0))[0], []
        total = int(chosen[0].total) if chosen else 0
        return total, workspace.catalog.at(connection, [(row.attempt, row.number) for row in chosen])


def source_of(query: TrialQuery) -> Source:
    """Return the source of a query's rows: the one with few columns if they are enough."""
    return places if query.search or query.sort == "title" else listed


def ordered(workspace: Workspace, query: TrialQuery) -> list[Trial]:
    """Return every trial that matches a query, in its order.

    Raises:
        ThresholdError: There is no such order.
        StoreError: The catalog cannot be read.
    """
    check_metric(query.sort, COLUMNS)
    return page(workspace, replace(query, limit=None))[1]


def _value(query: TrialQuery, source: Source) -> Expression:
    if query.sort in COLUMNS:
        return source.c[query.sort]
    return worst(query.sort, source.c.attempt, query.job)


def conditions_of(query: TrialQuery, source: Source) -> list[Condition]:
    """Return the conditions of a query on a row of `places` or `listed`."""
    equal = {name: getattr(query, name) for name in ("plan", "status", "variant", "backend", "suite")}
    conditions = [source.c[name] == value for name, value in equal.items() if value is not None]
    if query.tag is not None:
        conditions.append(has_tag(query.tag, source))
    conditions += [
        COMPARISONS[each.comparison](worst(each.metric, source.c.attempt, query.job), each.bound)
        for each in query.where
    ]
    conditions += [_has_word(word) for word in query.search.lower().split()]
    return [*conditions, is_deleted(source) if query.deleted else ~is_deleted(source)]


def _has_word(word: str) -> Condition:
    tagged = select(tags.c.trial_id).where(call("lower", tags.c.tag).contains(word))
    found = [call("lower", cast(places.c[name], TEXT)).contains(word) for name in _SEARCHED]
    return any_of(*found, places.c.id.in_(tagged))


def _ordered(statement: Select, rows: Columns, query: TrialQuery) -> Select:
    if query.descending:
        return statement.order_by(rows.value.desc().nulls_last(), rows.attempt.desc())
    return statement.order_by(rows.value.asc().nulls_last(), rows.attempt.asc())


def beside(workspace: Workspace, found: Sequence[Trial]) -> list[Trial]:
    """Return every finished trial for comparison with some trials: of their suites, and of single jobs.

    A trial that belongs to several of these suites is returned for each.

    Raises:
        StoreError: The catalog cannot be read.
    """
    suites = {trial.facts.suite for trial in found}
    plans = {trial.facts.plan for trial in found}
    solo = places.c.plan.in_(plans) & places.c.variant.contains("solo/")
    condition = places.c.status.in_(FINISHED) & (places.c.suite.in_(suites) | solo) & ~is_deleted(places)
    with workspace.database.reading() as connection:
        return workspace.catalog.where(connection, condition)


def choices(workspace: Workspace) -> dict[str, list[str]]:
    """Return the values for filters of trials: plans, variants, backends, statuses and tags.

    Raises:
        StoreError: The catalog cannot be read.
    """
    with workspace.database.reading() as connection:
        values = {
            name: set(
                connection.execute(select(places.c[name]).where(~is_deleted(places)).distinct()).scalars()
            )
            for name in ("plan", "variant", "backend", "status", "tag")
        }
        values["tag"] |= set(connection.execute(select(tags.c.tag).distinct()).scalars())
    return {name: sorted(filter(_is_text, found)) for name, found in values.items()}


def _is_text(value: object) -> bool:
    """Return whether a value can be shown to users; an unreadable row may have any value."""
    return isinstance(value, str) and value != "" and value.encode(errors="ignore").decode() == value


def counts(workspace: Workspace) -> dict[str, int]:
    """Return the number of attempts at trials of each status, without those in the trash.

    Raises:
        StoreError: The catalog cannot be read.
    """
    query = select(trials.c.status, count()).where(~is_deleted(trials)).group_by(trials.c.status)
    with workspace.database.reading() as connection:
        return {status: int(count) for status, count in connection.execute(query) if _is_text(status)}
