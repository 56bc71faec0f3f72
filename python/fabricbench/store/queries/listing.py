"""Queries for lists of trials: filters, thresholds on metrics, order and pages, evaluated by the database.

Also the values for filters, and the trials with which some trials are compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabricbench.errors import UserError
from fabricbench.metrics import BY_NAME
from fabricbench.store.catalog.memberships import AGE, ENTRIES, LISTED_ENTRIES
from fabricbench.store.catalog.outcomes import worst
from fabricbench.store.catalog.schema import IN_TRASH, IS_FINISHED, NOT_IN_TRASH
from fabricbench.store.catalog.sql import Sql, all_of, any_of, contains, joined, one_of
from fabricbench.store.catalog.trial import Trial
from fabricbench.store.catalog.trials import has_tag
from fabricbench.store.workspace import Workspace
from fabricbench.words import close_match_hint

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
COMPARISONS = ("<=", ">=", "<", ">")
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
        comparison = next((operator for operator in COMPARISONS if operator in text), None)
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
        descending: Whether the largest is first; trials without a value are always last.
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
    matches = joined(
        *("SELECT attempt, number,", sort_value(query), f"AS value, {AGE}"),
        *(f"FROM {source_of(query)} WHERE", conditions_of(query)),
    )
    direction = "DESC" if query.descending else "ASC"
    with workspace.database.reading() as connection:
        rows = connection.execute(
            *("SELECT attempt, number, count(*) OVER () AS total FROM (", matches, ") AS matches"),
            f"WHERE age = 1 ORDER BY value {direction} NULLS LAST, attempt {direction}",
            page_of(query),
        ).all()
        if not rows and query.offset > 0:  # after the last page
            return page(workspace, replace(query, limit=1, offset=0))[0], []
        total = int(rows[0].total) if rows else 0
        return total, workspace.catalog.at(connection, [(row.attempt, row.number) for row in rows])


def page_of(query: TrialQuery) -> Sql:
    """Return the clause of a statement that selects the page of a query."""
    return Sql("") if query.limit is None else Sql("LIMIT ? OFFSET ?", query.limit, query.offset)


def source_of(query: TrialQuery) -> str:
    """Return the SQL source of a query's rows: the one with few columns if they are enough."""
    return ENTRIES if query.search or query.sort == "title" else LISTED_ENTRIES


def ordered(workspace: Workspace, query: TrialQuery) -> list[Trial]:
    """Return every trial that matches a query, in its order.

    Raises:
        ThresholdError: There is no such order.
        StoreError: The catalog cannot be read.
    """
    check_metric(query.sort, COLUMNS)
    return page(workspace, replace(query, limit=None))[1]


def sort_value(query: TrialQuery) -> Sql:
    """Return the value of a row of `entries` by which a query sorts."""
    return Sql(query.sort) if query.sort in COLUMNS else worst(query.sort, query.job)


def conditions_of(query: TrialQuery) -> Sql:
    """Return the condition of a query on a row of `entries`."""
    equal = {name: getattr(query, name) for name in ("plan", "status", "variant", "backend", "suite")}
    conditions = [Sql(f"entries.{name} = ?", value) for name, value in equal.items() if value is not None]
    if query.tag is not None:
        conditions.append(has_tag(query.tag))
    conditions += [
        joined(worst(threshold.metric, query.job), Sql(f"{threshold.comparison} ?", threshold.bound))
        for threshold in query.where
    ]
    conditions += [_has_word(word) for word in query.search.lower().split()]
    return all_of(*conditions, IN_TRASH if query.deleted else NOT_IN_TRASH)


def _has_word(word: str) -> Sql:
    texts = [contains(f"lower(CAST(entries.{name} AS TEXT))", word) for name in _SEARCHED]
    tagged = joined("entries.id IN (SELECT trial_id FROM tags WHERE", contains("lower(tags.tag)", word), ")")
    return any_of(*texts, tagged)


def comparable_trials(workspace: Workspace, trials: Sequence[Trial]) -> list[Trial]:
    """Return every finished trial for comparison with some trials: of their suites, and of single jobs.

    A trial that belongs to several of these suites is returned for each.

    Raises:
        StoreError: The catalog cannot be read.
    """
    of_suites = one_of("suite", {trial.facts.suite for trial in trials})
    of_plans = one_of("plan", {trial.facts.plan for trial in trials})
    solo = all_of(of_plans, contains("variant", "solo/"))
    with workspace.database.reading() as connection:
        return workspace.catalog.where(connection, all_of(IS_FINISHED, any_of(of_suites, solo), NOT_IN_TRASH))


def filter_values(workspace: Workspace) -> dict[str, list[str]]:
    """Return the values for filters of trials: plans, variants, backends, statuses and tags.

    Raises:
        StoreError: The catalog cannot be read.
    """
    with workspace.database.reading() as connection:
        values = {
            name: set(
                connection.execute(f"SELECT DISTINCT {name} FROM {ENTRIES} WHERE {NOT_IN_TRASH}").scalars()
            )
            for name in ("plan", "variant", "backend", "status", "tag")
        }
        values["tag"] |= set(connection.execute("SELECT DISTINCT tag FROM tags").scalars())
    return {name: sorted(filter(_is_text, texts)) for name, texts in values.items()}


def _is_text(value: object) -> bool:
    """Return whether a value can be shown to users; an unreadable row may have any value."""
    return isinstance(value, str) and value != "" and value.encode(errors="ignore").decode() == value


def counts(workspace: Workspace) -> dict[str, int]:
    """Return the number of attempts at trials of each status, without those in the trash.

    Raises:
        StoreError: The catalog cannot be read.
    """
    query = f"SELECT status, count(*) FROM trials WHERE {NOT_IN_TRASH} GROUP BY status"
    with workspace.database.reading() as connection:
        return {status: int(count) for status, count in connection.execute(query) if _is_text(status)}
