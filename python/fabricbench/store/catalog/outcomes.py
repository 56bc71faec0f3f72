"""Stores metrics and digests of finished trials as rows, so that the database can sort and compare them.

There is a row for each metric of each job, and digests of the run spec and the results. All values derive
from the columns `run_spec` and `results`; a row without readable results has none.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from fabricbench.metrics import BY_NAME, Direction
from fabricbench.store.catalog.sql import Connection, Row, Sql

_ROWS_AT_ONCE = 200
"""Rows of four values per statement: SQLite before 3.32 allows 999 values."""
_OF_THE_RUN = ("id", "plan", "variant", "iteration")
"""Columns of results that identify the trial."""


def save_outcome(
    connection: Connection, attempt: int, run_spec: str, results: object, before: Row | None = None
) -> None:
    """Store metrics and digests of a finished attempt.

    Args:
        connection: Open for writing.
        attempt: Its number.
        run_spec: The column `run_spec` of its row.
        results: The column `results` of its row.
        before: The outcome of the record that it replaces.
    """
    jobs = read_jobs(results)
    rows = [{"attempt": attempt, **row} for row in metric_rows(jobs)]
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        connection.insert("trial_metrics", *rows[first : first + _ROWS_AT_ONCE])
    values: dict[str, Any] = {"attempt": attempt, **digests(run_spec, jobs), "times": 1, "changes": 0}
    if before is not None:
        has_changed = before.results != values["results"]
        values |= {"times": before.times + 1, "changes": before.changes + has_changed}
    connection.insert("outcomes", values)


def outcome_of(connection: Connection, which: Sql) -> Row | None:
    """Return the stored outcome of the first of the attempts that meet a condition on `trials`."""
    attempts = "attempt IN (SELECT attempt FROM trials WHERE"
    return connection.execute(f"SELECT * FROM outcomes WHERE {attempts}", which, ")").first()


def remove_outcomes(connection: Connection, which: Sql) -> None:
    """Delete metrics and digests of the attempts that meet a condition on `trials`.

    Their numbers may be reused.
    """
    for table in ("trial_metrics", "outcomes"):
        attempts = "attempt IN (SELECT attempt FROM trials WHERE"
        connection.execute(f"DELETE FROM {table} WHERE {attempts}", which, ")")


def metric_rows(jobs: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield `metric`, `job` and `value` of each number in results; of jobs with the same name, the first."""
    names: set[str] = set()
    for row in jobs:
        job = row.get("job")
        if not isinstance(job, str) or job in names or not _is_text(job):
            continue
        names.add(job)
        for name in BY_NAME:
            value = _number(row.get(name))
            if value is not None:
                yield {"metric": name, "job": job, "value": value}


def digests(run_spec: str, jobs: list[Mapping[str, Any]]) -> dict[str, str]:
    """Return `spec`, equal for trials with the same run spec, and `results`, the digest of their metrics."""
    job_results = [{name: value for name, value in row.items() if name not in _OF_THE_RUN} for row in jobs]
    return {"spec": _digest(run_spec), "results": _digest(json.dumps(job_results, sort_keys=True))}


def worst(metric: str, job: str | None = None) -> Sql:
    """Return the worst value of a metric among the jobs of a row of `entries`, or that of a named job.

    Null if no job has a number.
    """
    worst_of = "max" if BY_NAME[metric].direction is Direction.LOWER else "min"
    query = f"SELECT {worst_of}(value) FROM trial_metrics WHERE attempt = entries.attempt AND metric = ?"
    return Sql(f"({query})", metric) if job is None else Sql(f"({query} AND job = ?)", metric, job)


def read_jobs(results: object) -> list[Mapping[str, Any]]:
    """Return the rows of a column `results`; empty if it is invalid."""
    try:
        rows = json.loads(results) if isinstance(results, str) else []
    except (ValueError, RecursionError):
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _number(value: object) -> float | None:
    """Return a finite number as a float for the database, or None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_text(value: str) -> bool:
    """Return whether both databases can store a text: no lone surrogates and no zero bytes."""
    return "\0" not in value and value.encode(errors="ignore").decode() == value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
