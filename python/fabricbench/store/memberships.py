"""Trials that several runs have in common: which runs, and what each calls them.

The row of a trial names the run that carried it out last. When another run takes it over, what the row said
of the earlier one moves to the table `memberships`; `places` reads both as one table.
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
    """Return every attempt, and every finished trial once more for each earlier run that it was part of."""
    return union_all(
        select(*columns, trials.c.ended_at.label("placed_at"), cast(null(), INTEGER).label("number")),
        select(
            *(memberships.c[column.name] if column.name in OF_RUN else column for column in columns),
            memberships.c.placed_at,
            memberships.c.number,
        )
        # There are few of them, and many trials.
        .select_from(InOrder(memberships, trials))
        .where(memberships.c.trial_id == trials.c.id, trials.c.status.in_(FINISHED)),
    ).subquery(name)


places = _places("places", tuple(trials.c))
"""Every attempt, and every finished trial once more for each earlier run that it was part of.

The columns are those of `trials`, `placed_at` (when it had finished as a part of the run) and `number`: none
for the row of the trial itself, and the higher the newer for others.
"""

listed = _places("listed", [trials.c[name] for name in LISTED])
"""The same with few columns, which an index has: to find some among very many."""

Place = tuple[int, int | None]
"""A row of `places`: `attempt` and `number`."""

NEWEST_FIRST: Final = places.c.number.desc().nulls_first()
"""The order of the places of one attempt."""


def newest(source: Source) -> Labelled:
    """Return a column that numbers, from 1, the places in `source` that an attempt has of those selected."""
    # By the column itself SQLite would read whole rows in the order of attempts, and not the index.
    attempt = Expression(lambda parameters: f"({source.c.attempt.render(parameters)} + 0)")
    order = source.c.number.desc().nulls_first()
    return row_number(partition_by=attempt, order_by=order).label("age")


def keep_place(connection: Connection, trial_id: str, suite: str, *conditions: Condition) -> None:
    """Keep what a trial is part of now, if that is not the suite that takes it over.

    Args:
        connection: Open for writing.
        trial_id: The trial.
        suite: What takes it over.
        conditions: Which attempt it is whose row is going to name that suite, or to be replaced.
    """
    forget(connection, trial_id, suite)
    chosen = select(trials.c.id, trials.c.ended_at, *(trials.c[name] for name in OF_RUN))
    others = chosen.where(trials.c.id == trial_id, trials.c.suite != suite, *conditions)
    connection.execute(insert_found(memberships, ("trial_id", "placed_at", *OF_RUN), others))


def forget(connection: Connection, trial_id: str, suite: str | None = None) -> None:
    """Forget that a trial was part of an earlier suite, or of any."""
    of_suite = [memberships.c.suite == suite] if suite is not None else []
    connection.execute(delete(memberships).where(memberships.c.trial_id == trial_id, *of_suite))


def add_place(connection: Connection, trial_id: str, row: Mapping[str, Any]) -> None:
    """Note that a trial is part of a run, unless that is known.

    Args:
        connection: Open for writing.
        trial_id: The trial, which has its record.
        row: The columns `OF_RUN`, and `placed_at`.
    """
    known = select(places.c.attempt).where(places.c.id == trial_id, places.c.suite == row["suite"])
    if connection.execute(known).first() is None:
        values = {name: row[name] for name in (*OF_RUN, "placed_at")}
        connection.execute(insert(memberships, {"trial_id": trial_id} | values))
