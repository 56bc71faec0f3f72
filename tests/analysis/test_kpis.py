"""The KPIs of the BMWG drafts, worked out by hand from rows whose answers are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row, link_row, port_row
from tests.support.samples import job_spec, run_spec

from fabricbench.analysis.comparison.isolation import alone_ratios
from fabricbench.analysis.record.percentiles import jain
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import ALONE_RATIOS, BY_NAME, METRICS, Point, Scope, View, in_views

KPIS = [
    *("jct_ratio", "busbw_percent", "ecmp_mmr", "ecmp_jain", "link_tx_mmr", "link_tx_jain"),
    *("pfc_pause_count", "pfc_pause_us", "ecn_marking_percent", "drop_ppm", "retransmission_percent"),
    *("queue_p95_bytes", "convergence_us"),
]


def summary_of(spec: dict[str, Any] | None = None, run: Any = None, **tables: Any) -> Summary:
    tables.setdefault("chunks", [chunk_row()])
    return summarise(spec or run_spec(), run or run_summary(job_summary()), MemoryTables(**tables))[0]


def leaf(*flows: int, name: str = "leaf0", **given: Any) -> list[dict[str, Any]]:
    """A leaf with an uplink for each number of flows, and a host."""
    rows = [port_row("host0", 0, peer=name), port_row(name, 1, port=0, peer="host0", egress_qps=99)]
    for place, count in enumerate(flows, 1):
        uplink = {"peer": f"spine{place}", "egress_qps": count, "tx_bytes": 1000 * count} | given
        rows.append(port_row(name, 1, port=place, **uplink))
        rows.append(port_row(f"spine{place}", 2, port=0, peer=name))
    return rows


def test_every_kpi_is_shown_on_demand_alone() -> None:
    assert [metric.name for metric in in_views(View.BMWG)] == KPIS
    assert all(tuple(BY_NAME[name].views) == (View.BMWG,) for name in KPIS)


def test_every_metric_says_where_it_is_seen() -> None:
    of = {point: {each.name for each in METRICS if each.point is point} for point in Point}
    assert of[Point.FABRIC] == {
        *("wire_gbps", "loss_percent", "latency_us_min", "latency_us_mean", "latency_us_max"),
        *("pfc_rx", "ecn_ce_rx", "out_of_order_percent", "ecn_marking_percent", "data_frames_lost"),
    }
    shared = {metric.name for metric in METRICS if metric.scope is Scope.RUN}
    assert of[Point.DEVICE] == shared - {"convergence_us"}


def number(summary: Summary, name: str) -> float:
    value = summary.value(name)
    assert value is not None
    return value


def test_the_roofline_is_the_data_through_the_line_rate() -> None:
    # 1 MiB of an all-to-all among four: 3/4 of it at 400 Gb/s take 15.72864 us.
    run = run_summary(job_summary(end_ps=31_457_280))
    ours = summary_of(run=run)
    assert ours.value("jct_ratio") == pytest.approx(2)
    assert ours.value("busbw_percent") == pytest.approx(50)
    assert ours.value("busbw_percent") == pytest.approx(100 / number(ours, "jct_ratio"))
    planes = run_spec()
    planes["fabric"]["topology"] |= {"kind": "multi-plane", "planes": 2}
    assert summary_of(planes, run).value("jct_ratio") == pytest.approx(4)


@pytest.mark.parametrize(
    "job",
    [
        job_spec(hosts=(0, 0, 1, 1)),
        job_spec(warm_up_rounds=1),
        job_spec(repeat={"kind": "rounds", "rounds": 2}, root_shift=1),
    ],
)
def test_there_is_no_roofline_where_ranks_share_a_port_or_rounds_overlap(job: dict[str, Any]) -> None:
    ours = summary_of(run_spec(job))
    assert ours.value("busbw_gb_per_s") is not None
    assert (ours.value("jct_ratio"), ours.value("busbw_percent")) == (None, None)


def test_a_scale_up_link_is_no_part_of_the_roofline() -> None:
    spec = run_spec()
    spec["fabric"]["topology"] |= {"kind": "rail-optimised", "rails": 2, "scale_up_link": {"rate_bps": 1}}
    ours = summary_of(spec)
    assert ours.value("ideal_percent") is None
    assert number(ours, "busbw_percent") > 100
    assert 0 < number(ours, "jct_ratio") < 1


def test_balance_is_that_of_the_worst_switch() -> None:
    ports = [*leaf(2, 2, 4, 0), *leaf(3, 3, name="leaf1")]
    ours = summary_of(ports=ports)
    assert ours.value("ecmp_mmr") == 2
    assert ours.value("ecmp_jain") == pytest.approx(64 / (4 * 24))
    assert ours.value("link_tx_mmr") == 2
    assert ours.value("link_tx_jain") == pytest.approx(64 / (4 * 24))


def test_even_uplinks_have_both_at_one() -> None:
    ours = summary_of(ports=leaf(5, 5, 5))
    assert [ours.value(name) for name in KPIS[2:6]] == [1, 1, 1, 1]


def test_sprayed_packets_have_bytes_and_no_flows() -> None:
    ours = summary_of(ports=[row | {"egress_qps": 0} for row in leaf(1, 3)])
    assert (ours.value("ecmp_mmr"), ours.value("ecmp_jain")) == (None, None)
    assert (ours.value("link_tx_mmr"), ours.value("link_tx_jain")) == (1.5, 0.8)


@pytest.mark.parametrize(
    "ports", [[], leaf(), leaf(7), leaf(0, 0)], ids=["rows", "uplinks", "other", "flows"]
)
def test_there_is_no_balance_without(ports: list[dict[str, Any]]) -> None:
    ours = summary_of(ports=ports)
    assert [ours.value(name) for name in KPIS[2:6]] == [None, None, None, None]


def test_pauses_are_those_of_switches_and_their_time_that_of_all_ports() -> None:
    ports = [
        port_row("host0", 0, pfc_tx=5, pfc_rx=7, paused_ps=2_000_000),
        port_row("leaf0", 1, pfc_tx=7, pfc_rx=5, paused_ps=500_000),
        port_row("spine0", 2, pfc_tx=2),
    ]
    ours = summary_of(ports=ports)
    assert (ours.value("pfc_pause_count"), ours.value("pfc_pause_us")) == (9, 2.5)
    without = [row | {"pfc_tx": None, "pfc_rx": None, "paused_ps": None} for row in ports]
    ours = summary_of(ports=without)
    assert (ours.value("pfc_pause_count"), ours.value("pfc_pause_us")) == (None, None)
    assert summary_of(ports=[ports[0]]).value("pfc_pause_count") is None
    assert summary_of().value("pfc_pause_us") is None


def test_shares_of_frames_count_late_ones_where_they_arrived() -> None:
    chunks = [chunk_row(tx_frames=50, rx_frames=36, ecn_ce_rx=8, retransmits=10)] * 2
    outcome = job_summary(late={"frames": 8, "ecn_ce_rx": 4, "cnp_tx": 1})
    ours = summary_of(run=run_summary(outcome), chunks=chunks)
    assert ours.value("ecn_marking_percent") == 100 * 20 / 80
    assert ours.value("retransmission_percent") == 20


def test_no_frames_have_no_share() -> None:
    ours = summary_of(chunks=[chunk_row(tx_frames=0, rx_frames=0)])
    assert (ours.value("ecn_marking_percent"), ours.value("retransmission_percent")) == (None, None)
    assert summary_of(chunks=[]).value("ecn_marking_percent") is None


def test_drops_are_those_of_the_fabric_over_all_frames() -> None:
    lost = {"buffer_full": 3, "bit_error": 1, "host_overrun": 90}
    assert drop_ppm(frames_lost=lost, frames_sent=2_000_000) == 2
    assert drop_ppm(frames_lost={}, frames_sent=5) == 0
    assert drop_ppm(frames_lost={}, frames_sent=0) is None
    assert drop_ppm(frames_lost={}) is None
    assert drop_ppm(frames_lost=None, frames_sent=5) is None


def drop_ppm(**counts: Any) -> Any:
    return summary_of(run=run_summary(job_summary(), **counts)).value("drop_ppm")


def samples(node: str, values: list[int], metric: str = "queue_bytes") -> list[dict[str, Any]]:
    sample = {"metric": metric, "node": node, "port": 0, "priority": None, "qp": None, "job": None}
    return [sample | {"time_ps": time_ps, "value": value} for time_ps, value in enumerate(values)]


def test_the_queue_is_that_of_the_port_where_it_is_deepest() -> None:
    ports = [port_row("host0", 0), port_row("leaf0", 1), port_row("leaf1", 1)]
    series = [
        *samples("host0", [9000] * 100),
        *samples("leaf0", list(range(100))),
        *samples("leaf1", [*range(300, 320), *[0] * 380]),
        *samples("leaf0", [10**6] * 100, "tx_bytes"),
    ]
    # Nearest rank: 95 of 100 values, 380 of 400.
    assert summary_of(ports=ports, series=series).value("queue_p95_bytes") == 94
    unsampled = [*ports, port_row("leaf2", 1)]
    assert summary_of(ports=unsampled, series=series).value("queue_p95_bytes") is None
    few = [*samples("leaf0", [1] * 19), *samples("leaf1", [1] * 40)]
    assert summary_of(ports=ports, series=few).value("queue_p95_bytes") is None
    assert summary_of(ports=ports).value("queue_p95_bytes") is None


def test_jain_of_values_at_the_edges() -> None:
    assert (jain([]), jain([0, 0]), jain([4]), jain([7, 0, 0, 0])) == (None, None, 1, 0.25)


def test_interference_is_the_time_beside_others_over_that_alone() -> None:
    assert list(ALONE_RATIOS) == ["interference_factor"]
    times = [summary_of(run=run_summary(job_summary(end_ps=end_ps))) for end_ps in (3_000_000, 2_000_000)]
    assert alone_ratios(*times) == {"interference_factor": 1.5}
    broken = run_summary(job_summary(status="incomplete", end_ps=None))
    assert alone_ratios(summary_of(run=broken), times[1]) == {"interference_factor": None}


def test_links_that_carried_nothing_are_no_error() -> None:
    ours = summary_of(ports=leaf(0, 0), links=[link_row("leaf0", "spine1", 2, 0)])
    assert [ours.value(name) for name in KPIS[2:6]] == [None] * 4


def test_the_roofline_has_the_time_to_compute_and_bandwidths_do_not() -> None:
    # 1 MiB of an all-to-all among four: 3/4 of it at 400 Gb/s take 15.72864 us.
    chunks = [chunk_row(payload_bytes=1 << 20, fct_ps=31_457_280)]
    alone = summary_of(run=run_summary(job_summary(end_ps=31_457_280)), chunks=chunks)
    job = job_spec(compute_ps=60_000_000)
    ours = summary_of(run_spec(job), run_summary(job_summary(end_ps=91_457_280)), chunks=chunks)
    assert ours.value("completion_time_ms") == 0.09145728
    assert ours.value("jct_ratio") == pytest.approx(91.45728 / (60 + 15.72864))
    for name in ("algbw_gb_per_s", "busbw_gb_per_s", "busbw_gb_per_s_min", "busbw_percent", "ideal_percent"):
        assert ours.value(name) == pytest.approx(alone.value(name))
    assert ours.value("goodput_gbps") == pytest.approx(alone.value("goodput_gbps"))
    short = summary_of(run_spec(job), run_summary(job_summary(end_ps=60_000_000)))
    assert (short.value("busbw_gb_per_s"), short.value("jct_ratio")) == (None, None)
