"""Laws about the end of a run: it does not go on for nothing.

What a run waits for at most is worked out anew, generously, from what the plan allows: timeouts and retries,
or where nothing is sent again, queues that empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from tools.swarm.laws_chunks import complete
from tools.swarm.record import PS_BITS, JobRecord, Record, Violation

_FLAT_PS = 10**11
"""What queues of small buffers and fast links take at most to empty; once more for what nobody counts."""
SWITCHES_MAX = 8
"""On the way of a frame."""
SHARED = 10
"""What is not delivered may have so small a part of the slowest link."""
STEPS_MAX = 64
"""A rank is busy so many times with messages of all others before it is heard of again, at most."""


def end_laws(record: Record) -> Iterator[Violation]:
    """Yield a run that goes on for long after the last that could come."""
    if record.is_complete or not _tells_tcp(record):
        return
    waiting = [job for job in record.jobs.values() if not job.goes_on]
    missing = [job.chunks.filter(~complete()) for job in waiting]
    last_ps, end_ps = _last(record, waiting), record.summary["end_ps"]
    most_ps = _longest_wait(record)
    if record.spec["transport"]["recovery"] == "none":
        most_ps += _FLAT_PS + _sending(record, sum(int(rows["payload_bytes"].sum()) for rows in missing))
    else:
        # Each frame of them may have come after a wait, and each message of a barrier or a handshake.
        frames = sum(int(rows["rx_frames"].sum()) for rows in missing)
        most_ps *= 2 + frames + sum(job.control_messages for job in waiting)
    if end_ps - last_ps > most_ps:
        found = f"summary: end_ps {end_ps}; chunks, connections and events: the last at {last_ps}"
        found += f", at most {most_ps} before the end"
        yield Violation("a run ends soon after nothing can come any more", found)


def _tells_tcp(record: Record) -> bool:
    """Tell whether the tables say when the TCP traffic that a run waits for was over."""
    own = {tcp["name"] for tcp in record.spec["tcp"] if tcp["duration_ps"] is not None}
    return all(row["is_complete"] for row in record.rows("connections") if row["tcp"] in own)


def _last(record: Record, waiting: Sequence[JobRecord]) -> int:
    """Return when the last is known to have happened that the run waited for."""
    times = pl.max_horizontal("start_ps", "delivered_ps", "completed_ps")
    found: list[int | None] = [job.chunks.select(times.max()).item() for job in waiting]
    found += [event["time_ps"] for event in record.rows("events") if event["kind"] == "qp_failed"]
    found += [row["end_ps"] for row in record.rows("connections") if row["is_complete"]]
    return max((each for each in found if each is not None), default=0)


def _longest_wait(record: Record) -> int:
    """Return more than anything takes without being heard of."""
    spec, fabric = record.spec, record.spec["fabric"]
    transport = spec["transport"]
    wait: int = (transport["timeout_ps"] + _slowest_pace(transport)) * (transport["retry_count"] + 2)
    if transport["recovery"] == "none":
        slowest = min(link["rate_bps"] for link in record.links)
        empties = SWITCHES_MAX * fabric["switch"]["buffer"]["size_bytes"] * PS_BITS // slowest
        wait = min(wait, max(_FLAT_PS, empties))
    watchdog = (fabric["switch"]["pfc"] or {}).get("watchdog")
    storm = watchdog["detection_ps"] + watchdog["restoration_ps"] if watchdog else 0
    memory = fabric["shared_memory"]
    # The timer of a connection may end the run though it has nothing to send again.
    timer = max((tcp["rto_min_ps"] for tcp in spec["tcp"]), default=0)
    # It may stand behind one of TCP.
    frame = _sending(record, max([transport["mtu_bytes"], *(tcp["mtu_bytes"] for tcp in spec["tcp"])]))
    return wait + storm + timer + frame + max(_software(job, memory) for job in spec["jobs"])


def _slowest_pace(transport: Mapping[str, Any]) -> int:
    """Return more than a rate control leaves between two packets of a queue pair."""
    control = transport["rate_control"]
    if control["kind"] == "swift":
        round_trip: int = max(control["base_target_ps"], transport["timeout_ps"])
        return -(-(round_trip << 20) // int(control["window_min_2e20"]))
    if control["kind"] == "line-rate":
        return 0
    return 2 * int(transport["mtu_bytes"]) * PS_BITS // int(control["rate_min_bps"])


def _software(job: Mapping[str, Any], memory: Mapping[str, Any]) -> int:
    """Return more than a job takes without anything on the network."""
    each: int = (job["send_overhead_ps"] + job["receive_overhead_ps"]) * len(job["hosts"])
    copy = job["data_bytes"] * PS_BITS // memory["rate_bps"] + memory["latency_ps"]
    busy = STEPS_MAX * (each + job["step_overhead_ps"] + copy) + job["start_ps"]
    if job["arrivals"]:
        busy += job["arrivals"]["duration_ps"]
    if job["storage"]:
        storage = job["storage"]
        rate = storage["service_rate_bps"]
        serving = storage["service_time_ps"] + (job["data_bytes"] * PS_BITS // rate if rate else 0)
        busy += serving * storage["clients"] * storage["depth"]
    return int(busy)


def _sending(record: Record, payload_bytes: int) -> int:
    """Return more than so much payload takes on the slowest link, beside what else there is."""
    fabric = record.spec["fabric"]
    rates = [link["rate_bps"] for link in record.links]
    rates += [failure["rate_bps"] for failure in fabric["failures"] if failure["kind"] == "link-rate"]
    rates += [fabric["nic"]["drain_rate_bps"]] if fabric["nic"]["drain_rate_bps"] else []
    slow = [*fabric["nic"]["impairments"], *(each for each in fabric["failures"] if "throughput_ppm" in each)]
    share_ppm = min((each["throughput_ppm"] for each in slow), default=10**6)
    slowest: int = min(rates) * max(1, share_ppm)
    return SHARED * payload_bytes * PS_BITS * 10**6 // slowest


LAWS = (end_laws,)
