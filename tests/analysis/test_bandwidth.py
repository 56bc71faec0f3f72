"""Bandwidths against figures published elsewhere."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.samples import job_spec, run_spec

from fabricbench import _core
from fabricbench.analysis.summary.bandwidth import BUS_FACTORS, bus_factor, ideal_goodput_gb_per_s
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import Summary

PUBLISHED = Path(__file__).parents[2] / "plans/published"


def of_job(collective: str, ranks: int, data_bytes: int, completion_ps: int) -> Summary:
    spec = run_spec(
        job_spec(hosts=tuple(range(ranks)), collective=collective, data_bytes=data_bytes, start_ps=7)
    )
    outcome = run_summary(job_summary(start_ps=7, end_ps=7 + completion_ps))
    return summarise(spec, outcome, MemoryTables())[0]


def test_the_ideal_of_a_400_gbps_port() -> None:
    assert ideal_goodput_gb_per_s(run_spec()) == pytest.approx(49.0187, abs=5e-5)


@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [
        ("all-reduce", 4, 1.5),  # nccl-tests, PERFORMANCE.md: 2 (n - 1) / n
        ("all-reduce", 8, 1.75),
        ("all-gather", 8, 0.875),  # (n - 1) / n
        ("reduce-scatter", 8, 0.875),
        ("all-to-all", 8, 0.875),
        ("gather", 8, 0.875),
        ("broadcast", 8, 1.0),
        ("incast", 8, 7.0),
        ("permutation", 8, 1.0),
    ],
)
def test_bus_factors(collective: str, ranks: int, factor: float) -> None:
    assert bus_factor(collective, ranks) == factor


def test_an_unknown_collective_has_no_factor() -> None:
    with pytest.raises(ValueError, match="no bus factor for collective 'scan'; known: all-reduce"):
        bus_factor("scan", 4)


@pytest.mark.parametrize(
    ("table", "collective", "ranks"),
    [
        ("keysight_jct1_allreduce_ring.csv", "all-reduce", 4),
        ("keysight_jct2_alltoall.csv", "all-to-all", 8),
        ("keysight_jct3_allreduce_ring_200gb.csv", "all-reduce", 8),
    ],
)
def test_published_bandwidths_follow_from_published_times(table: str, collective: str, ranks: int) -> None:
    lines = [line for line in (PUBLISHED / table).read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert rows
    for row in rows:
        completion_ps = round(float(row["completion_time_ms"]) * 1e9)
        ours = of_job(collective, ranks, int(row["data_size_bytes"]), completion_ps)
        # The published times have three digits.
        assert ours.value("algbw_gb_per_s") == pytest.approx(float(row["algbw_gb_per_s"]), rel=3e-3)
        assert ours.value("busbw_gb_per_s") == pytest.approx(float(row["busbw_gb_per_s"]), rel=3e-3)
        assert ours.value("ideal_percent") == pytest.approx(float(row["ideal_percent"]), rel=3e-3)


def test_an_incast_that_fills_the_receivers_port_is_ideal() -> None:
    ranks, data_bytes = 5, 1 << 24
    frames = (ranks - 1) * data_bytes // 4096
    completion_ps = frames * (4096 + 82) * 20
    assert of_job("incast", ranks, data_bytes, completion_ps).value("ideal_percent") == pytest.approx(100)


def test_every_collective_of_the_engine_has_a_factor() -> None:
    assert {collective for collective, _ in _core.patterns()} == set(BUS_FACTORS)
