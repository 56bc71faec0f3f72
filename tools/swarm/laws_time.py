"""Laws about the tables of what happens over time: events, series, reordering, TCP connections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from tools.swarm.laws_chunks import first_bad
from tools.swarm.record import Record, Violation

_FAULTS = {"link_down", "link_up", "link_rate", "bit_errors", "frame_loss", "nic_throughput"}
_KINDS = _FAULTS | {
    *("switch_down", "switch_up", "routes_converged", "qp_failed", "stalled", "pfc_deadlock"),
    *("credit_deadlock", "pfc_storm", "pfc_restored", "ecn_raised", "ecn_lowered"),
}
_SERIES = ("metric", "node", "port", "priority", "qp", "job")
_GROWING = ("tx_bytes", "paused_ps", "delivered_bytes", "lost_frames")
"""Series of sums since the start."""


def event_laws(record: Record) -> Iterator[Violation]:
    """Yield events out of time or of no kind, and failed chunks that no event tells of."""
    events = record.rows("events")
    for event in events:
        if event["kind"] not in _KINDS:
            yield Violation("an event is of a kind that is documented", f"events: {event}")
        if event["time_ps"] > record.summary["end_ps"]:
            yield Violation(
                "nothing happens after the end", f"events: {event}; end_ps {record.summary['end_ps']}"
            )
    has_failed = record.chunks.filter(pl.col("status") == "failed").height > 0
    told = any(event["kind"] == "qp_failed" for event in events)
    # Without recovery a chunk fails by what it lost, and its queue pair does not.
    if has_failed and not told and record.spec["transport"]["recovery"] != "none":
        yield Violation(
            "an event tells of each failed queue pair", "chunks: some are failed; events: no qp_failed"
        )


def series_laws(record: Record) -> Iterator[Violation]:
    """Yield series that go back, have too many points, or exceed what was counted in the end."""
    time, value = pl.col("time_ps"), pl.col("value")
    series = (
        record.frame("series")
        .group_by(_SERIES, maintain_order=True)
        .agg(
            points=pl.len(),
            last_ps=time.last(),
            goes_back=(time.diff() <= 0).any(),
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
            pl.col("goes_back") | (pl.col("last_ps") > end_ps),
            ("last_ps",),
        ),
        ("a sum since the start never falls", falls, ("most",)),
    ):
        yield from first_bad(rule, "series", series, bad.fill_null(value=False), (*_SERIES, *columns))
    limits = _limits(record)
    for metric, node, port, job, found in series.select("metric", "node", "port", "job", "most").iter_rows():
        most = limits.get((metric, job) if metric == "delivered_bytes" else (metric, node, port))
        if most is not None and found > most:
            told = f"series: {metric} of {job or f'{node} port {port}'}: {found}; counted in the end: {most}"
            yield Violation("a series does not exceed what is counted in the end", told)


def _limits(record: Record) -> dict[tuple[object, ...], int]:
    """Return what no point of some series may exceed."""
    limits: dict[tuple[object, ...], int] = {}
    for port in record.ports:
        limits["tx_bytes", port["node"], port["port"]] = port["tx_bytes"]
        if port["tier"] > 0 and record.link_layer == "ethernet":
            limits["queue_bytes", port["node"], port["port"]] = port["queue_max_bytes"]
    for job in record.jobs.values():
        if job.is_collective and not job.spec["rendezvous"]:
            limits["delivered_bytes", job.name] = int(job.chunks["payload_bytes"].sum())
    return limits


def reordering_laws(record: Record) -> Iterator[Violation]:
    """Yield classes of distances that are none, and late frames that did not arrive."""
    by_job: dict[str, int] = defaultdict(int)
    for row in record.rows("reordering"):
        least, most = row["distance_min"], row["distance_max"]
        if least & (least - 1) or not least <= most < 2 * least or row["frames"] <= 0:
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
        place = f"connections: {row['tcp']} {row['connection']}"
        offered = row["offered_bytes"]
        if offered is not None and row["delivered_bytes"] > offered:
            found = f"{place}: offered {offered}, delivered {row['delivered_bytes']}"
            yield Violation("TCP delivers no more than is offered", found)
        if row["acked_bytes"] > row["delivered_bytes"]:
            found = f"{place}: delivered {row['delivered_bytes']}, acknowledged {row['acked_bytes']}"
            yield Violation("TCP acknowledges no more than is delivered", found)
        if row["retransmits"] > row["segments"]:
            yield Violation(
                "TCP resends no more than it sends", f"{place}: {row['retransmits']} of {row['segments']}"
            )
        if row["end_ps"] > record.summary["end_ps"] or (row["start_ps"] or 0) > row["end_ps"]:
            yield Violation(
                "a connection ends after its start within the run",
                f"{place}: {row['start_ps']} to {row['end_ps']}",
            )
        yield from _closed_loop(record, row, place)
        times = [row[name] for name in ("rtt_p50_ps", "rtt_p99_ps")]
        if row["rtt_samples"] and (None in times or times[0] > times[1]):
            yield Violation("percentiles of round-trip times are in order", f"{place}: P50 and P99 {times}")


def _closed_loop(record: Record, row: Mapping[str, Any], place: str) -> Iterator[Violation]:
    """Yield what a closed loop of TCP writes breaks: Little's law, and the order of its times.

    Until its application stops, `outstanding_writes` are unacknowledged at every instant, and none after its
    end. Mean times are rounded down to a nanosecond.
    """
    tcp = next(each for each in record.spec["tcp"] if each["name"] == row["tcp"])
    depth = tcp["outstanding_writes"]
    if (depth is None) != (row["writes"] is None):
        yield Violation("writes are counted of closed loops", f"{place}: {row['writes']}, depth {depth}")
    if depth is None or not row["writes"]:
        return
    times = [row[f"write_{name}_ps"] for name in ("p50", "p99", "max")]
    if times != sorted(times) or row["write_mean_ps"] > row["write_max_ps"]:
        yield Violation("percentiles of write times are in order", f"{place}: {times}")
    mss = tcp["mtu_bytes"] - 52
    acknowledged = row["writes"] * -(-tcp["write_bytes"] // mss) * mss
    if acknowledged > row["acked_bytes"]:
        yield Violation("writes end when they are acknowledged", f"{place}: {acknowledged} bytes of writes")
    if not row["is_complete"] or tcp["duration_ps"] is None:
        return
    # Each of the places has a write until the application stops, and none when all is acknowledged.
    sum_ps = row["writes"] * row["write_mean_ps"]
    least = depth * (tcp["start_ps"] + tcp["duration_ps"] - row["start_ps"])
    most = depth * (row["end_ps"] - row["start_ps"])
    rounding = 2_000 * row["writes"]
    if not least - rounding <= sum_ps <= most + rounding:
        found = f"{place}: {sum_ps} ps of writes, {least} to {most} by depth {depth}"
        yield Violation("outstanding writes are throughput times mean latency", found)


LAWS = (event_laws, series_laws, reordering_laws, connection_laws)
