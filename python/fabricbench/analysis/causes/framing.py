"""Finds causes in a sender's settings: a window too small for the round trip, packets below the MTU."""

from __future__ import annotations

from collections.abc import Iterator

from fabricbench.analysis.causes.evidence import Case, wire_ps
from fabricbench.analysis.causes.finding import Finding, percent, time_words
from fabricbench.analysis.summary.bandwidth import ideal_goodput_gb_per_s
from fabricbench.words import counted

_MATERIAL = 0.1
"""Fraction of the lost time below which these are not reported."""


def small_window(case: Case) -> Iterator[Finding]:
    """Find a window that is sent before the first acknowledgement can arrive.

    The round trip is at least a frame's smallest latency and four times the latency of a NIC; in that time a
    host sends its window on each queue pair of a step. The explained effect is the additional time of the
    data: ideal * (round trip / line time of the windows - 1). It is a lower bound.
    """
    transport, latency_min_ps = case.record.run_spec["transport"], case.chunks.latency_min_ps
    window = transport.get("window_packets")
    if window is None or latency_min_ps is None or not case.is_complete:
        return
    nic_ps = int(case.record.run_spec["fabric"].get("nic", {}).get("latency_ps", 0))
    round_trip_ps = latency_min_ps + 4 * nic_ps
    qps = max(case.chunks.most_at_once.values(), default=1) * int(transport.get("qps_per_rank_pair", 1))
    window_ps = window * qps * frame_ps(case)
    explained = case.explained(case.ideal_ps * (round_trip_ps / window_ps - 1))
    if explained is None or explained < _MATERIAL:
        return
    sentence = (
        f"the window of {counted(window, 'packet')} is sent in {time_words(window_ps)}"
        f"{f' on {qps:,} queue pairs' if qps > 1 else ''}, and the first acknowledgement takes "
        f"{time_words(round_trip_ps)} at least: the port idles in between"
    )
    evidence = {
        "window_packets": window,
        "queue_pairs": qps,
        "window_ps": round(window_ps),
        "round_trip_ps": round_trip_ps,
        "frame_ps": round(frame_ps(case)),
    }
    yield Finding("small-window", case.job["name"], explained, sentence, evidence)


def frame_ps(case: Case) -> float:
    """Return the line time of a full frame on the port of a host."""
    spec = case.record.run_spec
    return float(int(spec["transport"]["mtu_bytes"]) / ideal_goodput_gb_per_s(spec) * 1e3)


def short_packets(case: Case) -> Iterator[Finding]:
    """Find packets shorter than the MTU, if their headers are a large part of the lost time.

    The explained effect is the line time of the headers beyond those of full packets, at the busiest host.
    """
    frames = case.chunks.total("tx_frames") - case.chunks.total("retransmits")
    payload, mtu = case.chunks.total("payload_bytes"), int(case.record.run_spec["transport"]["mtu_bytes"])
    wire = max([*case.chunks.wire_sent.values(), *case.chunks.wire_received.values()], default=0)
    total = sum(case.chunks.wire_sent.values())
    if not frames or not payload or not total:
        return
    rate = case.host_rate_bps
    header_bytes = frame_ps(case) / wire_ps(1, rate) - mtu
    cost_ps = wire_ps(wire * max(0.0, frames - payload / mtu) * header_bytes / total, rate)
    explained = case.explained(cost_ps)
    if explained is None or explained < _MATERIAL:
        return
    message = int(case.record.run_spec["transport"].get("message_bytes", 0))
    sentence = (
        f"packets carry {payload / frames:,.0f} bytes in the mean, {percent(payload / frames / mtu)} of the "
        f"MTU, since messages of {message:,} bytes end so often: their headers take {time_words(cost_ps)}"
    )
    evidence = {"payload_per_packet_bytes": payload / frames, "message_bytes": message, "mtu_bytes": mtu}
    yield Finding("short-packets", case.job["name"], explained, sentence, evidence)
