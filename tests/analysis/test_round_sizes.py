"""Results of jobs whose rounds have several data sizes, from rows whose answers are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row
from tests.support.samples import job_spec, run_spec

from fabricbench.analysis.causes.evidence import ideal_job_ps
from fabricbench.analysis.comparison.isolation import solo_keys
from fabricbench.analysis.record.round_sizes import bytes_of_rounds
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import Summary

MS = 10**9
SIZES = [1 << 20, 1 << 22]


def sized(cycle: list[int], **given: Any) -> dict[str, Any]:
    repeat = {"kind": "rounds", "rounds": len(cycle)}
    return job_spec(data_bytes=max(cycle), round_bytes=cycle, **{"repeat": repeat} | given)


def times(size: int, *took_ms: int) -> dict[str, int]:
    return {
        "data_bytes": size,
        "rounds": len(took_ms),
        "sum_ps": sum(took_ms) * MS,
        "min_ps": min(took_ms) * MS,
        "max_ps": max(took_ms) * MS,
    }


def results(job: dict[str, Any], outcome: dict[str, Any], rows: list[dict[str, Any]]) -> list[Summary]:
    return summarise(run_spec(job), run_summary(outcome), MemoryTables(batch_rows=2, chunks=rows))


def test_each_size_is_summarised_like_a_job_of_its_own() -> None:
    cycle = [SIZES[0], SIZES[1], SIZES[0]]
    rows = [
        chunk_row(round=index, fct_ps=(index + 1) * MS, payload_bytes=cycle[index] // 4, ecn_ce_rx=index)
        for index in range(3)
    ]
    outcome = job_summary(
        rounds=3,
        chunks=3,
        chunks_complete=3,
        end_ps=9 * MS,
        size_times=[times(SIZES[0], 2, 4), times(SIZES[1], 3)],
    )
    small, large = results(sized(cycle), outcome, rows)
    assert [(each.job, each.data_size_bytes) for each in (small, large)] == [("test", size) for size in SIZES]
    assert (small.rounds, small.chunks, small.chunks_complete, large.chunks) == (2, 2, 2, 1)
    assert (small.value("completion_time_ms"), small.value("round_ms_max")) == (3, 4)
    assert (small.value("fct_ms_min"), small.value("fct_ms_max"), large.value("fct_ms_max")) == (1, 3, 2)
    assert (small.value("ecn_ce_rx"), large.value("ecn_ce_rx")) == (2, 1)
    assert large.value("algbw_gb_per_s") == pytest.approx(SIZES[1] / 3e-3 / 1e9)
    assert large.value("busbw_gb_per_s") == pytest.approx(SIZES[1] / 3e-3 / 1e9 * 3 / 4)


def test_a_size_that_no_round_completed_has_no_figures() -> None:
    outcome = job_summary(
        status="incomplete", end_ps=None, rounds=1, chunks=2, chunks_complete=1, reason="lost"
    )
    outcome["size_times"] = [times(SIZES[0], 1)]
    rows = [chunk_row(round=0, fct_ps=MS), chunk_row(round=1, fct_ps=None, status="failed")]
    small, large = results(sized(SIZES), outcome, rows)
    assert (small.status, small.reason, small.value("completion_time_ms")) == ("complete", "", 1)
    assert (large.status, large.reason, large.chunks_failed) == ("incomplete", "lost", 1)
    assert large.value("completion_time_ms") is None


def test_a_job_that_others_end_has_the_sizes_that_it_came_to() -> None:
    job = sized(SIZES, repeat={"kind": "until-others-end"})
    outcome = job_summary(rounds=1, chunks=2, chunks_complete=1, end_ps=MS, size_times=[times(SIZES[0], 1)])
    rows = [chunk_row(round=0, fct_ps=MS), chunk_row(round=1, fct_ps=None, status="unfinished")]
    small, large = results(job, outcome, rows)
    assert [(each.status, each.rounds, each.chunks) for each in (small, large)] == [
        ("complete", 1, 1),
        ("complete", 0, 1),
    ]
    assert large.value("completion_time_ms") is None


def test_the_ideal_of_a_job_counts_the_size_of_each_round() -> None:
    job = sized(SIZES)
    assert [bytes_of_rounds(job, rounds) for rounds in (1, 2, 3)] == [1 << 20, 5 << 20, 6 << 20]
    one = ideal_job_ps(run_spec(), job_spec(), job_summary(rounds=5))
    assert ideal_job_ps(run_spec(), job, job_summary(rounds=2)) == pytest.approx(one)


def test_a_job_is_the_same_alone_whatever_the_order_of_its_sizes() -> None:
    beside = run_spec(sized([*SIZES, SIZES[0]], repeat={"kind": "until-others-end"}))
    alone, other = run_spec(sized(SIZES)), run_spec(sized([SIZES[0], 1 << 22, 1 << 21]))
    assert solo_keys(0, beside) == solo_keys(0, alone)
    assert solo_keys(0, beside) != solo_keys(0, other)
