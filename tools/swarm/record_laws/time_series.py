"""Laws about the tables of events, time series, reordering and TCP connections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from tools.swarm.record import Record, Violation
from tools.swarm.record_laws.chunks import first_bad

_FAULTS = {"link_down", "link_up", "link_rate", "bit_errors", "frame_loss", "nic_throughput"}
_KINDS = _FAULTS | {
    *("switch_down", "switch_up", "routes_converged", "qp_failed", "stalled", "pfc_deadlock"),
    *("credit_deadlock", "pfc_storm", "pfc_restored", "ecn_raised", "ecn_lowered"),
}
_SERIES = ("metric", "node", "port", "priority", "qp", "job")
_GROWING = ("tx_bytes", "paused_ps", "delivered_bytes", "lost_frames")
"""Series of sums since the start."""


def event_laws(record: Record) -> Iterator[Violation]:
    """Yield events after the end or of an unknown kind, and failed chunks without an event."""
    events = record.rows("events")
    for event in events:
        if event["kind"] not in _KINDS:
            yield Violation("an event is of a kind that is documented", f"events: {event}")
        if event["time_ps"] > record.summary["end_ps"]:
            yield Violation(
                "nothing happens after the end", f"events: {event}; end_ps {record.summary['end_ps']}"
            )
    has_failed = record.chunks.filter(pl.col("status") == "failed").height > 0
    has_event = any(event["kind"] == "qp_failed" for event in events)
    # Without recovery a chunk fails by its losses, and its queue pair does not fail.
    if has_failed and not has_event and record.spec["transport"]["recovery"] != "none":
        yield Violation(
            "an event tells of each failed queue pair", "chunks: some are failed; events: no qp_failed"
        )


def series_laws(record: Record) -> Iterator[Violation]:
    """Yield series whose times decrease, with too many points, or with values above the final counter."""
    time, value = pl.col("time_ps"), pl.col("value")
    series = (
        record.frame("series")
        .group_by(_SERIES, maintain_order=True)
        .agg(
            points=pl.len(),
            last_ps=time.last(),
            decreases=(time.diff() <= 0).any(),
            falls=(value.diff() < 0).any(),
            most=value.max(),
        )
    )
    points, end_ps = record.spec["observe"]["series_points"], record.summary["end_ps"]
    falls = pl.col("falls") & pl.col("metric").is_in(_GROWING)
    for rule, bad, columns in (
        ("a series has no more points than the plan allows", pl.col("points") > points, ("points",)),
        (
            "the times of a series grow up to the end",
            pl.col("decreases") | (pl.col("last_ps") > end_ps),
            ("last_ps",),
        ),
        ("a sum since the start never falls", falls, ("most",)),
    ):
        yield from first_bad(rule, "series", series, bad.fill_null(value=False), (*_SERIES, *columns))
    limits = _limits(record)
    for metric, node, port, job, largest in series.select(
        "metric", "node", "port", "job", "most"
    ).iter_rows():
        limit = limits.get((metric, job) if metric == "delivered_bytes" else (metric, node, port))
        if limit is not None and largest > limit:
            figures = (
                f"series: {metric} of {job or f'{node} port {port}'}: {largest}; counted in the end: {limit}"
            )
            yield Violation("a series does not exceed what is counted in the end", figures)


def _limits(record: Record) -> dict[tuple[object, ...], int]:
    """Return the upper limits of some series."""
    limits: dict[tuple[object, ...], int] = {}
    for port in record.ports:
        limits["tx_bytes", port["node"], port["port"]] = port["tx_bytes"]
        if port["tier"] > 0 and record.link_layer == "ethernet":
            limits["queue_bytes", port["node"], port["port"]] = port["queue_max_bytes"]
    for job in record.jobs.values():
        if job.is_collective and not (job.collective["rendezvous"] or job.has_clearances):
            limits["delivered_bytes", job.name] = int(job.chunks["payload_bytes"].sum())
    return limits


def reordering_laws(record: Record) -> Iterator[Violation]:
    """Yield invalid classes of distances, and jobs with more late frames than frames sent."""
    by_job: dict[str, int] = defaultdict(int)
    for row in record.rows("reordering"):
        distance_min, distance_max = row["distance_min"], row["distance_max"]
        if (
            distance_min & (distance_min - 1)
            or not distance_min <= distance_max < 2 * distance_min
            or row["frames"] <= 0
        ):
            yield Violation("distances of late frames are in classes of powers of two", f"reordering: {row}")
        if row["qp"] is None:
            by_job[row["job"]] += row["frames"]
    for name, late in by_job.items():
        job = record.jobs[name]
        arrived = int(job.chunks["rx_frames"].sum())
        # Frames of chunks that were delivered already are in no row of `chunks`, nor are those of barriers
        # and handshakes.
        sent = int(job.chunks["tx_frames"].sum())
        if job.control_messages:
            sent = sum(port["tx_frames"] for port in record.ports if port["tier"] == 0)
        if late > sent:
            yield Violation(
                "no more frames are late than were sent",
                f"reordering of {name}: {late} of {sent}, {arrived} received",
            )


def connection_laws(record: Record) -> Iterator[Violation]:
    """Yield TCP connections that delivered more than was written, or acknowledged more than was delivered."""
    for row in record.rows("connections"):
        connection = f"connections: {row['tcp']} {row['connection']}"
        offered = row["offered_bytes"]
        if offered is not None and row["delivered_bytes"] > offered:
            figures = f"{connection}: offered {offered}, delivered {row['delivered_bytes']}"
            yield Violation("TCP delivers no more than is offered", figures)
        if row["acked_bytes"] > row["delivered_bytes"]:
            figures = f"{connection}: delivered {row['delivered_bytes']}, acknowledged {row['acked_bytes']}"
            yield Violation("TCP acknowledges no more than is delivered", figures)
        if row["retransmits"] > row["segments"]:
            yield Violation(
                "TCP resends no more than it sends",
                f"{connection}: {row['retransmits']} of {row['segments']}",
            )
        if row["end_ps"] > record.summary["end_ps"] or (row["start_ps"] or 0) > row["end_ps"]:
            yield Violation(
                "a connection ends after its start within the run",
                f"{connection}: {row['start_ps']} to {row['end_ps']}",
            )
        yield from _closed_loop(record, row, connection)
        times = [row[name] for name in ("rtt_p50_ps", "rtt_p99_ps")]
        if row["rtt_samples"] and (None in times or times[0] > times[1]):
            yield Violation(
                "percentiles of round-trip times are in order", f"{connection}: P50 and P99 {times}"
            )


def _closed_loop(record: Record, row: Mapping[str, Any], connection: str) -> Iterator[Violation]:
    """Yield violations by a closed loop of TCP writes: of Little's law, and of the order of its times.

    Until its application stops, `outstanding_writes` are unacknowledged at every instant, and none after its
    end. Mean times are rounded down to a nanosecond.
    """
    tcp = next(traffic for traffic in record.spec["tcp"] if traffic["name"] == row["tcp"])
    depth = tcp["outstanding_writes"]
    if (depth is None) != (row["writes"] is None):
        yield Violation("writes are counted of closed loops", f"{connection}: {row['writes']}, depth {depth}")
    if depth is None or not row["writes"]:
        return
    times = [row[f"write_{name}_ps"] for name in ("p50", "p99", "max")]
    if times != sorted(times) or row["write_mean_ps"] > row["write_max_ps"]:
        yield Violation("percentiles of write times are in order", f"{connection}: {times}")
    mss = tcp["mtu_bytes"] - 52
    acknowledged = row["writes"] * -(-tcp["write_bytes"] // mss) * mss
    if acknowledged > row["acked_bytes"]:
        yield Violation(
            "writes end when they are acknowledged", f"{connection}: {acknowledged} bytes of writes"
        )
    if not row["is_complete"] or tcp["duration_ps"] is None:
        return
    # `depth` writes are outstanding until the application stops, and none when all is acknowledged.
    sum_ps = row["writes"] * row["write_mean_ps"]
    least_ps = depth * (tcp["start_ps"] + tcp["duration_ps"] - row["start_ps"])
    most_ps = depth * (row["end_ps"] - row["start_ps"])
    rounding = 2_000 * row["writes"]
    if not least_ps - rounding <= sum_ps <= most_ps + rounding:
        figures = f"{connection}: {sum_ps} ps of writes, {least_ps} to {most_ps} by depth {depth}"
        yield Violation("outstanding writes are throughput times mean latency", figures)


LAWS = (event_laws, series_laws, reordering_laws, connection_laws)
