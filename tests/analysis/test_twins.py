"""Measured beside predicted: what the difference is laid to, on records whose difference is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.analysis.twins import Side, Twin, twin_of, with_trend
from fabricbench.analysis.twins.endpoints import COUNTERS
from fabricbench.analysis.twins.trend import trend
from fabricbench.metrics import JobKind
from fabricbench.store.record.schema import schema_of

PS_PER_MS = 10**9
RANKS = 4


class Tables:
    """Tables in memory; those that are not given are empty."""

    def __init__(self, **tables: Sequence[Mapping[str, Any]]) -> None:
        self._tables = tables

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Any:
        schema = schema_of(table)
        fields = [schema.field(name).with_nullable(True) for name in columns or schema.names]
        rows = [{field.name: row.get(field.name) for field in fields} for row in self._tables.get(table, ())]
        yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))


def chunks(fct_ms: float = 1.0, **changes: Mapping[tuple[int, int], Any]) -> list[dict[str, Any]]:
    """Return a chunk for each pair of ranks, with some columns of some pairs changed."""
    rows = []
    for source in range(RANKS):
        for target in range(RANKS):
            if source == target:
                continue
            row: dict[str, Any] = dict.fromkeys(COUNTERS, 0) | {"job": "test", "status": "complete"}
            row |= {"src_rank": source, "dst_rank": target, "src_host": source, "dst_host": target}
            row |= {"start_ps": 0, "fct_ps": round(fct_ms * PS_PER_MS)}
            rows.append(
                row | {name: by[source, target] for name, by in changes.items() if (source, target) in by}
            )
    return rows


def side(time_ms: float | None, rows: list[dict[str, Any]], size: int = 1 << 20, **tables: Any) -> Side:
    status = "complete" if time_ms else "incomplete"
    facts: dict[str, Any] = {"job": "test", "collective": "all-to-all", "algorithm": "parallel"}
    facts |= {"ranks": RANKS, "data_size_bytes": size, "status": status, "reason": "" if time_ms else "lost"}
    facts |= {"rounds": 1, "chunks": len(rows), "chunks_complete": len(rows), "chunks_failed": 0}
    summary = Summary.of(JobKind.COLLECTIVE, facts, {"completion_time_ms": time_ms})
    return Side(summary, Tables(chunks=rows, **tables))


def kinds(twin: Twin) -> list[tuple[str, str]]:
    return [(cause.kind, cause.where) for cause in twin.causes]


def test_equal_records_have_no_cause() -> None:
    twin = twin_of(side(1.0, chunks()), side(1.0, chunks()))
    assert (twin.deviation_percent, twin.causes) == (0.0, [])


def test_without_a_prediction_nothing_is_said() -> None:
    twin = twin_of(side(1.0, chunks()), None)
    assert (twin.predicted, twin.deviation_percent, twin.causes) == (None, None, ())


def test_a_counter_that_was_not_predicted_is_told_with_the_ranks_that_have_most_of_it() -> None:
    measured = chunks(retransmits={(0, 1): 2, (2, 3): 5}, timeouts={(2, 3): 1})
    twin = twin_of(side(1.5, measured), side(1.0, chunks()))
    assert kinds(twin) == [("counter", "timeouts"), ("counter", "retransmits")]
    assert twin.causes[1].text == (
        "7 retransmitted frames, 0 predicted; most from ranks 2 to 3, host2 to host3: 5"
    )


def test_what_one_side_does_not_measure_says_nothing() -> None:
    measured = chunks(ecn_ce_rx={(0, 1): None, (0, 2): 9})
    assert kinds(twin_of(side(1.5, measured), side(1.0, chunks()))) == []
    predicted = chunks(cnp_rx={(0, 1): None})
    assert kinds(twin_of(side(1.5, chunks(cnp_rx={(0, 1): 3})), side(1.0, predicted))) == []


def test_a_rank_that_starts_late_is_named() -> None:
    late = {(2, target): 400_000_000 for target in range(RANKS)}
    twin = twin_of(side(1.4, chunks(start_ps=late)), side(1.0, chunks()))
    assert kinds(twin) == [("start", "rank 2")]
    assert twin.causes[0].text == "rank 2 starts 400 us later than predicted"


def test_a_rank_that_waits_for_others_is_not_late() -> None:
    waits = {(2, target): 200_000_000 for target in range(RANKS)}
    longer = {(2, target): 600_000_000 for target in range(RANKS)}
    twin = twin_of(side(1.4, chunks(start_ps=longer)), side(1.0, chunks(start_ps=waits)))
    assert kinds(twin) == []


@pytest.mark.parametrize("host", range(RANKS))
@pytest.mark.parametrize("place", ["src", "dst"])
def test_the_host_that_is_slower_than_the_others_is_named(host: int, place: str) -> None:
    pairs = [(host, other) if place == "src" else (other, host) for other in range(RANKS)]
    slow = dict.fromkeys(pairs, 3 * PS_PER_MS)
    twin = twin_of(side(3.0, chunks(fct_ps=slow)), side(1.0, chunks()))
    assert kinds(twin) == [("host", f"host{host}")]
    assert ("sends" if place == "src" else "receives") in twin.causes[0].text
    assert {(pair.src_rank, pair.dst_rank) for pair in twin.slowest} <= set(pairs)
    assert twin.slowest[0].ratio == pytest.approx(3)


def test_all_hosts_slower_alike_is_no_matter_of_a_host() -> None:
    assert kinds(twin_of(side(2.0, chunks(2.0)), side(1.0, chunks()))) == []


def test_a_job_that_did_not_complete_says_why() -> None:
    twin = twin_of(side(None, chunks()), side(1.0, chunks()))
    assert twin.deviation_percent is None
    assert twin.causes[0].text == "the measured job is incomplete of 12 chunks: lost"


def test_the_link_and_the_port_that_differ_are_named() -> None:
    links = [{"from": "leaf0", "from_port": port, "to": f"spine{port}", "bytes": 100} for port in range(2)]
    hashed = [links[0] | {"bytes": 150}, links[1] | {"bytes": 50}]
    ports = [{"node": "leaf0", "port": 0, "peer": "spine0", "dropped_frames": 0, "pfc_rx": None}]
    dropping = [ports[0] | {"dropped_frames": 4, "pfc_rx": 7}]
    twin = twin_of(
        side(1.5, chunks(), links=hashed, ports=dropping), side(1.0, chunks(), links=links, ports=ports)
    )
    assert [cause.text for cause in twin.causes] == [
        "leaf0 port 0 to spine0: 4 frames dropped, 0 predicted",
        "leaf0 port 0 to spine0 carried 1.50 times the predicted bytes",
    ]


def swept(fixed_ms: float, factor: float) -> list[Twin]:
    times = [0.01 * 4**step for step in range(6)]
    return [
        twin_of(side(fixed_ms + factor * time, chunks(), 1 << 20), side(time, chunks())) for time in times
    ]


def counted(host: str, name: str, grown: int) -> dict[str, Any]:
    told = {"host": host, "device": "kernel", "source": "nstat", "vendor_name": f"vendor {name}"}
    return told | {"name": name, "unit": "packets", "meaning": "M.", "before": 7, "after": 7 + grown}


def test_a_counter_of_trouble_is_told_with_the_host_where_it_grew_most() -> None:
    counters = [counted("h0", "udp_receive_drops", 3), counted("h1", "udp_receive_drops", 40)]
    counters += [counted("h2", "rx_packets", 900), counted("h2", "fcs_errors", 0)]
    measured = side(1.5, chunks(1.5), counters=counters)
    causes = [cause for cause in twin_of(measured, side(1.0, chunks())).causes if cause.kind == "device"]
    assert [(cause.where, cause.measured) for cause in causes] == [("h1 kernel udp_receive_drops", 40)]
    assert "vendor udp_receive_drops: M." in causes[0].text
    # Where measured and predicted agree, there is nothing to explain.
    assert not twin_of(side(1.0, chunks(), counters=counters), side(1.0, chunks())).causes


@pytest.mark.parametrize(("error_ms", "is_told"), [(0.2, True), (0.01, False), (None, False)])
def test_a_difference_that_clocks_do_not_resolve_is_told_first(error_ms: float | None, is_told: bool) -> None:
    measured = replace(side(1.1, chunks(1.1)), clock_error_ms=error_ms)
    causes = twin_of(measured, side(1.0, chunks())).causes
    assert ([cause.kind for cause in causes[:1]] == ["clock"]) == is_told


def test_a_constant_difference_is_an_overhead_and_a_proportional_one_a_rate() -> None:
    overhead, found = with_trend(swept(0.02, 1.0))
    assert found is not None
    assert found.fixed_ms == pytest.approx(0.02)
    assert found.rate_percent == pytest.approx(0, abs=1e-6)
    assert {kind for twin in overhead for kind in kinds(twin)} == {("overhead", "")}
    rate, found = with_trend(swept(0.0, 1.07))
    assert found is not None
    assert found.fixed_ms == pytest.approx(0, abs=1e-9)
    assert found.rate_percent == pytest.approx(7)
    assert {kind for twin in rate for kind in kinds(twin)} == {("rate", "")}


def test_of_both_the_one_that_weighs_more_at_a_size_comes_first() -> None:
    twins, _ = with_trend(swept(0.02, 1.07))
    assert kinds(twins[0])[0] == ("overhead", "")
    assert kinds(twins[-1])[0] == ("rate", "")


@given(
    st.floats(0, 1e3),
    st.floats(0.2, 50),
    st.lists(st.floats(1e-3, 1e4), min_size=2, max_size=8, unique_by=lambda x: round(x, 2)),
)
def test_a_line_is_recovered(fixed_ms: float, factor: float, predicted: list[float]) -> None:
    found = trend([(time, fixed_ms + factor * time) for time in predicted])
    assert found is not None
    assert found.residual_percent < 1e-3
    for time in predicted:
        assert found.fitted_ms(time) == pytest.approx(fixed_ms + factor * time, rel=1e-5)


@pytest.mark.parametrize("times", [[], [(1.0, 2.0)], [(1.0, 2.0), (1.0, 3.0)], [(0.0, 1.0), (1.0, 2.0)]])
def test_one_size_has_no_trend(times: list[tuple[float, float]]) -> None:
    assert trend(times) is None


def test_trouble_that_was_predicted_and_did_not_happen_is_why_a_job_is_faster() -> None:
    predicted = chunks(retransmits={(0, 1): 7}, cnp_rx={(2, 3): 4})
    twin = twin_of(side(0.5, chunks()), side(1.0, predicted))
    assert [cause.text for cause in twin.causes] == [
        "0 retransmitted frames, 7 predicted",
        "0 CNPs, 4 predicted",
    ]
    slower = twin_of(side(1.5, chunks()), side(1.0, predicted))
    assert ("counter", "retransmits") not in kinds(slower)


def uplinks(*sent: int) -> dict[str, Any]:
    """Return links of a leaf: one to a host, and one to each spine with so many bytes."""
    ups = [
        {"from": "leaf0", "from_port": 1 + number, "to": f"spine{number}", "tier": 2, "bytes": each}
        for number, each in enumerate(sent)
    ]
    host = {"from": "leaf0", "from_port": 0, "to": "host0", "tier": 1, "bytes": 4_000}
    return {"links": [host, *ups]}


@pytest.mark.parametrize(
    ("sent", "word"),
    [
        ((2_000, 0, 1_000), "certainly queue pairs share an uplink"),
        ((1_000, 0, 2_000), "certainly"),
        ((0, 1_000, 1_000), "possibly share"),
        ((1_050, 1_000, 950), ""),
    ],
)
def test_paths_of_the_kernel_are_a_cause_by_the_bytes_of_uplinks(sent: tuple[int, ...], word: str) -> None:
    predicted = (1_000, 1_000, 1_000) if word != "possibly share" else (1_000, 1_000, 0)
    twin = twin_of(side(1.5, chunks(), **uplinks(*sent)), side(1.0, chunks(), **uplinks(*predicted)))
    told = [cause.text for cause in twin.causes if cause.kind == "path"]
    assert bool(told) == bool(word)
    assert all(word in each and "leaf0" in each for each in told)
