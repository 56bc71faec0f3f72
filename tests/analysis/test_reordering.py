"""The order of arrival, from rows of table `reordering`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from fabricbench.analysis.record.trial import Record
from fabricbench.analysis.summary.reordering import Bucket, reordering_object, reorderings


class Rows:
    """Some columns of two tables."""

    def __init__(self, rows: list[tuple[str, int | None, int, int, int]], rx_frames: int) -> None:
        names = ("job", "qp", "distance_min", "distance_max", "frames")
        chunks = [{"job": "a", "rx_frames": rx_frames}, {"job": "b", "rx_frames": 7}]
        self._tables = {
            "reordering": [dict(zip(names, row, strict=True)) for row in rows],
            "chunks": chunks,
        }

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        if self._tables[table]:
            batch = pa.RecordBatch.from_pylist(self._tables[table])
            yield batch.select(list(columns or batch.schema.names))


def record(rows: list[tuple[str, int | None, int, int, int]], rx_frames: int = 1000) -> Record:
    return Record({"jobs": [{"name": "a"}, {"name": "b"}]}, {}, Rows(rows, rx_frames))


def test_rows_of_jobs_count_and_those_of_queue_pairs_do_not() -> None:
    rows = [("a", None, 4, 7, 98), ("a", None, 32, 45, 2), ("a", 3, 4, 7, 98)]
    order = reorderings(record(rows))[0]
    assert (order.job, order.late_frames, order.late_percent) == ("a", 100, 10.0)
    assert (order.distance_p50, order.distance_p99, order.distance_max) == (7, 45, 45)
    assert order.buckets == [Bucket(4, 7, 98), Bucket(32, 45, 2)]
    assert sorted(reordering_object(order)) == [
        "buckets",
        "distance_max",
        "distance_p50",
        "distance_p99",
        "late_frames",
        "late_percent",
        "rx_frames",
    ]


@pytest.mark.parametrize(("few", "p99"), [(1, 7), (2, 45)])
def test_percentiles_are_nearest_ranks(few: int, p99: int) -> None:
    order = reorderings(record([("a", None, 4, 7, 100 - few), ("a", None, 32, 45, few)]))[0]
    assert order.distance_p99 == p99


def test_a_job_whose_frames_came_in_order_has_none() -> None:
    assert [order.job for order in reorderings(record([("b", None, 1, 1, 3)]))] == ["b"]
    assert reorderings(record([])) == []


def test_more_late_frames_than_were_counted_with_chunks_are_not_more_than_all() -> None:
    assert reorderings(record([("a", None, 1, 1, 50)], rx_frames=40))[0].late_percent == 100.0
