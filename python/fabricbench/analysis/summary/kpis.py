"""Computes the KPIs of the IETF BMWG drafts on AI training fabrics from sums over a record.

Formulas, and their differences from the drafts, are in docs/metrics.md; convergence has its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fabricbench.analysis.record.chunk_facts import ChunkFacts
    from fabricbench.analysis.summary.fabric_facts import FabricFacts

_PS_PER_US: Final = 1e6
_BITS_PER_GB: Final = 8e9
_PPM: Final = 1e6
_DIGITS: Final = 9
AT_HOSTS: Final = "host_overrun"
"""The only cause of loss beyond the boundary of the fabric."""


def of_bandwidth(line_bps: float, busbw_gb_per_s: float, computing: float = 0.0) -> dict[str, float]:
    """Return bus bandwidth and completion time relative to the line rate of a rank's NICs.

    The roofline of a round is its compute time plus, in sequence, data size * bus factor / line rate. The
    second term is the rest of the measured round, scaled by the utilisation of the line rate.

    Args:
        line_bps: Highest bus bandwidth, with ports that transport only payload [bit/s].
        busbw_gb_per_s: Bus bandwidth, more than 0.
        computing: Fraction of a round in which ranks compute, below 1.
    """
    utilisation = busbw_gb_per_s * _BITS_PER_GB / line_bps
    return {"jct_ratio": 1 / (computing + (1 - computing) * utilisation), "busbw_percent": 100 * utilisation}


def of_frames(facts: ChunkFacts, late: Mapping[str, int]) -> dict[str, float]:
    """Return the percentages of a job's data frames that arrived marked and that were retransmissions.

    Args:
        facts: Facts from its chunks.
        late: Frames that arrived after their chunk had been delivered, which no chunk counts.
    """
    percentages: dict[str, float] = {}
    received, marked = facts.counters["rx_frames"], facts.counters["ecn_ce_rx"]
    if received is not None and marked is not None and (arrived := received + late.get("frames", 0)):
        percentages["ecn_marking_percent"] = _percent(marked + late.get("ecn_ce_rx", 0), arrived)
    sent, resent = facts.wire.tx_frames, facts.counters["retransmits"]
    if sent and resent is not None:
        percentages["retransmission_percent"] = _percent(resent, sent)
    return percentages


def of_fabric(facts: FabricFacts, summary: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return the KPIs that all jobs of a run have in common: balance of uplinks, pauses, losses.

    Args:
        facts: Facts from ports and links.
        summary: The backend's RunSummary; `frames_lost` and `frames_sent` are read.
    """
    groups = facts.distributions
    return {
        "ecmp_mmr": _worst(max, (group.qps_max_to_mean for group in groups)),
        "ecmp_jain": _worst(min, (group.qps_fairness for group in groups)),
        "link_tx_mmr": _worst(max, (group.bytes_max_to_mean for group in groups)),
        "link_tx_jain": _worst(min, (group.bytes_fairness for group in groups)),
        "pfc_pause_count": facts.pauses,
        "pfc_pause_us": None if facts.paused_ps is None else facts.paused_ps / _PS_PER_US,
        "drop_ppm": _drop_ppm(summary),
    }


def _drop_ppm(summary: Mapping[str, Any]) -> float | None:
    lost, sent = summary.get("frames_lost"), summary.get("frames_sent")
    if lost is None or not sent:
        return None
    in_fabric = sum(frames for cause, frames in lost.items() if cause != AT_HOSTS)
    return round(_PPM * float(in_fabric) / float(sent), _DIGITS)


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, _DIGITS)


def _worst(choose: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return round(choose(measured), _DIGITS) if measured else None
