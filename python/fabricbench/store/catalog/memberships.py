"""Memberships: the runs that a trial belongs to, with the plan, variant and tag that each run gives it.

The row of a trial has the run that used it last. When another run adopts the trial, the run-specific columns
move to the table `memberships`; `ENTRIES` reads both as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fabricbench.store.catalog.schema import IS_FINISHED, OF_RUN, TRIAL_COLUMNS
from fabricbench.store.catalog.sql import Connection, Sql, all_of


def _entries(columns: Iterable[str]) -> str:
    """Return the SQL source `entries`: every attempt, and each finished trial again for each earlier run."""
    names = list(columns)
    trial_columns = ", ".join(f"trials.{name}" for name in names)
    membership_columns = ", ".join(
        f"{'memberships' if name in OF_RUN else 'trials'}.{name}" for name in names
    )
    # There are few memberships and many trials: SQLite scans the first table of a CROSS JOIN.
    return f"""(
    SELECT {trial_columns}, trials.ended_at AS placed_at, CAST(NULL AS INTEGER) AS number FROM trials
    UNION ALL
    SELECT {membership_columns}, memberships.placed_at, memberships.number FROM memberships CROSS JOIN trials
    WHERE memberships.trial_id = trials.id AND trials.{IS_FINISHED}
) AS entries"""


ENTRIES: Final = _entries(TRIAL_COLUMNS)
"""SQL source `entries`: every attempt, and every finished trial again for each earlier run of it.

The columns are those of `trials`, `placed_at` (when it had finished as a part of the run) and `number`: null
for the row of the trial itself, and higher for newer memberships.
"""

LISTED_ENTRIES: Final = _entries(
    (
        *("started_at", "ended_at", "suite", "status", "attempt", "id"),
        *("plan", "variant", "backend", "data_size_bytes", "tag"),
    )
)
"""The same with few columns, all in the index `trials_listed`, for queries over very many trials."""

EntryKey = tuple[int, int | None]
"""Key of a row of `entries`: `attempt` and `number`."""

NEWEST_FIRST: Final = "number DESC NULLS FIRST"
"""Order of the rows of `entries` of one attempt."""

AGE: Final = f"row_number() OVER (PARTITION BY (attempt + 0) ORDER BY {NEWEST_FIRST}) AS age"
"""Column that numbers the selected rows of `entries` of each attempt, from 1, newest first.

With the bare column, SQLite would read whole rows in the order of attempts instead of the index.
"""


def save_membership(connection: Connection, trial_id: str, suite: str, which: Sql) -> None:
    """Save the current run of a trial as a membership, unless it is the suite that adopts it.

    Args:
        connection: Open for writing.
        trial_id: The trial.
        suite: The suite that adopts it.
        which: Condition on the attempt whose row will name that suite or be replaced.
    """
    remove_memberships(connection, trial_id, suite)
    names = ", ".join(OF_RUN)
    connection.execute(
        f"INSERT INTO memberships (trial_id, placed_at, {names})",
        f"SELECT id, ended_at, {names} FROM trials WHERE",
        all_of(Sql("id = ?", trial_id), Sql("suite <> ?", suite), which),
    )


def remove_memberships(connection: Connection, trial_id: str, suite: str | None = None) -> None:
    """Remove a trial from an earlier suite, or from all."""
    of_suite = [] if suite is None else [Sql("suite = ?", suite)]
    connection.execute("DELETE FROM memberships WHERE", all_of(Sql("trial_id = ?", trial_id), *of_suite))


def add_membership(connection: Connection, trial_id: str, row: Mapping[str, Any]) -> None:
    """Add a trial to a run, unless it already belongs to it.

    Args:
        connection: Open for writing.
        trial_id: The trial, which has a record.
        row: The columns `OF_RUN`, and `placed_at`.
    """
    is_member = Sql("id = ? AND suite = ?", trial_id, row["suite"])
    if connection.execute(f"SELECT attempt FROM {ENTRIES} WHERE", is_member).first() is None:
        values = {name: row[name] for name in (*OF_RUN, "placed_at")}
        connection.insert("memberships", {"trial_id": trial_id} | values)
