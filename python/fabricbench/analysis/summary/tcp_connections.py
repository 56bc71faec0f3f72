"""Computes results of single TCP connections: goodput, retransmissions, longest time without delivery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.record.tables import Tables

_COLUMNS = (
    *("tcp", "connection", "src_host", "dst_host", "start_ps", "end_ps", "delivered_bytes"),
    *("retransmits", "timeouts", "rtt_p99_ps"),
)
SAMPLED = "tcp_delivered_bytes"
"""Metric of table `series`: sampled payload that a connection has delivered."""
_GBPS_PER_BYTE_PER_PS = 8e3
_PS_PER_US = 1e6


@dataclass(frozen=True)
class ConnectionResult:
    """A TCP connection of a run.

    Attributes:
        tcp: Name of its traffic.
        connection: Its number in the run.
        src_host: Sending host.
        dst_host: Receiving host.
        goodput_gbps: Payload delivered in order from its start to its end [Gb/s]; none if it never started.
        idle_us: Longest time between samples over which it delivered nothing, from its first byte to its end
            [us]; none if it was not sampled. A connection with a rate has such times between two writes.
        retransmits: Segments sent again.
        timeouts: Retransmission timeouts.
        rtt_us_p99: 99th percentile of the smoothed round-trip time [us]; none without a measurement.
    """

    tcp: str
    connection: int
    src_host: int
    dst_host: int
    goodput_gbps: float | None
    idle_us: float | None
    retransmits: int
    timeouts: int
    rtt_us_p99: float | None


def connection_results(tables: Tables) -> list[ConnectionResult]:
    """Return the TCP connections of a run, sorted by timeouts, then by idle time, most first.

    Args:
        tables: Tables of the record; `connections` and `series` are read.
    """
    rows = [row for batch in tables.batches("connections", _COLUMNS) for row in batch.to_pylist()]
    idle = _idle_times(_samples(tables), {row["connection"]: row["end_ps"] for row in rows})
    results = [_result(row, idle.get(row["connection"])) for row in rows]
    return sorted(results, key=lambda result: (-result.timeouts, -(result.idle_us or 0.0), result.connection))


def _result(row: Mapping[str, Any], idle_ps: int | None) -> ConnectionResult:
    span_ps = row["end_ps"] - row["start_ps"] if row["start_ps"] is not None else 0
    return ConnectionResult(
        tcp=row["tcp"],
        connection=row["connection"],
        src_host=row["src_host"],
        dst_host=row["dst_host"],
        goodput_gbps=row["delivered_bytes"] * _GBPS_PER_BYTE_PER_PS / span_ps if span_ps > 0 else None,
        idle_us=idle_ps / _PS_PER_US if idle_ps is not None else None,
        retransmits=row["retransmits"],
        timeouts=row["timeouts"],
        rtt_us_p99=row["rtt_p99_ps"] / _PS_PER_US if row["rtt_p99_ps"] is not None else None,
    )


def _samples(tables: Tables) -> Iterator[tuple[int, int, int]]:
    """Yield connection, time and bytes of each sample; the samples of a connection are in order of time."""
    import pyarrow.compute as pc

    for batch in tables.batches("series", ("metric", "qp", "time_ps", "value")):
        own = batch.filter(pc.equal(batch.column("metric"), SAMPLED))
        yield from zip(*(own.column(name).to_pylist() for name in ("qp", "time_ps", "value")), strict=True)


def _idle_times(samples: Iterable[tuple[int, int, int]], ends_ps: Mapping[int, int]) -> dict[int, int]:
    """Return the longest time between equal samples of each connection, from first byte to end [ps]."""
    longest: dict[int, int] = {}
    since: dict[int, tuple[int, int]] = {}
    for connection, time_ps, delivered in samples:
        if time_ps > ends_ps[connection]:
            continue
        begin_ps, value = since.get(connection, (time_ps, delivered))
        if delivered != value or not delivered:
            since[connection] = time_ps, delivered
        else:
            since.setdefault(connection, (time_ps, delivered))
            longest[connection] = max(longest.get(connection, 0), time_ps - begin_ps)
        longest.setdefault(connection, 0)
    return longest
