"""Comparisons with published results and between trials."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row
from tests.support.samples import run_spec

from fabricbench.analysis.comparison.ratios import Deviation, compare, deviations, ratio_verdict, ratios
from fabricbench.analysis.record.percentiles import nearest_rank, rank_of
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import Summary, result_row, result_table, summary_of
from fabricbench.metrics import BY_NAME, RATIOS


def of_time(completion_ps: int, **chunk: int) -> Summary:
    tables = MemoryTables(chunks=[chunk_row(fct_ps=completion_ps, **chunk)])
    return summarise(run_spec(), run_summary(job_summary(end_ps=completion_ps)), tables)[0]


def test_deviations_from_a_published_row() -> None:
    published = {"completion_time_ms": 2.0, "min_fct_ms": 0.5, "p50_fct_ms": 0.0, "power_w": 400.0}
    assert deviations(of_time(10**9), published) == [
        Deviation("completion_time_ms", 2.0, -50.0),
        Deviation("fct_ms_min", 0.5, 100.0),
        Deviation("fct_ms_p50", 0.0, None),
    ]


def test_an_incomplete_trial_has_no_deviation() -> None:
    outcome = run_summary(job_summary(status="incomplete", end_ps=None))
    ours = summarise(run_spec(), outcome, MemoryTables())[0]
    assert deviations(ours, {"busbw_gb_per_s": 5.0}) == [Deviation("busbw_gb_per_s", 5.0, None)]


def test_a_comparison_knows_which_value_is_better() -> None:
    changes = {
        change.metric.name: change for change in compare(of_time(2 * 10**9, retransmits=4), of_time(10**9))
    }
    assert changes["completion_time_ms"].ratio == 0.5
    assert changes["completion_time_ms"].verdict == "better"
    assert changes["busbw_gb_per_s"].verdict == "better"
    assert changes["busbw_gb_per_s"].ratio == pytest.approx(2)
    assert changes["retransmits"].verdict == "better"
    assert changes["latency_us_max"].verdict == "same"
    assert (changes["cnp_tx"].ratio, changes["cnp_tx"].verdict) == (None, "same")
    assert (changes["queue_max_bytes"].ratio, changes["queue_max_bytes"].verdict) == (None, "")
    back = {
        change.metric.name: change for change in compare(of_time(10**9), of_time(2 * 10**9, retransmits=4))
    }
    assert {back[name].verdict for name in ("completion_time_ms", "busbw_gb_per_s", "retransmits")} == {
        "worse"
    }


def test_ratios_are_own_over_reference() -> None:
    found = ratios(of_time(2 * 10**9), of_time(10**9))
    assert set(found) == set(RATIOS)
    assert found["completion_time_ratio"] == found["fct_p99_ratio"] == 2
    assert found["busbw_ratio"] == 0.5
    assert found["delivered_ratio"] is None
    assert ratios(of_time(10**9), of_time(10**9))["completion_time_ratio"] == 1


def test_storage_compares_whatever_the_number_of_its_targets() -> None:
    own = dataclasses.replace(of_time(10**9), collective="storage")
    fewer = dataclasses.replace(of_time(2 * 10**9), collective="storage", ranks=own.ranks - 1)
    assert ratios(fewer, own)["completion_time_ratio"] == 2


def test_what_is_not_complete_or_not_the_same_gives_no_ratio() -> None:
    complete = of_time(10**9)
    outcome = run_summary(job_summary(status="incomplete", end_ps=None))
    incomplete = summarise(run_spec(), outcome, MemoryTables(chunks=[chunk_row()]))[0]
    others = (dataclasses.replace(complete, ranks=8), dataclasses.replace(complete, data_size_bytes=5))
    for other in (incomplete, *others):
        for pair in ((complete, other), (other, complete)):
            assert set(ratios(*pair).values()) == {None}
    assert {change.ratio for change in compare(complete, incomplete)} == {None}
    assert {change.verdict for change in compare(complete, incomplete)} == {""}


@pytest.mark.parametrize(
    ("metric", "ratio", "expected"),
    [
        ("completion_time_ms", 1.02, "worse"),
        ("completion_time_ms", 0.98, "better"),
        ("completion_time_ms", 1.0099, "same"),
        ("busbw_gb_per_s", 1.02, "better"),
        ("busbw_gb_per_s", 0.98, "worse"),
        ("busbw_gb_per_s", None, ""),
    ],
)
def test_a_ratio_near_1_is_no_difference(metric: str, ratio: float | None, expected: str) -> None:
    assert ratio_verdict(BY_NAME[metric], ratio, 0.01) == expected


@pytest.mark.parametrize(("time_ps", "expected"), [(1_000_040_000, "same"), (1_000_060_000, "worse")])
def test_a_difference_that_no_ratio_shows_is_none(time_ps: int, expected: str) -> None:
    changes = {change.metric.name: change for change in compare(of_time(10**9), of_time(time_ps))}
    assert changes["completion_time_ms"].verdict == expected
    assert changes["completion_time_ms"].ratio == pytest.approx(time_ps / 10**9)


def test_rows_and_summaries_are_each_others_inverse() -> None:
    ours = of_time(10**9)
    assert summary_of(result_row(ours), run_spec()) == ours
    table = result_table({"id": "a", "iteration": 0}, [ours])
    assert summary_of(table.to_pylist()[0], run_spec()) == ours
    assert table.schema.field("queue_max_bytes").type == pa.int64()
    assert table.schema.field("retransmits").nullable is True
    assert table.schema.field("ranks").nullable is False


@pytest.mark.parametrize(
    ("share", "count", "rank"), [(0.95, 20, 19), (0.5, 4, 2), (0.999, 1000, 999), (1e-9, 5, 1), (1.0, 7, 7)]
)
def test_ranks(share: float, count: int, rank: int) -> None:
    assert rank_of(share, count) == rank


@given(
    st.lists(st.integers(0, 2**62), min_size=1, max_size=300),
    st.sampled_from([0.001, 0.5, 0.95, 0.99, 0.999, 1.0]),
)
def test_nearest_rank_is_a_place_in_the_sorted_list(values: list[int], share: float) -> None:
    column = pa.chunked_array([values[: len(values) // 2], values[len(values) // 2 :]], type=pa.int64())
    assert nearest_rank(column, [share]) == [sorted(values)[rank_of(share, len(values)) - 1]]
