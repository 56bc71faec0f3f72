"""Trials that belong to several runs, with the plan, variant and tag that each run gives them.

The row of a trial has the run that used it last. When another run adopts the trial, the run-specific columns
move to the table `memberships`; `places` reads both as one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from fabricbench.store.catalog_schema import FINISHED, LISTED, OF_RUN, memberships, trials
from fabricbench.store.sql.expression import Condition, Expression, Labelled, cast, null, row_number
from fabricbench.store.sql.statement import delete, insert, insert_found, select, union_all
from fabricbench.store.sql.table import INTEGER, Column, InOrder, Source

if TYPE_CHECKING:
    from fabricbench.store.sql.connection import Connection


def _places(name: str, columns: Sequence[Column]) -> Source:
    """Return a source with every attempt, and every finished trial again for each earlier run of it."""
    return union_all(
        select(*columns, trials.c.ended_at.label("placed_at"), cast(null(), INTEGER).label("number")),
        select(
            *(memberships.c[column.name] if column.name in OF_RUN else column for column in columns),
            memberships.c.placed_at,
            memberships.c.number,
        )
        # There are few memberships and many trials.
        .select_from(InOrder(memberships, trials))
        .where(memberships.c.trial_id == trials.c.id, trials.c.status.in_(FINISHED)),
    ).subquery(name)


places = _places("places", tuple(trials.c))
"""Every attempt, and every finished trial again for each earlier run of it.

The columns are those of `trials`, `placed_at` (when it had finished as a part of the run) and `number`: null
for the row of the trial itself, and higher for newer memberships.
"""

listed = _places("listed", [trials.c[name] for name in LISTED])
"""The same with few columns, all in an index, for queries over very many trials."""

Place = tuple[int, int | None]
"""Key of a row of `places`: `attempt` and `number`."""

NEWEST_FIRST: Final = places.c.number.desc().nulls_first()
"""Order of the rows of `places` of one attempt."""


def newest(source: Source) -> Labelled:
    """Return a column that numbers the selected rows of `source` of each attempt, from 1, newest first."""
    # With the bare column, SQLite would read whole rows in the order of attempts instead of the index.
    attempt = Expression(lambda parameters: f"({source.c.attempt.render(parameters)} + 0)")
    order = source.c.number.desc().nulls_first()
    return row_number(partition_by=attempt, order_by=order).label("age")


def keep_place(connection: Connection, trial_id: str, suite: str, *conditions: Condition) -> None:
    """Save the current run of a trial as a membership, unless it is the suite that adopts it.

    Args:
        connection: Open for writing.
        trial_id: The trial.
        suite: The suite that adopts it.
        conditions: Select the attempt whose row will name that suite or be replaced.
    """
    forget(connection, trial_id, suite)
    chosen = select(trials.c.id, trials.c.ended_at, *(trials.c[name] for name in OF_RUN))
    others = chosen.where(trials.c.id == trial_id, trials.c.suite != suite, *conditions)
    connection.execute(insert_found(memberships, ("trial_id", "placed_at", *OF_RUN), others))


def forget(connection: Connection, trial_id: str, suite: str | None = None) -> None:
    """Remove a trial from an earlier suite, or from all."""
    of_suite = [memberships.c.suite == suite] if suite is not None else []
    connection.execute(delete(memberships).where(memberships.c.trial_id == trial_id, *of_suite))


def add_place(connection: Connection, trial_id: str, row: Mapping[str, Any]) -> None:
    """Add a trial to a run, unless it already belongs to it.

    Args:
        connection: Open for writing.
        trial_id: The trial, which has a record.
        row: The columns `OF_RUN`, and `placed_at`.
    """
    known = select(places.c.attempt).where(places.c.id == trial_id, places.c.suite == row["suite"])
    if connection.execute(known).first() is None:
        values = {name: row[name] for name in (*OF_RUN, "placed_at")}
        connection.execute(insert(memberships, {"trial_id": trial_id} | values))
