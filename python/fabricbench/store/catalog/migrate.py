"""Migrations of a catalog: numbered SQL files in `migrations/`, run in order to create or update its tables.

`NNNN_name.sql` is for both databases, `NNNN_name.sqlite.sql` for SQLite only. The table of the revision has
the name that alembic gave it, which migrated the catalogs of versions up to 0.2.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fabricbench.store.catalog.outcomes import digests, metric_rows, read_jobs
from fabricbench.store.catalog.schema import IS_FINISHED
from fabricbench.store.catalog.sql import Connection, Sql, one_of

_FILES: Final = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
REVISIONS: Final = sorted({path.name[:4] for path in _FILES})
"""All revisions of catalogs, oldest first."""
REVISION: Final = REVISIONS[-1]
"""Revision of the catalogs that this version reads and writes."""
_REVISION_TABLE: Final = "alembic_version"
_OUTCOMES: Final = "0013"
_TRIALS_AT_ONCE: Final = 100
_METRICS_AT_ONCE: Final = 200
"""Rows of four values per statement: SQLite before 3.32 allows 999 values."""


def revision_of(connection: Connection) -> object:
    """Return the revision of a catalog, a text unless the catalog is damaged."""
    return connection.execute(f"SELECT version_num FROM {_REVISION_TABLE}").scalar()


def migrate(connection: Connection, *, is_new: bool, target: str = REVISION) -> None:
    """Create the tables of a new catalog, or migrate an older one, within a transaction.

    Args:
        connection: Open for writing.
        is_new: Whether there are no tables.
        target: Revision after it; the newest by default.
    """
    if is_new:
        connection.execute(f"CREATE TABLE {_REVISION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        connection.insert(_REVISION_TABLE, {"version_num": ""})
    revision = str(revision_of(connection))
    for path in _FILES:
        number, dialect = path.name[:4], Path(path.stem).suffix[1:]
        if revision < number <= target and dialect in ("", connection.dialect):
            connection.execute_script(path.read_text(encoding="utf-8"))
            if number == _OUTCOMES:
                _fill_outcomes(connection)
    if revision < target:
        connection.execute(Sql(f"UPDATE {_REVISION_TABLE} SET version_num = ?", target))


def _fill_outcomes(connection: Connection) -> None:
    """Fill `trial_metrics` and `outcomes` from finished trials, in batches: run specs are long."""
    finished = connection.execute(f"SELECT attempt FROM trials WHERE {IS_FINISHED} ORDER BY attempt")
    attempts = list(finished.scalars())
    for start_index in range(0, len(attempts), _TRIALS_AT_ONCE):
        batch = one_of("attempt", attempts[start_index : start_index + _TRIALS_AT_ONCE])
        metrics: list[dict[str, Any]] = []
        for row in connection.execute("SELECT attempt, run_spec, results FROM trials WHERE", batch).all():
            if not isinstance(row.run_spec, str):
                continue  # a row with invalid values
            jobs = read_jobs(row.results)
            metrics += ({"attempt": row.attempt, **metric} for metric in metric_rows(jobs))
            outcome = {"attempt": row.attempt, "times": 1, "changes": 0, **digests(row.run_spec, jobs)}
            connection.insert("outcomes", outcome)
        for start in range(0, len(metrics), _METRICS_AT_ONCE):
            connection.insert("trial_metrics", *metrics[start : start + _METRICS_AT_ONCE])
