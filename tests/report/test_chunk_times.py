"""Only what is drawn of chunks is read, and once for all jobs of a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from tests.analysis.memory_tables import MemoryTables
from tests.support.fake_backend import chunk_row
from tests.support.samples import job_spec

from fabricbench.analysis.links.path_overlap import placements
from fabricbench.figures.results.completion_times import fct_ps_of


class Asked(MemoryTables):
    """Notes which columns of which table are read."""

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        self.asked = [*getattr(self, "asked", []), (table, tuple(columns or ()))]
        return super().batches(table, columns)


@pytest.fixture
def tables() -> Asked:
    jobs = {"a": 10, "b": 20, "c": 30}
    chunks = [
        chunk_row(qp=qp, job=job, fct_ps=fct_ps + qp) for qp in range(5) for job, fct_ps in jobs.items()
    ]
    path = {"qp": 1, "job": "a", "src_rank": 0, "dst_rank": 1, "hop": 0, "node": "n", "port": 1, "peer": "p"}
    return Asked(batch_rows=4, chunks=chunks, paths=[path])


def test_the_times_of_several_jobs_are_read_at_once(tables: Asked) -> None:
    found = fct_ps_of(tables, {(job, 1): {} for job in ("a", "c", "none")})
    assert {key: times.to_list() for key, times in found.items()} == {
        ("a", 1): [10, 11, 12, 13, 14],
        ("c", 1): [30, 31, 32, 33, 34],
        ("none", 1): [],
    }
    assert tables.asked == [("chunks", ("job", "fct_ps"))]


def test_a_trial_without_chunks_has_no_times() -> None:
    assert fct_ps_of(MemoryTables(), {("a", 1): {}})["a", 1].to_list() == []


def test_the_times_of_a_size_are_those_of_its_rounds() -> None:
    chunks = [chunk_row(job="a", round=number, fct_ps=number + 1) for number in range(6)]
    spec = job_spec(round_bytes=[4, 8, 4])
    found = fct_ps_of(MemoryTables(batch_rows=4, chunks=chunks), {("a", 4): spec, ("a", 8): spec})
    assert [found["a", size].to_list() for size in (4, 8)] == [[1, 3, 4, 6], [2, 5]]


def test_placements_read_when_chunks_are_under_way_and_nothing_else(tables: Asked) -> None:
    placements(tables)
    assert dict(tables.asked)["chunks"] == ("qp", "start_ps", "completed_ps")
