"""Computes results of each TCP entry of a plan: rates, retransmissions, timeouts, RTT, write times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PS_PER_S = 1e12
_PS_PER_US = 1e6
_BITS_PER_BYTE = 8
_BITS_PER_GBIT = 1e9


@dataclass(frozen=True)
class TcpResult:
    """TCP traffic of one entry of a plan.

    Attributes:
        name: Its name.
        congestion: Congestion control.
        priority: Priority of its frames.
        senders: Hosts that sent.
        connections: Connections.
        offered_gbps: Payload that each sending host offered, over the time from its start to its end [Gb/s];
            none if there was always more.
        goodput_gbps: Payload delivered in order for each sending host over that time [Gb/s]; none if it never
            started.
        retransmit_percent: Percentage of segments that were sent again [%]; none without segments.
        retransmits: Segments sent again.
        timeouts: Retransmission timeouts.
        fast_recoveries: Recoveries that began by selective acknowledgements.
        ecn_ce_rx: Segments that arrived marked.
        frames_lost: Frames of its priority that were dropped at a full buffer or by WRED.
        rtt_us_mean: Smoothed round-trip time: mean over all measurements [us]; none without one.
        rtt_us_p50: Median.
        rtt_us_p99: 99th percentile.
        rtt_us_max: Largest.
        writes_per_s: Writes of a closed loop that were acknowledged, over that time [1/s]; none without one.
        write_us_mean: Time from the issue of a write to the acknowledgement of its last byte: mean [us].
        write_us_p50: Median.
        write_us_p99: 99th percentile.
        write_us_max: Largest.
    """

    name: str
    congestion: str
    priority: int
    senders: int
    connections: int
    offered_gbps: float | None
    goodput_gbps: float | None
    retransmit_percent: float | None
    retransmits: int
    timeouts: int
    fast_recoveries: int
    ecn_ce_rx: int
    frames_lost: int
    rtt_us_mean: float | None
    rtt_us_p50: float | None
    rtt_us_p99: float | None
    rtt_us_max: float | None
    writes_per_s: float | None
    write_us_mean: float | None
    write_us_p50: float | None
    write_us_p99: float | None
    write_us_max: float | None


def tcp_results(run_spec: Mapping[str, Any], summary: Mapping[str, Any]) -> list[TcpResult]:
    """Return the results of each TCP traffic of a run, in the order of the spec; empty without any.

    Args:
        run_spec: The RunSpec.
        summary: The backend's RunSummary; `tcp` is read.
    """
    specs = run_spec.get("tcp", ())
    return [_result(spec, outcome) for spec, outcome in zip(specs, summary.get("tcp", ()), strict=False)]


def _result(spec: Mapping[str, Any], outcome: Mapping[str, Any]) -> TcpResult:
    segments, retransmits = outcome["segments"], outcome["retransmits"]
    return TcpResult(
        name=outcome["name"],
        congestion=spec["congestion"],
        priority=spec["priority"],
        senders=outcome["senders"],
        connections=outcome["connections"],
        offered_gbps=_rate(outcome["offered_bytes"], outcome),
        goodput_gbps=_rate(outcome["delivered_bytes"], outcome),
        retransmit_percent=100 * retransmits / segments if segments else None,
        retransmits=retransmits,
        timeouts=outcome["timeouts"],
        fast_recoveries=outcome["fast_recoveries"],
        ecn_ce_rx=outcome["ecn_ce_rx"],
        frames_lost=outcome["dropped_frames"],
        writes_per_s=_writes_per_s(outcome),
        **{
            f"write_us_{name}": _microseconds(outcome.get(f"write_{name}_ps"))
            for name in ("mean", "p50", "p99", "max")
        },
        **{
            f"rtt_us_{name}": _microseconds(outcome[f"rtt_{name}_ps"])
            for name in ("mean", "p50", "p99", "max")
        },
    )


def _rate(size_bytes: int | None, outcome: Mapping[str, Any]) -> float | None:
    """Return the rate of each sending host [Gb/s]."""
    start_ps, senders = outcome["start_ps"], outcome["senders"]
    if size_bytes is None or start_ps is None or not senders:
        return None
    seconds = (outcome["end_ps"] - start_ps) / _PS_PER_S
    return float(size_bytes * _BITS_PER_BYTE / seconds / senders / _BITS_PER_GBIT)


def _writes_per_s(outcome: Mapping[str, Any]) -> float | None:
    writes, start_ps = outcome.get("writes"), outcome["start_ps"]
    if writes is None or start_ps is None:
        return None
    return float(writes * _PS_PER_S / (outcome["end_ps"] - start_ps))


def _microseconds(time_ps: int | None) -> float | None:
    return None if time_ps is None else time_ps / _PS_PER_US
