"""Record tables in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from fabricbench.store.record.schema import conform, schema_of


class MemoryTables:
    """Gives rows in batches of a chosen size, as a record on disk does."""

    def __init__(self, batch_rows: int = 1000, **tables: list[dict[str, Any]]) -> None:
        self._batch_rows = batch_rows
        self._tables = tables

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        rows = self._tables.get(table, [])
        for begin in range(0, len(rows), self._batch_rows):
            part = pa.RecordBatch.from_pylist(rows[begin : begin + self._batch_rows])
            yield conform(table, part).select(list(columns or schema_of(table).names))


def run_summary(*jobs: dict[str, Any], lost: int = 0, **given: Any) -> dict[str, Any]:
    statuses = {job["status"] for job in jobs}
    return {
        "status": "complete" if statuses == {"complete"} else "incomplete",
        "end_ps": max((job["end_ps"] or 0) for job in jobs),
        "jobs": list(jobs),
        "frames_lost": {"buffer_full": lost},
    } | given


def job_summary(**given: Any) -> dict[str, Any]:
    return {
        "name": "test",
        "status": "complete",
        "start_ps": 0,
        "end_ps": 1_000_000,
        "rounds": 1,
        "chunks": 1,
        "chunks_complete": 1,
        "chunks_failed": 0,
        "reason": "",
    } | given
