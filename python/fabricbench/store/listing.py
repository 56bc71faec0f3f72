"""Finding trials among many: search, filters, order and pages, done by the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, String, cast, func, or_, select

from fabricbench.store.catalog import has_tag, is_deleted
from fabricbench.store.catalog_schema import FINISHED, tags, trials
from fabricbench.store.memberships import newest, places

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.sql.base import ReadOnlyColumnCollection

    from fabricbench.store.memberships import Place
    from fabricbench.store.trial import Trial
    from fabricbench.store.workspace import Workspace

COLUMNS = (
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
    backend: str | None = None
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
    is_column = query.sort in COLUMNS
    value = places.c[query.sort if is_column else "results"].label("value")
    rows = select(places.c.attempt, places.c.number, value, newest()).where(*_conditions(query)).subquery()
    matching = select(rows.c.attempt, rows.c.number, rows.c.value).where(rows.c.age == 1)
    with workspace.database.reading() as connection:
        if is_column:
            total = connection.execute(select(func.count()).select_from(matching.subquery())).scalar() or 0
            wanted = _ordered(matching, rows.c, query).offset(query.offset).limit(query.limit)
            chosen = [(row.attempt, row.number) for row in connection.execute(wanted)]
        else:
            values = {
                (row.attempt, row.number): _metric_of(row.value, metric)
                for row in connection.execute(matching)
            }
            total = len(values)
            chosen = _by_value(values, descending=query.descending)[query.offset :][: query.limit]
        return int(total), workspace.catalog.at(connection, chosen)


def _metric_of(results: object, metric: Callable[[str], Any]) -> float | None:
    """Return a metric, or none where the row has none or is one that is set aside."""
    try:
        value = metric(results) if isinstance(results, str) else None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    return value if isinstance(value, int | float) else None


def _conditions(query: TrialQuery) -> list[ColumnElement[bool]]:
    equal = {name: getattr(query, name) for name in ("plan", "status", "variant", "backend", "suite")}
    conditions = [places.c[name] == value for name, value in equal.items() if value is not None]
    if query.tag is not None:
        conditions.append(has_tag(query.tag))
    conditions += [_has_word(word) for word in query.search.lower().split()]
    return [*conditions, is_deleted(places) if query.deleted else ~is_deleted(places)]


def _has_word(word: str) -> ColumnElement[bool]:
    tagged = select(tags.c.trial_id).where(func.lower(tags.c.tag).contains(word, autoescape=True))
    found = [func.lower(cast(places.c[name], String)).contains(word, autoescape=True) for name in _SEARCHED]
    return or_(*found, places.c.id.in_(tagged))


def _ordered(
    statement: Select[Any], rows: ReadOnlyColumnCollection[str, Any], query: TrialQuery
) -> Select[Any]:
    if query.descending:
        return statement.order_by(rows.value.desc().nulls_last(), rows.attempt.desc())
    return statement.order_by(rows.value.asc().nulls_last(), rows.attempt.asc())


def _by_value(values: Mapping[Place, Any], *, descending: bool) -> list[Place]:
    with_value = [place for place, value in values.items() if value is not None]
    with_value.sort(key=lambda place: (values[place], place[0]), reverse=descending)
    return [*with_value, *(place for place, value in values.items() if value is None)]


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
    query = select(trials.c.status, func.count()).where(~is_deleted(trials)).group_by(trials.c.status)
    with workspace.database.reading() as connection:
        return {status: int(count) for status, count in connection.execute(query) if _is_text(status)}
