"""Metrics of storage jobs, from rows that can be counted by hand."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from tests.support.samples import job_spec

from fabricbench.analysis.record.chunk_facts import ChunkFacts, OperationFacts
from fabricbench.analysis.summary.storage_metrics import operation_metrics

MS = 10**9
"""Picoseconds of a millisecond."""


def job(length: dict[str, Any], repeat: str = "rounds") -> dict[str, Any]:
    return job_spec(kind="storage", start_ps=MS, repeat={"kind": repeat}, length=length, warm_up_ps=MS)


def rows(operations: Sequence[tuple[int, int | None]]) -> pa.RecordBatch:
    """Return rows of operations of 4 KB, each with its issue and its completion [ms]."""
    starts = [start * MS for start, _ in operations]
    ends = [None if end is None else end * MS for _, end in operations]
    pairs = zip(starts, ends, strict=True)
    columns = {
        "status": ["unfinished" if end is None else "complete" for end in ends],
        "payload_bytes": [4096] * len(ends),
        "start_ps": starts,
        "completed_ps": pa.array(ends, type=pa.int64()),
        "fct_ps": pa.array([None if end is None else end - start for start, end in pairs], type=pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def metrics(
    length: dict[str, Any],
    operations: Sequence[tuple[int, int | None]],
    repeat: str = "rounds",
    *,
    is_complete: bool = True,
) -> dict[str, Any]:
    facts = OperationFacts.of(job(length, repeat))
    assert facts is not None
    facts.add(rows(operations))
    return operation_metrics(ChunkFacts(operations=facts), is_complete=is_complete)


def test_the_measured_time_is_between_warm_up_and_the_end_of_the_duration() -> None:
    # Measured from 2 ms to 11 ms: one completes before, one at its beginning, one at the end, one after.
    operations = [(1, 1), (1, 2), (2, 5), (5, 10), (9, 11), (10, 13)]
    found = metrics({"kind": "duration", "duration_ps": 10 * MS}, operations)
    assert found["iops"] == pytest.approx(3 / 9e-3)
    assert found["storage_gb_per_s"] == pytest.approx(3 * 4096 / 9e-3 / 1e9)
    # 3, 5 and 2 ms count whole, a third of the last, of which 1 ms of 3 is measured.
    ranked = [found[f"operation_us_{name}"] for name in ("min", "p50", "p95", "p99", "p999", "max")]
    assert ranked == [2000, 3000, 5000, 5000, 5000, 5000]
    assert found["operation_us_mean"] == pytest.approx((3 + 5 + 2 + 1) * 1000 / (3 + 1 / 3))
    assert found["operations_outstanding"] == pytest.approx(11 / 9)


def test_an_operation_that_the_warm_up_began_is_not_left_out() -> None:
    # One client at depth 2: of one operation 1 ms in the warm-up, of the other one after the other.
    operations = [(1, 11), *((start, start + 1) for start in range(1, 11))]
    found = metrics({"kind": "duration", "duration_ps": 10 * MS}, operations)
    # 0.9 of the first, which completes at the end and so not in time, and nine of the others.
    assert found["operation_us_mean"] == pytest.approx(18_000 / 9.9)
    assert found["operation_us_max"] == 10_000
    assert found["operations_outstanding"] == pytest.approx(2)


@pytest.mark.parametrize("time_ms", [1, 2, 3, 4, 7])
def test_operations_that_take_equally_long_have_that_mean_wherever_they_are_cut(time_ms: int) -> None:
    operations = [(start, start + time_ms) for start in range(1, 11, time_ms)]
    found = metrics({"kind": "duration", "duration_ps": 10 * MS}, operations)
    assert found["operation_us_mean"] == pytest.approx(time_ms * 1000)
    assert found["operations_outstanding"] == pytest.approx(1)


def test_an_operation_that_the_end_of_the_run_cuts_off_took_at_least_as_long() -> None:
    length = {"kind": "duration", "duration_ps": 2 * MS}
    found = metrics(length, [(1, 3), (3, 4), (1, None), (4, None)], "until-others-end")
    # Measured from 2 ms to the last completion: half of 2 ms, 1 ms, and 2 ms of what never completed.
    assert found["operation_us_mean"] == pytest.approx((1 + 1 + 2) * 1000 / (0.5 + 1 + 1))
    assert found["operation_us_max"] == 2000
    assert found["operations_outstanding"] == pytest.approx(2)


@pytest.mark.parametrize(
    ("length", "repeat"),
    [
        ({"kind": "operations", "operations": 2}, "rounds"),
        ({"kind": "duration", "duration_ps": 2 * MS}, "until-others-end"),
    ],
)
def test_without_a_duration_the_last_completion_ends_it(length: dict[str, Any], repeat: str) -> None:
    found = metrics(length, [(1, 3), (3, 6), (6, None)], repeat)
    assert found["iops"] == pytest.approx(2 / 4e-3)


def test_an_incomplete_job_has_no_latency_that_would_leave_out_the_worst() -> None:
    found = metrics({"kind": "operations", "operations": 3}, [(2, 3), (3, None)], is_complete=False)
    assert found["iops"] is not None
    assert "operation_us_max" not in found


def test_other_jobs_have_none_of_it() -> None:
    assert OperationFacts.of(job_spec()) is None
