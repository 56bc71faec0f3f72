"""A sound record breaks no law, and a record that is wrong in one place breaks the law about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from tools.swarm.closed_forms import payload_bytes
from tools.swarm.record import Record, Row, run_trial
from tools.swarm.record_laws import registry
from tools.swarm.scenario import examine

from fabricbench.runner import loading
from fabricbench.store.record.schema import schema_of

RING = {
    "fabricbench": 1,
    "name": "ring",
    "fabric": {
        "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2},
        "failures": [{"at": "1us", "kind": "link-down", "link": "leaf0-spine0", "for": "1us"}],
        "convergence_time": "0",
    },
    "transport": {"qp_mode": "per_pair", "timeout": "1ms"},
    "jobs": [
        {"name": "test", "collective": "all-reduce", "algorithm": "ring", "data_size": 65536, "repeat": 2}
    ],
}
MESSAGES = {
    "fabricbench": 1,
    "name": "messages",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 4}},
    "jobs": [
        {
            "name": "test",
            "collective": "uniform-random",
            "data_size": 4096,
            "arrivals": {"rate": "10Gbps", "duration": "50us"},
        }
    ],
}
BLOCKS = {
    "fabricbench": 1,
    "name": "blocks",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 4}},
    "jobs": [
        {
            "name": "test",
            "collective": "storage",
            "storage": {
                "clients": [0, 1],
                "targets": [2, 3],
                "block_size": "8KB",
                "operation": "mixed",
                "depth": 4,
                "operations": 20,
            },
        }
    ],
}
CREDITS = {
    "fabricbench": 1,
    "name": "credits",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 4}, "link_layer": "infiniband"},
    "jobs": [{"name": "test", "collective": "all-to-all", "data_size": 262144}],
}
LOST = {
    "fabricbench": 1,
    "name": "lost",
    "fabric": {
        "topology": {"kind": "single-switch", "hosts": 4},
        "switch": {"buffer": "150KB"},
        "failures": [{"at": "1us", "kind": "link-down", "link": "host0-leaf0", "for": "1us"}],
    },
    "transport": {"recovery": "none", "timeout": "67.108864ms"},
    "jobs": [{"name": "test", "ranks": "0,1", "collective": "send-receive", "data_size": 262144}],
    "tcp": [{"name": "background", "ranks": "2,3", "collective": "permutation", "rate": "1Gbps"}],
}
"""Frames are lost that nobody sends again, while others go on."""
PLAIN = {**RING, "fabric": {"topology": RING["fabric"]["topology"]}}  # type: ignore[index]


def record_of(plan: Mapping[str, Any]) -> Record:
    return run_trial(loading.load_fields(plan).trials[0])


@pytest.fixture(scope="module")
def sound() -> Record:
    return record_of(PLAIN)


@pytest.mark.parametrize(
    "plan", [RING, PLAIN, MESSAGES, BLOCKS, CREDITS, LOST], ids=lambda plan: plan["name"]
)
def test_a_sound_run_breaks_no_law_and_is_the_same_in_every_way(plan: Mapping[str, Any]) -> None:
    assert examine(plan, compares=True).violations == []


def _changed(record: Record, table: str, column: str, change: Callable[[Any], Any], row: int = -1) -> Record:
    """Return a record with one value changed."""
    rows = record.rows(table)
    rows[row][column] = change(rows[row][column])
    return dataclasses.replace(
        record, arrow={**record.arrow, table: pa.Table.from_pylist(rows, schema_of(table))}
    )


def _broken(record: Record) -> set[str]:
    return {violation.rule for violation in registry.violations(record)}


def _plus(value: int) -> Callable[[Any], Any]:
    return lambda before: before + value


@pytest.mark.parametrize(
    ("table", "column", "change", "rule"),
    [
        ("chunks", "delivered_ps", _plus(10**9), "delivered <= completed"),
        ("chunks", "start_ps", _plus(10**9), "posted <= delivered"),
        ("chunks", "completed_ps", _plus(10**9), "completed <= end of its job"),
        ("chunks", "start_ps", lambda _: -1, "posted >= start of its job"),
        ("chunks", "fct_ps", _plus(1), "fct = completed - posted"),
        ("chunks", "rx_frames", _plus(1), "frames received <= frames sent"),
        ("chunks", "rx_bytes", _plus(1), "bytes received <= bytes sent"),
        ("chunks", "frames_delta", _plus(1), "frames_delta = sent - received"),
        ("chunks", "tx_frames", _plus(1), "frames sent = packets + resent"),
        ("chunks", "tx_frames", _plus(1), "without loss what is not resent arrives as often as it is sent"),
        ("chunks", "rx_frames", _plus(-1), "each packet of a complete chunk has arrived"),
        ("chunks", "tx_bytes", _plus(4), "bytes sent = payload + headers"),
        ("chunks", "tx_bytes", _plus(4), "a host sends its chunks and acknowledgements"),
        ("chunks", "retransmits", _plus(1), "nothing is resent without loss, reordering or timeout"),
        ("chunks", "payload_bytes", _plus(8), "payload of a round = closed form of the collective"),
        ("chunks", "latency_min_ps", _plus(10**9), "latency min <= mean <= max"),
        ("chunks", "start_ps", lambda _: 0, "a rank passes a chunk on when it has arrived"),
        (
            "chunks",
            "start_ps",
            lambda _: 0,
            "a rank begins a round when it is done with the one before",
        ),
        ("chunks", "round", _plus(1), "each chunk of a round that began has a row"),
        ("chunks", "src_host", _plus(1), "a rank is on its host"),
        ("chunks", "completed_ps", lambda _: None, "a complete chunk has all its times"),
        ("chunks", "status", lambda _: "failed", "a job is complete if its chunks are"),
        ("chunks", "status", lambda _: "failed", "an event tells of each failed queue pair"),
        ("chunks", "status", lambda _: "lost", "a status is complete, failed or unfinished"),
        ("chunks", "cnp_rx", _plus(1), "CNP received <= sent"),
        ("chunks", "ecn_ce_rx", _plus(1), "CE received <= marked"),
        ("chunks", "udp_source_port", _plus(1), "a queue pair has two ends"),
        ("ports", "tx_frames", _plus(1), "a link carries what its port sends"),
        ("ports", "rx_frames", _plus(1), "a port receives no more than the other end sends"),
        ("ports", "rx_frames", _plus(-1), "what a port sends is received or lost"),
        ("ports", "dropped_frames", _plus(1), "what is lost is counted at a port"),
        ("ports", "pfc_rx", _plus(1), "a port has the sums over its priorities"),
        ("ports", "pfc_rx", _plus(1), "only PFC pauses"),
        ("ports", "ecn_marked", _plus(1), "only ECN marks"),
        ("ports", "queue_max_bytes", _plus(1 << 40), "no queue exceeds the buffer"),
        ("links", "busy_ps", _plus(10**12), "use of a link <= 100 %"),
        ("links", "busy_ps", _plus(10**5), "a link is busy for the bytes that it carries"),
        ("links", "bytes", _plus(1), "a link carries what its port sends"),
        ("links", "rate_bps", lambda _: 1000, "no chunk is faster than the slowest link of its path"),
        ("paths", "peer", lambda _: "host0", "a path takes links of the fabric"),
        ("series", "time_ps", _plus(10**12), "the times of a series grow up to the end"),
        ("series", "value", _plus(1 << 50), "a series does not exceed what is counted in the end"),
    ],
)
def test_a_wrong_value_breaks_the_law_about_it(
    sound: Record, table: str, column: str, change: Callable[[Any], Any], rule: str
) -> None:
    rows = sound.arrow[table].num_rows
    found = (_broken(_changed(sound, table, column, change, row)) for row in (-1, 0, rows // 2))
    assert any(rule in broken for broken in found)


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("frames_sent", _plus(1), "frames sent = delivered + lost + on the way"),
        ("frames_sent", _plus(1), "frames sent are those of the hosts"),
        ("frames_in_flight", _plus(1), "nothing but late duplicates of a complete run is on the way"),
        (
            "frames_lost",
            lambda lost: {**lost, "bit_error": 1},
            "frames are lost only for causes that the plan has",
        ),
        ("status", lambda _: "stalled", "a run is complete if its jobs are"),
    ],
)
def test_a_wrong_summary_breaks_the_law_about_it(
    sound: Record, name: str, change: Callable[[Any], Any], rule: str
) -> None:
    wrong = dataclasses.replace(sound, summary={**sound.summary, name: change(sound.summary[name])})
    assert rule in _broken(wrong)


@pytest.mark.parametrize("recovery", ["none", "go_back_n"])
def test_a_run_that_goes_on_for_nothing_breaks_the_law_about_it(recovery: str) -> None:
    transport = {"recovery": recovery, "timeout": "67.108864ms" if recovery == "none" else "1us"}
    failures = [{"at": "1us", "kind": "link-down", "link": "host0-leaf0", "for": "1ms"}]
    record = record_of({**LOST, "fabric": {**LOST["fabric"], "failures": failures}, "transport": transport})  # type: ignore[dict-item]
    rule = "a run ends soon after nothing can come any more"
    assert not record.is_complete
    assert rule not in _broken(record)
    later = dataclasses.replace(record, summary={**record.summary, "end_ps": 6 * 10**11})
    assert rule in _broken(later)


COUNTED = (
    "retransmits",
    "frames_lost",
    "pfc_rx",
    "ecn_ce_rx",
    "cnp_tx",
    "queue_max_bytes",
    "link_load_max_to_mean",
)
TIMES = (
    "fct_ms_min",
    "fct_ms_p50",
    "fct_ms_p99",
    "fct_ms_max",
    "fct_mean_ms",
    "jain_fairness",
    "latency_us_mean",
)
WHOLE = ("completion_time_ms", "algbw_gb_per_s", "busbw_gb_per_s", "ideal_percent", "jain_fairness")


@pytest.mark.parametrize("name", [*COUNTED, *TIMES, *WHOLE])
def test_a_wrong_figure_is_not_that_of_the_tables(sound: Record, name: str) -> None:
    results: list[Row] = [{**row, name: row[name] * 1.001 + 1} for row in sound.results]
    assert "a figure is that of the tables" in _broken(dataclasses.replace(sound, results=results))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"ideal_percent": 100.1}, "a share of the ideal is at most 100 %"),
        ({"completion_time_ms": 1e-9}, "no completion below the slowest chunk"),
        ({"round_ms_min": 1e9}, "shortest round and mean <= longest"),
        ({"round_ms_max": 1e-9}, "the longest round is no shorter than its chunks"),
        ({"round_ms_min": 1e-9}, "the shortest round is no shorter than its chunks"),
        ({"completion_time_ms": 1e-9}, "rounds together hold what is measured"),
        ({"rank_ms_min": 1e9}, "rank times are in order"),
        ({"reason": "why?"}, "a job says why it is not complete"),
        ({"chunks": 7}, "a job has its chunks"),
    ],
)
def test_a_figure_beyond_its_bounds_is_found(sound: Record, changes: dict[str, Any], rule: str) -> None:
    results = [{**row, **changes} for row in sound.results]
    assert rule in _broken(dataclasses.replace(sound, results=results))


def test_a_plan_that_is_refused_tells_why_and_is_no_violation() -> None:
    outcome = examine({**PLAIN, "transport": {"mtu": 1000}})
    assert not outcome.is_accepted
    assert "transport.mtu" in outcome.refusal
    assert outcome.violations == []


def test_what_is_no_plan_error_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_fields: object) -> None:
        raise KeyError("fabric")

    monkeypatch.setattr(loading, "load_fields", fail)
    rules = [violation.rule for violation in examine(PLAIN).violations]
    assert rules == ["a plan is accepted or refused with an error that says why"]


@pytest.mark.parametrize(
    ("pattern", "ranks", "size", "payload"),
    [
        (("all-reduce", "ring"), 4, 100, 600),
        (("all-reduce", "recursive-doubling"), 6, 10, 120),  # 2 x 4 exchanged, 2 folded in, 2 told
        (("all-to-all", "bruck"), 5, 100, 500),
        (("gather", "tree"), 8, 80, 120),  # 1 + 2 + 1 + 4 + 1 + 2 + 1 shares
        (("gather", "tree"), 5, 50, 50),
        (("incast", "parallel"), 3, 7, 14),
    ],
)
def test_closed_forms_are_those_worked_out_by_hand(
    pattern: tuple[str, str], ranks: int, size: int, payload: int
) -> None:
    assert payload_bytes(*pattern, ranks, size) == payload
