"""Finding trials among many: search, filters, order and pages, done by the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.store.catalog import has_tag, is_deleted
from fabricbench.store.catalog_schema import FINISHED, tags, trials
from fabricbench.store.memberships import newest, places
from fabricbench.store.sql.expression import Condition, Expression, any_of, call, case, cast, count
from fabricbench.store.sql.statement import Select, select
from fabricbench.store.sql.table import TEXT, Columns

if TYPE_CHECKING:
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
_NUMBER = r"^\s*(-?[0-9]{1,255}(?:\.[0-9]{1,255})?(?:[eE][+-]?[0-9]{1,3})?)\s*[,}]"
"""A number of JSON at the beginning of a text that goes on with another key or the end of the object."""
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
        sort: One of `COLUMNS`, or a metric: then that of the first job.
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


def page(workspace: Workspace, query: TrialQuery) -> tuple[int, list[Trial]]:
    """Return how many trials there are, and those of one page.

    Args:
        workspace: Where.
        query: Which.

    Raises:
        StoreError: The catalog cannot be read.
    """
    with workspace.database.reading() as connection:
        value = places.c[query.sort] if query.sort in COLUMNS else _metric(query.sort, connection.dialect)
        found = select(places.c.attempt, places.c.number, value.label("value"), newest())
        rows = found.where(*_conditions(query)).subquery("found")
        matching = select(rows.c.attempt, rows.c.number).where(rows.c.age == 1)
        total = connection.execute(select(count()).select_from(matching.subquery("matching"))).scalar() or 0
        wanted = _ordered(matching, rows.c, query).offset(query.offset).limit(query.limit)
        chosen = [(row.attempt, row.number) for row in connection.execute(wanted)]
        return int(total), workspace.catalog.at(connection, chosen)


def _metric(name: str, dialect: str) -> Expression:
    """Return a metric of a trial's first job: null where it has no number, also in a row that is set aside.

    SQLite reads JSON, and tells first whether text is any. PostgreSQL can tell that from version 16 on only,
    and ends the query at a cast of text that is none; there the number is cut out of the text as `to_json`
    writes it, with a backslash before quotes within texts and the same keys for every job.
    """
    results = places.c.results
    if dialect == "postgresql":
        first = call("split_part", results, f'"{name}":', 2)
        return cast(call("substring", first, _NUMBER), "NUMERIC")
    path = f'$[0]."{name}"'
    is_json = (call("typeof", results) == "text") & (call("json_valid", results) == 1)
    kind = case(is_json, call("json_type", results, path))
    return case(kind.in_(("integer", "real")), call("json_extract", results, path))


def _conditions(query: TrialQuery) -> list[Condition]:
    equal = {name: getattr(query, name) for name in ("plan", "status", "variant", "backend", "suite")}
    conditions = [places.c[name] == value for name, value in equal.items() if value is not None]
    if query.tag is not None:
        conditions.append(has_tag(query.tag))
    conditions += [_has_word(word) for word in query.search.lower().split()]
    return [*conditions, is_deleted(places) if query.deleted else ~is_deleted(places)]


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
