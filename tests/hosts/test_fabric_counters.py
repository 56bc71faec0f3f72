"""Rows that the counts of a fabric's links make: what was counted while a run lasted, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fabricbench.backend.fabric_counters import OBSERVED, fabric_rows
from fabricbench.store.record.schema import conform


@dataclass(frozen=True)
class Counts:
    """One direction of a link."""

    from_node: str
    from_port: int
    to_node: str
    tx_bytes: int = 0
    tx_packets: int = 0
    drops: int = 0
    marked: int | None = None
    lost: int | None = None
    queue_max_bytes: int | None = None


FABRIC: Any = {
    "nodes": [{"name": "host0", "tier": 0}, {"name": "host1", "tier": 0}, {"name": "leaf0", "tier": 1}],
    "links": [
        {"from": "host1", "from_port": 0, "to": "leaf0", "to_port": 1, "tier": 1, "rate_bps": 8_000_000},
        {"from": "host0", "from_port": 0, "to": "leaf0", "to_port": 0, "tier": 1, "rate_bps": 8_000_000},
    ],
}
IDLE = [Counts("host1", 0, "leaf0"), Counts("leaf0", 0, "host0")]


def tables(before: list[Counts], after: list[Counts]) -> dict[str, list[dict[str, Any]]]:
    made: dict[str, pa.RecordBatch] = dict(fabric_rows(FABRIC, before, after))
    unmeasured = {table: tuple(each["unmeasured"]) for table, each in OBSERVED.items()}
    return {
        table: conform(table, rows, unmeasured.get(table, ())).to_pylist() for table, rows in made.items()
    }


def test_links_and_ports_have_what_was_counted_in_between() -> None:
    before = [
        Counts("host0", 0, "leaf0", tx_bytes=5_000, tx_packets=5, drops=1, lost=2),
        Counts("leaf0", 1, "host1", tx_bytes=100, tx_packets=1, marked=3, queue_max_bytes=700),
    ]
    after = [
        Counts("host0", 0, "leaf0", tx_bytes=105_000, tx_packets=105, drops=4, lost=9),
        Counts("leaf0", 1, "host1", tx_bytes=100, tx_packets=1, marked=13, queue_max_bytes=900),
    ]
    found = tables(before + IDLE, after + IDLE)
    links = {(row["from"], row["from_port"]): row for row in found["links"]}
    assert len(links) == 4
    # 100 frames of 1,000 bytes and FCS; on the wire 1,024 each, 1 us per byte.
    busy = links["host0", 0]
    assert (busy["bytes"], busy["busy_ps"], busy["frames"]) == (100_400, 102_400 * 10**6, None)
    assert (busy["to"], busy["to_port"], busy["rate_bps"]) == ("leaf0", 0, 8_000_000)
    assert all(row["bytes"] == row["busy_ps"] == 0 for end, row in links.items() if end != ("host0", 0))
    ports = {(row["node"], row["port"]): row for row in found["ports"]}
    assert list(ports) == [("host0", 0), ("host1", 0), ("leaf0", 0), ("leaf0", 1)]
    assert (ports["host0", 0]["tx_bytes"], ports["host0", 0]["dropped_frames"]) == (100_400, 3)
    # Lost on the way in: at the port that receives.
    assert {end: row["fcs_error_frames"] for end, row in ports.items() if row["fcs_error_frames"]} == {
        ("leaf0", 0): 7
    }
    assert {end: row["ecn_marked"] for end, row in ports.items() if row["ecn_marked"]} == {("leaf0", 1): 10}
    assert ports["leaf0", 1]["queue_max_bytes"] is None


def test_what_means_something_else_than_in_the_simulator_is_a_counter() -> None:
    before = [Counts("host0", 0, "leaf0"), Counts("leaf0", 1, "host1", queue_max_bytes=700)]
    after = [Counts("host0", 0, "leaf0"), Counts("leaf0", 1, "host1", tx_packets=2, queue_max_bytes=900)]
    rows = tables(before + IDLE, after + IDLE)["counters"]
    assert {row["source"] for row in rows} == {"lab"}
    (queue,) = (row for row in rows if row["name"] == "queue_max_bytes")
    told = [queue[name] for name in ("host", "device", "unit", "before", "after")]
    assert told == ["leaf0", "port1 to host1", "bytes", 700, 900]
    assert sum(row["after"] for row in rows if row["name"] == "tx_packets") == 2
