"""Classifies the jobs of a run spec by kind of traffic, which predicts the error of the flow model.

The error of the flow model is measured for each kind (`tools/flow_error.py`) and stated in every result, and
`--backend auto` chooses by it. The first of `KINDS` that applies is the kind of a job: first the effects that
the model does not cover, then the traffic patterns that it covers well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabricbench.metrics import JobKind
from fabricbench.plan import engine
from fabricbench.plan._run_spec import JobSpec, RunSpec
from fabricbench.work import job_kind, pattern_of

OPEN_LOOP: Final = "open loop"
SHORT: Final = "short transfers"
BY_GRADIENT: Final = "TIMELY"
BY_DELAY: Final = "Swift"
BY_MARKS: Final = "DCQCN"
WINDOW: Final = "small windows"
SPRAYED: Final = "packet spraying"
ALL_TO_ALL: Final = "all-to-all"
CROWDED: Final = "oversubscribed all-to-all"
ROOTED: Final = "one root"
STEPS: Final = "steps"

KINDS: Final[Mapping[str, str]] = {
    OPEN_LOOP: "messages at drawn times, whatever becomes of those before",
    SHORT: "fewer than 64 packets in the mean transfer, so that single frames count",
    BY_GRADIENT: "rates that follow the change of the round-trip time, which needs queues",
    BY_DELAY: "windows that follow the round-trip time, which needs queues",
    BY_MARKS: "rates that follow ECN marks",
    WINDOW: "a window that a host sends in less than the idle round trip of the longest path",
    SPRAYED: "packets of one queue pair on several paths",
    CROWDED: "all-to-all where a tier of the fabric has less capacity up than down; measured up to 8:1",
    ALL_TO_ALL: "every rank sends to all others at once, and no tier is oversubscribed",
    ROOTED: "all send to one rank or one to all: incast, gather, scatter, broadcast",
    STEPS: "each rank sends to one other at a time: rings, trees, halving, exchanges, permutations",
}
"""Every kind, with its description."""

SHORT_PACKETS: Final = 64
"""A transfer of fewer packets is short: a single frame, which the model does not count, is over 1 % of it."""

_CONTROLLED: Final = {"timely": BY_GRADIENT, "swift": BY_DELAY, "dcqcn": BY_MARKS}
_SPRAYS: Final = ("spray-random", "spray-round-robin", "adaptive")
_ROOTED: Final = ("incast", "gather", "scatter", "broadcast")
_LINKS_MAX: Final = 6
"""Links of the longest path of every topology of up to three tiers."""
_FRAME_OVERHEAD_BYTES: Final = 82
"""Ethernet, IP, UDP, BTH, ICRC and FCS with preamble and gap; see `docs/model.md`."""
_PS_PER_S: Final = 10**12


def kinds_of(spec: RunSpec) -> list[str]:
    """Return the kind of each job of a run spec that has been checked, in the order of the jobs."""
    spec_json = json.dumps(spec)
    return [_kind(spec, spec_json, job) for job in spec["jobs"]]


def _kind(spec: RunSpec, spec_json: str, job: JobSpec) -> str:
    if job_kind(job) is JobKind.OPEN_LOOP:
        return OPEN_LOOP
    if _is_short(spec, spec_json):
        return SHORT
    control = spec["transport"]["rate_control"]["kind"]
    if control != "line-rate":
        # One without a kind is its own, of which nothing is measured, so that its error counts as unknown.
        return _CONTROLLED.get(control, control)
    if is_windowed(spec):
        return WINDOW
    if spec["fabric"]["load_balancing"]["kind"] in _SPRAYS:
        return SPRAYED
    pattern_kind = pattern(job)
    return CROWDED if pattern_kind == ALL_TO_ALL and engine.is_oversubscribed(spec_json) else pattern_kind


def pattern(job: JobSpec) -> str:
    """Return the traffic pattern of a job: `ALL_TO_ALL`, `ROOTED` or `STEPS`."""
    shown = pattern_of(job)
    if shown["algorithm"] != "parallel":
        return STEPS
    if shown["collective"] == "all-to-all":
        return ALL_TO_ALL
    return ROOTED if shown["collective"] in _ROOTED else STEPS


def _is_short(spec: RunSpec, spec_json: str) -> bool:
    """Whether the mean transfer of all jobs is short."""
    estimate = engine.estimate(spec_json, engine.FLOW)
    if estimate is None or not estimate["chunks"]:
        return True
    transport = spec["transport"]
    packet_bytes = min(transport["mtu_bytes"], transport["message_bytes"])
    return estimate["payload_bytes"] < SHORT_PACKETS * packet_bytes * estimate["chunks"]


def is_windowed(spec: RunSpec) -> bool:
    """Whether the window of a queue pair may limit it on the longest path of an idle fabric."""
    transport, links = spec["transport"], list(_links(spec["fabric"]["topology"]))
    fastest = max(link["rate_bps"] for link in links)
    window_bits = 8 * transport["window_packets"] * transport["mtu_bytes"]
    return bool(window_bits * _PS_PER_S < _round_trip_ps(spec, links) * fastest)


def _round_trip_ps(spec: RunSpec, links: list[Mapping[str, Any]]) -> int:
    """Return the longest round trip of a full frame and its acknowledgement through an idle fabric [ps]."""
    fabric = spec["fabric"]
    frame_bits = 8 * (spec["transport"]["mtu_bytes"] + _FRAME_OVERHEAD_BYTES)
    link_ps = max(link["cable"]["delay_ps"] + frame_bits * _PS_PER_S // link["rate_bps"] for link in links)
    link_ps += max((delay_line["delay_ps"] for delay_line in fabric["extra_delays"]), default=0)
    hop_ps: int = link_ps + fabric["switch"]["pipeline_latency_ps"]
    return 4 * fabric["nic"]["latency_ps"] + 2 * _LINKS_MAX * hop_ps


def _links(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every link that a topology names."""
    if isinstance(part, Mapping):
        if "cable" in part:
            yield part
        else:
            for child in part.values():
                yield from _links(child)
    elif isinstance(part, list):
        for child in part:
            yield from _links(child)
