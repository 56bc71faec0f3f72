"""Laws about the end of a run: it ends soon after its last event.

The longest wait of a run is estimated independently, as a generous upper limit from the plan: timeouts and
retries, or, without retransmission, the time until queues are empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from tools.swarm.record import PS_BITS, JobRecord, Record, Violation
from tools.swarm.record_laws.chunks import complete

from fabricbench.metrics import JobKind
from fabricbench.work import job_kind, pattern_of

_EMPTYING_PS = 10**11
"""Longest time to empty queues of small buffers and fast links; also a reserve for other delays [ps]."""
SWITCHES_MAX = 8
"""Largest number of switches on a path."""
SHARED = 10
"""Undelivered data have at least 1 / SHARED of the slowest link."""
STEPS_MAX = 64
"""Largest number of times that a rank processes messages of all others without sending or receiving."""


def end_laws(record: Record) -> Iterator[Violation]:
    """Yield a run that ends long after its last possible event."""
    if record.is_complete or not _has_tcp_ends(record):
        return
    finite_jobs = [job for job in record.jobs.values() if not job.is_open_ended]
    unfinished_chunks = [job.chunks.filter(~complete()) for job in finite_jobs]
    last_ps, end_ps = _last_event_ps(record, finite_jobs), record.summary["end_ps"]
    most_ps = _longest_wait(record)
    if record.spec["transport"]["recovery"] == "none":
        most_ps += _EMPTYING_PS + _sending_ps_max(
            record, sum(int(rows["payload_bytes"].sum()) for rows in unfinished_chunks)
        )
    else:
        # Each frame of these chunks may have arrived after a wait, as may each message of a barrier or
        # handshake.
        frames = sum(int(rows["rx_frames"].sum()) for rows in unfinished_chunks)
        most_ps *= 2 + frames + sum(job.control_messages for job in finite_jobs)
    if end_ps - last_ps > most_ps:
        figures = f"summary: end_ps {end_ps}; chunks, connections and events: the last at {last_ps}"
        figures += f", at most {most_ps} before the end"
        yield Violation("a run ends soon after nothing can come any more", figures)


def _has_tcp_ends(record: Record) -> bool:
    """Return whether the tables have the end of all TCP traffic that the run waits for."""
    finite_tcp = {tcp["name"] for tcp in record.spec["tcp"] if tcp["duration_ps"] is not None}
    return all(row["is_complete"] for row in record.rows("connections") if row["tcp"] in finite_tcp)


def _last_event_ps(record: Record, finite_jobs: Sequence[JobRecord]) -> int:
    """Return the time of the last recorded event that the run waited for [ps]."""
    times = pl.max_horizontal("start_ps", "delivered_ps", "completed_ps")
    times_ps: list[int | None] = [job.chunks.select(times.max()).item() for job in finite_jobs]
    times_ps += [event["time_ps"] for event in record.rows("events") if event["kind"] == "qp_failed"]
    times_ps += [row["end_ps"] for row in record.rows("connections") if row["is_complete"]]
    return max((time_ps for time_ps in times_ps if time_ps is not None), default=0)


def _longest_wait(record: Record) -> int:
    """Return an upper limit of the time between two recorded events [ps]."""
    spec, fabric = record.spec, record.spec["fabric"]
    transport = spec["transport"]
    wait: int = (transport["timeout_ps"] + _slowest_pace(transport)) * (transport["retry_count"] + 2)
    if transport["recovery"] == "none":
        slowest = min(link["rate_bps"] for link in record.links)
        emptying_ps = SWITCHES_MAX * fabric["switch"]["buffer"]["size_bytes"] * PS_BITS // slowest
        wait = min(wait, max(_EMPTYING_PS, emptying_ps))
    watchdog = (fabric["switch"]["pfc"] or {}).get("watchdog")
    storm = watchdog["detection_ps"] + watchdog["restoration_ps"] if watchdog else 0
    # The timer of a connection may end the run although there is nothing to send again.
    timer = max((tcp["rto_min_ps"] for tcp in spec["tcp"]), default=0)
    # A frame may be queued behind one of TCP.
    frame = _sending_ps_max(record, max([transport["mtu_bytes"], *(tcp["mtu_bytes"] for tcp in spec["tcp"])]))
    return wait + storm + timer + frame + max(_software_ps_max(job, fabric) for job in spec["jobs"])


def _slowest_pace(transport: Mapping[str, Any]) -> int:
    """Return an upper limit of the gap that rate control leaves between two packets of a queue pair [ps]."""
    control = transport["rate_control"]
    if control["kind"] == "swift":
        round_trip: int = max(control["base_target_ps"], transport["timeout_ps"])
        return -(-(round_trip << 20) // int(control["window_min_2e20"]))
    if control["kind"] == "line-rate":
        return 0
    rate_bps = control["rate_bps"] if control["kind"] == "fixed" else control["rate_min_bps"]
    return 2 * int(transport["mtu_bytes"]) * PS_BITS // int(rate_bps)


def _software_ps_max(job: Mapping[str, Any], fabric: Mapping[str, Any]) -> int:
    """Return an upper limit of the time of a job without network traffic [ps]."""
    nccl = job["work"].get("nccl") or {}
    memory = nccl["scale_up"] if nccl.get("kind") in ("peers", "one-server") else fabric["shared_memory"]
    work, data_bytes = job["work"], pattern_of(job)["data_bytes"]
    step_ps = data_bytes * PS_BITS // memory["rate_bps"] + memory["latency_ps"]
    other_ps = 0
    match job_kind(job):
        case JobKind.COLLECTIVE:
            step_ps += (work["send_overhead_ps"] + work["receive_overhead_ps"]) * len(job["hosts"])
            step_ps += work["step_overhead_ps"]
        case JobKind.OPEN_LOOP:
            other_ps = work["duration_ps"]
        case JobKind.STORAGE:
            rate = work["service_rate_bps"]
            service_ps = work["service_time_ps"] + (data_bytes * PS_BITS // rate if rate else 0)
            other_ps = service_ps * work["clients"] * work["depth"]
    return int(STEPS_MAX * step_ps + job["start_ps"] + other_ps)


def _sending_ps_max(record: Record, payload_bytes: int) -> int:
    """Return an upper limit of the time to send payload over the slowest link, next to other traffic [ps]."""
    fabric = record.spec["fabric"]
    rates = [link["rate_bps"] for link in record.links]
    rates += [failure["rate_bps"] for failure in fabric["failures"] if failure["kind"] == "link-rate"]
    rates += [fabric["nic"]["drain_rate_bps"]] if fabric["nic"]["drain_rate_bps"] else []
    slowdowns = [
        *fabric["nic"]["impairments"],
        *(slowdown for slowdown in fabric["failures"] if "throughput_ppm" in slowdown),
    ]
    throughput_ppm = min((slowdown["throughput_ppm"] for slowdown in slowdowns), default=10**6)
    slowest: int = min(rates) * max(1, throughput_ppm)
    return SHARED * payload_bytes * PS_BITS * 10**6 // slowest


LAWS = (end_laws,)
