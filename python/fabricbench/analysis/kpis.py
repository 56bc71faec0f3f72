"""The KPIs of the BMWG drafts on AI training fabrics, from what the record holds.

Formulas, and where they differ from the drafts, are in docs/metrics.md; convergence has a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fabricbench.analysis.bandwidth import line_rate_bps

if TYPE_CHECKING:
    from fabricbench.analysis.chunks import ChunkFacts
    from fabricbench.analysis.fabric import FabricFacts

_PS_PER_US: Final = 1e6
_BITS_PER_GB: Final = 8e9
_PPM: Final = 1e6
_DIGITS: Final = 9
AT_HOSTS: Final = "host_overrun"
"""The one cause of loss that lies behind the boundary of the fabric."""


def of_bandwidth(run_spec: Mapping[str, Any], busbw_gb_per_s: float) -> dict[str, float]:
    """Return bus bandwidth and completion time over what the line rate of a rank's NICs allows.

    Without compute time the roofline is data size times bus factor over the line rate, and its ratio to the
    completion time that of the line rate to the bus bandwidth.

    Args:
        run_spec: The RunSpec; every rank has a port in each plane of its own.
        busbw_gb_per_s: Bus bandwidth, more than 0.
    """
    line_gb_per_s = line_rate_bps(run_spec) / _BITS_PER_GB
    return {
        "jct_ratio": line_gb_per_s / busbw_gb_per_s,
        "busbw_percent": 100 * busbw_gb_per_s / line_gb_per_s,
    }


def of_frames(facts: ChunkFacts, late: Mapping[str, int]) -> dict[str, float]:
    """Return the shares of a job's data frames that came marked and that were sent again.

    Args:
        facts: What its chunks tell.
        late: Frames that came after their chunk had been delivered, which no chunk counts.
    """
    found: dict[str, float] = {}
    received, marked = facts.counters["rx_frames"], facts.counters["ecn_ce_rx"]
    if received is not None and marked is not None and (arrived := received + late.get("frames", 0)):
        found["ecn_marking_percent"] = _percent(marked + late.get("ecn_ce_rx", 0), arrived)
    sent, again = facts.wire.tx_frames, facts.counters["retransmits"]
    if sent and again is not None:
        found["retransmission_percent"] = _percent(again, sent)
    return found


def of_fabric(facts: FabricFacts, summary: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return what all jobs of a run share: balance of uplinks, pauses, losses.

    Args:
        facts: What ports and links tell.
        summary: The backend's RunSummary, of which `frames_lost` and `frames_sent` are read.
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
    return round(_PPM * in_fabric / sent, _DIGITS)


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, _DIGITS)


def _worst(choose: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(choose(known), _DIGITS) if known else None
