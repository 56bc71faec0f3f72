"""Finding trials among many: search, filters, order and pages, done by the database."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
"""What trials can be ordered by, beside their metrics."""
_SEARCHED = ("id", "plan", "title", "variant", "backend", "tag", "status")


THRESHOLDS_MAX = 20
"""How many thresholds a list may be filtered by."""
COMPARISONS: Mapping[str, Callable[[Expression, float], Condition]] = {
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    ">": lambda value, bound: value > bound,
}
"""What a metric can be asked for, as it is written; those of two characters first."""


@dataclass(frozen=True)
class Threshold:
    """What a metric of a trial has to be.

    Attributes:
        metric: Its name.
        comparison: One of `COMPARISONS`.
        bound: What it is compared with.
    """

    metric: str
    comparison: str
    bound: float

    @classmethod
    def read(cls, text: str) -> Threshold:
        """Read `METRIC<NUMBER`, or with `<=`, `>` or `>=`.

        Raises:
            ThresholdError: It is none, or the metric is unknown.
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


class ThresholdError(ValueError):
    """A threshold that cannot be read, or a metric that is unknown.

    Attributes:
        hint: What to do about it.
    """

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(found)
        self.hint = hint


def check_metric(name: str, others: Sequence[str] = ()) -> None:
    """Check that a metric, or one of some other names, is known.

    Raises:
        ThresholdError: It is not.
    """
    if name not in BY_NAME and name not in others:
        hint = close_match_hint(name, (*others, *BY_NAME)) or "docs/metrics.md lists the metrics"
        raise ThresholdError(f'no metric "{name}"', hint)


@dataclass(frozen=True)
class TrialQuery:
    """Which trials, in which order.

    Attributes:
        search: Words that all have to occur in id, plan, title, variant, backend, status or a tag.
        tag: A tag that they have.
        plan: Name of their plan.
        status: Their status.
        variant: Their variant.
        backend: What made them.
        suite: The suite that they belong to.
        deleted: Those in the trash, and no others.
        where: What metrics of theirs have to be; a trial without a value is left out.
        job: The job whose metrics count; by default the one that fares worst, by each metric.
        sort: One of `COLUMNS`, or a metric.
        descending: Whether the largest comes first; trials without a value come last in any case.
        limit: How many at most; all with None.
        offset: How many to leave out before them.
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
    """Return how many trials there are, and those of one page.

    Args:
        workspace: Where.
        query: Which.

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
        if not chosen and query.offset > 0:  # beyond the last
            return page(workspace, replace(query, limit=1, offset=0))[0], []
        total = int(chosen[0].total) if chosen else 0
        return total, workspace.catalog.at(connection, [(row.attempt, row.number) for row in chosen])


def source_of(query: TrialQuery) -> Source:
    """Return where a query is looked up: in few columns if they are enough."""
    return places if query.search or query.sort == "title" else listed


def ordered(workspace: Workspace, query: TrialQuery) -> list[Trial]:
    """Return every trial that a query finds, in its order.

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
    """Return what a row of `places`, or `listed`, has to meet to be found."""
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
    """Return every finished trial that some trials are compared with: of their suites, and of jobs alone.

    A trial that several of these suites have in common is returned as a part of each.

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
    """Return the values that trials can be filtered by: plans, variants, backends, statuses and tags.

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
    """Tell whether a value can be offered to users: a row that is set aside may have any."""
    return isinstance(value, str) and value != "" and value.encode(errors="ignore").decode() == value


def counts(workspace: Workspace) -> dict[str, int]:
    """Return how many attempts at trials there are of each status, those in the trash left out.

    Raises:
        StoreError: The catalog cannot be read.
    """
    query = select(trials.c.status, count()).where(~is_deleted(trials)).group_by(trials.c.status)
    with workspace.database.reading() as connection:
        return {status: int(count) for status, count in connection.execute(query) if _is_text(status)}
