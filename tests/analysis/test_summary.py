"""Metrics from rows whose answers are known."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row, link_row, port_row, with_noise
from tests.support.samples import job_spec, run_spec

from fabricbench.analysis.causes.diagnosis import unfinished_jobs, unhealthy_jobs
from fabricbench.analysis.faults.losses import LOSS_CAUSES
from fabricbench.analysis.record.trial import Record
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import METRICS, JobKind
from fabricbench.store.record.schema import conform


def summary_of(chunks: list[dict[str, Any]], **tables: Any) -> Summary:
    return summarise(run_spec(), run_summary(job_summary()), MemoryTables(chunks=chunks, **tables))[0]


def test_flow_completion_by_nearest_rank() -> None:
    chunks = [chunk_row(fct_ps=value * 10**9) for value in range(1000, 0, -1)]
    ours = summary_of(chunks)
    found = [ours.value(f"fct_ms_{name}") for name in ("min", "p50", "p95", "p99", "p999", "max")]
    assert found == [1, 500, 950, 990, 999, 1000]
    assert ours.value("fct_mean_ms") == 500.5


def test_the_flow_completion_of_one_chunk() -> None:
    ours = summary_of([chunk_row(fct_ps=2_500_000_000)])
    assert {
        ours.value("fct_ms_min"),
        ours.value("fct_ms_p50"),
        ours.value("fct_ms_p999"),
        ours.value("fct_ms_max"),
        ours.value("fct_mean_ms"),
    } == {2.5}
    assert ours.value("jain_fairness") == 1


def test_counters_are_summed_over_the_chunks_of_the_job() -> None:
    counters = {"retransmits": 3, "ecn_ce_rx": 5, "cnp_tx": 2, "out_of_order": 1, "rx_frames": 8}
    chunks = [chunk_row(**counters)] * 4
    ours = summary_of(chunks)
    assert (ours.value("retransmits"), ours.value("ecn_ce_rx"), ours.value("cnp_tx")) == (12, 20, 8)
    assert ours.value("out_of_order_percent") == 12.5


def test_frames_lost_are_the_runs() -> None:
    ours = summarise(run_spec(), run_summary(job_summary(), lost=9), MemoryTables(chunks=[chunk_row()]))
    assert ours[0].value("frames_lost") == 9


def test_frames_lost_are_those_of_every_cause() -> None:
    lost = {cause: 10**place for place, cause in enumerate(LOSS_CAUSES)}
    run = run_summary(job_summary(), frames_lost=lost)
    assert summarise(run_spec(), run, MemoryTables(chunks=[chunk_row()]))[0].value("frames_lost") == 1_111_111


def test_latency_is_weighted_with_the_frames() -> None:
    fast = chunk_row(rx_frames=3, latency_min_ps=1_000_000, latency_mean_ps=2e6, latency_max_ps=5_000_000)
    slow = chunk_row(rx_frames=1, latency_min_ps=4_000_000, latency_mean_ps=6e6, latency_max_ps=9_000_000)
    never = chunk_row(rx_frames=0, latency_min_ps=None, latency_mean_ps=None, latency_max_ps=None)
    ours = summary_of([fast, slow, never])
    assert (ours.value("latency_us_min"), ours.value("latency_us_mean"), ours.value("latency_us_max")) == (
        1,
        3,
        9,
    )


@pytest.mark.parametrize("batch_rows", [1, 2, 3])
def test_the_extremes_of_latency_may_be_in_any_batch(batch_rows: int) -> None:
    spans_us = [(4, 5), (1, 9), (3, 6)]
    rows = [
        chunk_row(rx_frames=1, latency_min_ps=least * 10**6, latency_mean_ps=5e6, latency_max_ps=most * 10**6)
        for least, most in spans_us
    ]
    for turn in range(3):
        tables = MemoryTables(batch_rows=batch_rows, chunks=rows[turn:] + rows[:turn])
        ours = summarise(run_spec(), run_summary(job_summary()), tables)[0]
        assert (
            ours.value("latency_us_min"),
            ours.value("latency_us_mean"),
            ours.value("latency_us_max"),
        ) == (1, 5, 9)


def test_fairness_is_jains_index_of_the_rates() -> None:
    # Rates 1, 1, 2: (1 + 1 + 2)^2 / (3 * (1 + 1 + 4)) = 16 / 18.
    ours = summary_of([chunk_row(fct_ps=2000), chunk_row(fct_ps=2000), chunk_row(fct_ps=1000)])
    assert ours.value("jain_fairness") == pytest.approx(16 / 18, abs=1e-9)


def test_fairness_compares_chunks_of_one_size_only() -> None:
    same = [chunk_row(payload_bytes=4096, fct_ps=1000)] * 3
    others = [chunk_row(payload_bytes=8192, fct_ps=value) for value in (1000, 9000)]
    assert summary_of(same + others).value("jain_fairness") == 1
    assert summary_of(same[:2] + others).value("jain_fairness") == pytest.approx(
        (10 / 9) ** 2 / (2 * (1 + 1 / 81)), abs=1e-9
    )


def test_pause_frames_count_where_they_reach_a_nic_of_the_job() -> None:
    ports = [port_row(f"host{host}", 0, pfc_rx=10**host) for host in range(6)]
    ports += [port_row("host0", 0, port=1, pfc_rx=1), port_row("leaf0", 1, pfc_rx=10**9)]
    assert summary_of([chunk_row()], ports=ports).value("pfc_rx") == 1112


def test_the_deepest_queue_is_a_switchs() -> None:
    ports = [port_row("host0", 0, queue_max_bytes=99), port_row("leaf0", 1, queue_max_bytes=7)]
    assert summary_of([chunk_row()], ports=ports).value("queue_max_bytes") == 7
    assert summary_of([chunk_row()], ports=ports[:1]).value("queue_max_bytes") is None


def test_link_load_compares_links_between_switches_of_a_tier() -> None:
    ports = [port_row("host0", 0), port_row("leaf0", 1), port_row("spine0", 2), port_row("core0", 3)]
    links = [
        link_row("host0", "leaf0", 1, 1000),
        link_row("leaf0", "spine0", 2, 30),
        link_row("spine0", "leaf0", 2, 10),
        link_row("spine0", "core0", 3, 5),
        link_row("core0", "spine0", 3, 5),
    ]
    assert summary_of([chunk_row()], ports=ports, links=links).value("link_load_max_to_mean") == 1.5
    assert summary_of([chunk_row()], ports=ports, links=links[:1]).value("link_load_max_to_mean") is None
    idle = [link_row("leaf0", "spine0", 2, 0)]
    assert summary_of([chunk_row()], ports=ports, links=idle).value("link_load_max_to_mean") is None


def test_jobs_are_kept_apart() -> None:
    spec = run_spec(job_spec("one", (0, 1)), job_spec("two", (2, 3), collective="permutation"))
    chunks = [chunk_row(job="one", fct_ps=10**9), chunk_row(job="two", fct_ps=3 * 10**9, retransmits=4)] * 2
    outcome = run_summary(job_summary(name="one"), job_summary(name="two"))
    one, two = summarise(spec, outcome, MemoryTables(batch_rows=3, chunks=chunks))
    assert (one.job, one.value("fct_ms_max"), one.value("retransmits")) == ("one", 1, 0)
    assert (two.job, two.value("fct_ms_min"), two.value("retransmits")) == ("two", 3, 8)


def test_an_incomplete_job_has_no_time_no_rate_and_no_fct() -> None:
    reason = "2 of 3 chunks, first transfer 7"
    outcome = job_summary(status="incomplete", end_ps=None, chunks=3, chunks_failed=2, reason=reason)
    chunks = [chunk_row(retransmits=1), chunk_row(fct_ps=None), chunk_row(fct_ps=None, status="failed")]
    ours = summarise(run_spec(), run_summary(outcome), MemoryTables(chunks=chunks))[0]
    measured = {metric.name for metric in METRICS if ours.value(metric.name) is not None}
    assert not {
        name for name in measured if name.startswith(("fct", "completion", "algbw", "busbw", "ideal", "jain"))
    }
    assert (ours.status, ours.reason, ours.chunks_failed, ours.value("retransmits")) == (
        "incomplete",
        reason,
        2,
        1,
    )


def test_rounds_count_from_the_end_of_the_one_before() -> None:
    rows = [chunk_row(round=0, fct_ps=2 * 10**9), chunk_row(round=0, fct_ps=10**9)]
    rows += [chunk_row(round=1, fct_ps=4 * 10**9, start_ps=2 * 10**9)]
    outcome = job_summary(rounds=2, end_ps=6 * 10**9)
    ours = summarise(run_spec(), run_summary(outcome), MemoryTables(batch_rows=1, chunks=rows))[0]
    assert (ours.value("completion_time_ms"), ours.value("round_ms_min"), ours.value("round_ms_max")) == (
        3,
        2,
        4,
    )
    busbw = (1 << 20) / 3e-3 / 1e9 * 3 / 4
    rates = (ours.value("busbw_gb_per_s_min"), ours.value("busbw_gb_per_s"), ours.value("busbw_gb_per_s_max"))
    assert rates == pytest.approx((busbw * 3 / 4, busbw, busbw * 3 / 2))


def test_rounds_to_warm_up_are_in_the_counters_alone() -> None:
    rows = [chunk_row(round=index, fct_ps=(9 - index) * 10**9, ecn_ce_rx=1) for index in range(4)]
    times = {"sum_ps": 14 * 10**9, "min_ps": 6 * 10**9, "max_ps": 8 * 10**9}
    outcome = job_summary(rounds=2, warm_up_rounds=2, end_ps=40 * 10**9, round_times=times)
    ours = summarise(run_spec(), run_summary(outcome), MemoryTables(batch_rows=3, chunks=rows))[0]
    assert (ours.value("completion_time_ms"), ours.value("round_ms_min"), ours.value("round_ms_max")) == (
        7,
        6,
        8,
    )
    assert (ours.value("fct_ms_min"), ours.value("fct_ms_max"), ours.rounds) == (6, 7, 2)
    assert (ours.value("ecn_ce_rx"), ours.value("rank_ms_mean")) == (4, None)


def test_times_of_ranks_are_those_of_the_engine() -> None:
    times = {"min_ps": 1 * 10**9, "mean_ps": 2 * 10**9, "max_ps": 4 * 10**9}
    outcome = job_summary(rank_times=times)
    ours = summarise(run_spec(), run_summary(outcome), MemoryTables(chunks=[chunk_row()]))[0]
    assert (ours.value("rank_ms_min"), ours.value("rank_ms_mean"), ours.value("rank_ms_max")) == (1, 2, 4)


def test_what_was_cut_off_is_in_the_counters_alone() -> None:
    rows = [
        chunk_row(fct_ps=2 * 10**9),
        chunk_row(round=1, fct_ps=10**9, retransmits=3),
        chunk_row(round=1, fct_ps=None),
    ]
    ours = summarise(run_spec(), run_summary(job_summary(end_ps=2 * 10**9)), MemoryTables(chunks=rows))[0]
    assert (
        ours.rounds,
        ours.value("completion_time_ms"),
        ours.value("fct_ms_max"),
        ours.value("retransmits"),
    ) == (1, 2, 2, 3)
    none = job_summary(end_ps=None, rounds=0)
    ours = summarise(run_spec(), run_summary(none), MemoryTables(chunks=rows))[0]
    assert (
        ours.status,
        ours.value("busbw_gb_per_s"),
        ours.value("fct_ms_max"),
        ours.value("retransmits"),
    ) == (
        "complete",
        None,
        None,
        3,
    )


def test_open_loop_traffic_of_endpoints_has_rates_and_no_slowdowns() -> None:
    arrivals: dict[str, Any] = {"process": "constant", "rate_bps": 10**9, "duration_ps": 10**9}
    rows = [chunk_row(start_ps=10**6, fct_ps=10**8, unloaded_ps=None)]
    spec = run_spec(job_spec(kind="open-loop", collective="incast", **arrivals))
    ours = summarise(spec, run_summary(job_summary(end_ps=2 * 10**8)), MemoryTables(chunks=rows))[0]
    assert ours.value("delivered_gb_per_s") == pytest.approx(4096 / 1e-3 / 1e9)
    assert ours.value("slowdown_mean") is None


def test_copies_without_an_idle_time_have_no_slowdown() -> None:
    arrivals: dict[str, Any] = {"process": "constant", "rate_bps": 10**9, "duration_ps": 10**9}
    rows = [chunk_row(start_ps=10**6, fct_ps=2, unloaded_ps=unloaded_ps) for unloaded_ps in (0, 1)]
    spec = run_spec(job_spec(kind="open-loop", collective="incast", **arrivals))
    ours = summarise(spec, run_summary(job_summary(end_ps=2 * 10**8)), MemoryTables(chunks=rows))[0]
    assert (ours.value("slowdown_mean"), ours.value("slowdown_max")) == (2, 2)


def test_open_loop_traffic_has_rates_and_slowdowns_in_place_of_bandwidths() -> None:
    arrivals: dict[str, Any] = {"process": "poisson", "rate_bps": 10**9, "duration_ps": 10**9}
    rows = [chunk_row(start_ps=10**6, fct_ps=fct * 10**8, unloaded_ps=10**8) for fct in (1, 2, 3, 14)]
    spec = run_spec(job_spec(kind="open-loop", collective="incast", **arrivals))
    ours = summarise(
        spec, run_summary(job_summary(end_ps=15 * 10**8)), MemoryTables(batch_rows=3, chunks=rows)
    )[0]
    rates = (ours.value("offered_gb_per_s"), ours.value("delivered_gb_per_s"))
    assert rates == pytest.approx((4 * 4096 / 1e-3 / 1e9, 3 * 4096 / 1e-3 / 1e9))
    assert (
        ours.value("slowdown_mean"),
        ours.value("slowdown_p50"),
        ours.value("slowdown_p99"),
        ours.value("slowdown_max"),
    ) == (5, 2, 14, 14)
    assert (ours.value("busbw_gb_per_s"), ours.value("ideal_percent"), ours.value("completion_time_ms")) == (
        None,
        None,
        1.5,
    )


def test_what_is_delivered_as_the_offer_ends_is_delivered_in_time() -> None:
    start_ps, duration_ps = 10**6, 10**9
    arrivals: dict[str, Any] = {"process": "poisson", "rate_bps": 10**9, "duration_ps": duration_ps}
    spec = run_spec(job_spec(kind="open-loop", collective="incast", start_ps=start_ps, **arrivals))
    end_ps = start_ps + duration_ps
    for delivered_ps, delivered_bytes in [(end_ps - 1, 4096), (end_ps, 4096), (end_ps + 1, 0), (None, 0)]:
        row = chunk_row(start_ps=start_ps, fct_ps=10**6, unloaded_ps=10**6) | {"delivered_ps": delivered_ps}
        ours = summarise(spec, run_summary(job_summary()), MemoryTables(chunks=[row]))[0]
        assert ours.value("offered_gb_per_s") == pytest.approx(4096 / 1e-3 / 1e9)
        assert ours.value("delivered_gb_per_s") == pytest.approx(delivered_bytes / 1e-3 / 1e9)


def test_a_job_has_the_metrics_of_its_kind_alone() -> None:
    ours = summary_of([chunk_row()])
    own = {metric.name for metric in METRICS if metric.kind in {None, JobKind.COLLECTIVE}}
    assert (ours.kind, set(ours.metrics)) == (JobKind.COLLECTIVE, own)
    assert ours.value("iops") is None
    with pytest.raises(AssertionError, match="collective jobs have no iops"):
        Summary.of(JobKind.COLLECTIVE, {}, {"iops": 1.0})
    with pytest.raises(AttributeError):
        ours.value("no_metric")


def test_jobs_are_unfinished_that_did_not_complete_and_unhealthy_as_well() -> None:
    statuses = {"one": "complete", "two": "incomplete", "three": "complete"}
    spec = run_spec(*(job_spec(name) for name in statuses))
    run = run_summary(*(job_summary(name=name, status=status, end_ps=1) for name, status in statuses.items()))
    record = Record(spec, run, MemoryTables())
    assert (unfinished_jobs(record), unhealthy_jobs(record)) == (["two"], ["two"])


def test_a_job_without_an_outcome_is_an_error_of_ours() -> None:
    spec, run = run_spec(job_spec("one"), job_spec("two")), run_summary(job_summary(name="one"))
    tables = MemoryTables(chunks=[chunk_row(job="one")])
    record = Record(spec, run, tables)
    for reading in (
        lambda: summarise(spec, run, tables),
        lambda: unhealthy_jobs(record),
        lambda: unfinished_jobs(record),
    ):
        with pytest.raises(ValueError, match="zip"):
            reading()


def test_a_million_chunks_take_little_time_and_memory() -> None:
    rows = conform("chunks", pa.RecordBatch.from_pylist([chunk_row()] * 65_536))
    fct_ps = with_noise(rows, 3).column("tx_bytes")
    positive = pa.Array.from_buffers(pa.int64(), len(fct_ps), fct_ps.buffers())
    many = rows.set_column(rows.schema.get_field_index("fct_ps"), "fct_ps", _absolute(positive))

    class Many(MemoryTables):
        def batches(self, table: str, columns: Any = None) -> Any:
            if table == "chunks":
                yield from (many.select(list(columns)) for _ in range(16))

    before, started = pa.total_allocated_bytes(), time.process_time()
    ours = summarise(run_spec(), run_summary(job_summary()), Many())[0]
    assert ours.value("fct_ms_p50")
    assert time.process_time() - started < 3
    assert pa.total_allocated_bytes() - before < 100 << 20


def _absolute(values: pa.Array) -> pa.Array:
    return pc.add(pc.shift_right(pc.bit_wise_and(values, 2**62 - 1), 20), 1)


def test_a_stalled_job_says_what_stalled_and_has_no_rate() -> None:
    events = [
        {"time_ps": 5, "kind": "stalled", "node": f"leaf{leaf}", "detail": "port 1 is paused"}
        for leaf in range(5)
    ]
    stuck = job_summary(name="b", status="incomplete", end_ps=None, reason="1 of 2 chunks never completed")
    spec = run_spec(job_spec(), job_spec("b"))
    run = run_summary(job_summary(), stuck, status="stalled")
    done, ours = summarise(spec, run, MemoryTables(events=events))
    assert (done.status, done.reason) == ("complete", "")
    assert (ours.status, ours.value("busbw_gb_per_s"), ours.value("completion_time_ms")) == (
        "stalled",
        None,
        None,
    )
    assert ours.reason == (
        "1 of 2 chunks never completed; leaf0 port 1 is paused; leaf1 port 1 is paused; "
        "leaf2 port 1 is paused; and 2 more"
    )
