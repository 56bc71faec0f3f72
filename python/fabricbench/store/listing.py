"""Finding trials among many: search, filters, order and pages, done by the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, String, cast, func, or_, select

from fabricbench.store.catalog import has_tag, is_deleted
from fabricbench.store.catalog_schema import FINISHED, tags, trials

if TYPE_CHECKING:
    from sqlalchemy import Select

    from fabricbench.store.trial import Trial
    from fabricbench.store.workspace import Workspace

COLUMNS = ("started_at", "ended_at", "plan", "title", "variant", "status", "data_size_bytes", "tag", "id")
"""What trials can be ordered by, beside their metrics."""
_SEARCHED = ("id", "plan", "title", "variant", "tag", "status")


@dataclass(frozen=True)
class TrialQuery:
    """Which trials, in which order.

    Attributes:
        search: Words that all have to occur in id, plan, title, variant, status or a tag.
        tag: A tag that they have.
        plan: Name of their plan.
        status: Their status.
        variant: Their variant.
        suite: The suite that they belong to.
        deleted: Those in the trash, and no others.
        sort: One of `COLUMNS`, or a metric of `results`.
        descending: Whether the largest comes first; trials without a value come last in any case.
        limit: How many at most.
        offset: How many to leave out before them.
    """

    search: str = ""
    tag: str | None = None
    plan: str | None = None
    status: str | None = None
    variant: str | None = None
    suite: str | None = None
    deleted: bool = False
    sort: str = "started_at"
    descending: bool = True
    limit: int = 50
    offset: int = 0


def page(workspace: Workspace, query: TrialQuery, metric: Callable[[str], Any]) -> tuple[int, list[Trial]]:
    """Return how many trials there are, and those of one page.

    Args:
        workspace: Where.
        query: Which.
        metric: Reads a metric, `query.sort`, out of the JSON of `results`; used where it is no column.

    Raises:
        StoreError: The catalog cannot be read.
    """
    conditions = _conditions(query)
    with workspace.database.reading() as connection:
        total = connection.execute(select(func.count()).select_from(trials).where(*conditions)).scalar() or 0
        if query.sort in COLUMNS:
            chosen = _ordered(select(trials.c.attempt).where(*conditions), query)
            wanted = chosen.offset(query.offset).limit(query.limit)
            attempts = [int(row.attempt) for row in connection.execute(wanted)]
        else:
            rows = connection.execute(select(trials.c.attempt, trials.c.results).where(*conditions)).all()
            values = {row.attempt: metric(row.results) if row.results else None for row in rows}
            attempts = _by_value(values, descending=query.descending)[query.offset :][: query.limit]
        found = {trial.attempt: trial for trial in workspace.catalog.by_attempt(connection, attempts)}
    return int(total), [found[attempt] for attempt in attempts]


def _conditions(query: TrialQuery) -> list[ColumnElement[bool]]:
    equal = {name: getattr(query, name) for name in ("plan", "status", "variant", "suite")}
    conditions = [trials.c[name] == value for name, value in equal.items() if value is not None]
    if query.tag is not None:
        conditions.append(has_tag(query.tag))
    conditions += [_has_word(word) for word in query.search.lower().split()]
    return [*conditions, is_deleted() if query.deleted else ~is_deleted()]


def _has_word(word: str) -> ColumnElement[bool]:
    tagged = select(tags.c.trial_id).where(func.lower(tags.c.tag).contains(word, autoescape=True))
    places = [func.lower(cast(trials.c[name], String)).contains(word, autoescape=True) for name in _SEARCHED]
    return or_(*places, trials.c.id.in_(tagged))


def _ordered(statement: Select[tuple[int]], query: TrialQuery) -> Select[tuple[int]]:
    column = trials.c[query.sort]
    last = trials.c.attempt
    if query.descending:
        return statement.order_by(column.desc().nulls_last(), last.desc())
    return statement.order_by(column.asc().nulls_last(), last.asc())


def _by_value(values: Mapping[int, Any], *, descending: bool) -> list[int]:
    with_value = [attempt for attempt, value in values.items() if value is not None]
    with_value.sort(key=lambda attempt: (values[attempt], attempt), reverse=descending)
    return [*with_value, *(attempt for attempt, value in values.items() if value is None)]


def beside(workspace: Workspace, found: Sequence[Trial]) -> list[Trial]:
    """Return every finished trial that some trials are set beside: of their suites, and of jobs alone.

    Raises:
        StoreError: The catalog cannot be read.
    """
    suites = {trial.facts.suite for trial in found}
    plans = {trial.facts.plan for trial in found}
    solo = trials.c.plan.in_(plans) & trials.c.variant.contains("solo/")
    condition = trials.c.status.in_(FINISHED) & (trials.c.suite.in_(suites) | solo) & ~is_deleted()
    with workspace.database.reading() as connection:
        return workspace.catalog.where(connection, condition)


def choices(workspace: Workspace) -> dict[str, list[str]]:
    """Return the values that trials can be filtered by: plans, variants, statuses and tags.

    Raises:
        StoreError: The catalog cannot be read.
    """
    with workspace.database.reading() as connection:
        values = {
            name: set(connection.execute(select(trials.c[name]).where(~is_deleted()).distinct()).scalars())
            for name in ("plan", "variant", "status", "tag")
        }
        values["tag"] |= set(connection.execute(select(tags.c.tag).distinct()).scalars())
    return {name: sorted(found - {""}) for name, found in values.items()}


def counts(workspace: Workspace) -> dict[str, int]:
    """Return how many attempts at trials there are of each status, those in the trash left out.

    Raises:
        StoreError: The catalog cannot be read.
    """
    query = select(trials.c.status, func.count()).where(~is_deleted()).group_by(trials.c.status)
    with workspace.database.reading() as connection:
        return {status: int(count) for status, count in connection.execute(query)}
