"""Compares each job next to others with the same job alone: keys that pair the trials, ratios, quartiles."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.record.percentiles import rank_of
from fabricbench.analysis.summary.job_summary import COMPLETE, Summary
from fabricbench.metrics import ALONE_RATIOS, BUS_BANDWIDTH
from fabricbench.plan.sweep.labels import shared_variant, solo_job
from fabricbench.work import collective_of

_ALONE = {"repeat"}
"""Fields of a job that may differ when it runs alone."""


def is_solo(variant: str) -> bool:
    """Return whether the trials of a variant run one of several jobs alone."""
    return solo_job(variant) is not None


def solo_key(iteration: int, run_spec: Mapping[str, Any]) -> str:
    """Return the key of the trial of a job alone: iteration, seed and the job itself."""
    return _key(iteration, run_spec, run_spec["jobs"][0])


def solo_keys(iteration: int, run_spec: Mapping[str, Any]) -> dict[str, str]:
    """Return for each job of a trial the `solo_key` of the trial in which it runs alone."""
    return {job["name"]: _key(iteration, run_spec, job) for job in run_spec["jobs"]}


def is_solo_of(solo: str, variant: str) -> bool:
    """Return whether a variant, by its label, runs one job of another variant alone."""
    return is_solo(solo) and shared_variant(solo) == variant


def surroundings(run_spec: Mapping[str, Any], qps: Collection[int]) -> dict[str, Any]:
    """Return the environment of a job except for other traffic: equal when it runs alone and next to others.

    Args:
        run_spec: The RunSpec of either trial.
        qps: The job's queue pairs there.

    Returns:
        Fabric, transport and observation settings, with only the job's pins, numbered from its first queue
        pair, and without ECN for priorities that only TCP uses.
    """
    fabric: Mapping[str, Any] = run_spec["fabric"]
    of_rdma = set(run_spec["transport"].get("priorities", {}).values())
    of_tcp = {tcp["priority"] for tcp in run_spec.get("tcp", ())} - of_rdma
    balancing = dict(fabric["load_balancing"])
    if "pins" in balancing:
        pins = [{**pin, "qp": pin["qp"] - min(qps)} for pin in balancing["pins"] if pin["qp"] in qps]
        balancing["pins"] = pins
    own = {
        **fabric,
        "load_balancing": balancing,
        "switch": _without_marks(fabric["switch"], of_tcp),
        "switch_settings": [
            _without_marks(settings, of_tcp) for settings in fabric.get("switch_settings", ())
        ],
    }
    return {"fabric": own, "transport": run_spec["transport"], "observe": run_spec.get("observe")}


def _without_marks(switch: Mapping[str, Any], priorities: Collection[int]) -> dict[str, Any]:
    ecn = switch.get("ecn")
    remaining = [priority for priority in ecn["priorities"] if priority not in priorities] if ecn else []
    return {**switch, "ecn": {**ecn, "priorities": remaining} if ecn and remaining else None}


def _key(iteration: int, run_spec: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    same = {name: value for name, value in job.items() if name not in _ALONE}
    if sizes := collective_of(job).get("round_bytes"):
        # Alone, each size runs once; next to others, as often as they last.
        same["work"] = {**job["work"], "round_bytes": sorted(set(sizes))}
    return json.dumps([iteration, run_spec["seed"], same], sort_keys=True)


def kept_percent(with_others: Summary, alone: Summary) -> float | None:
    """Return the bus bandwidth of a job next to others, relative to alone [%]; none unless both completed."""
    next_to_others, by_itself = with_others.value(BUS_BANDWIDTH.name), alone.value(BUS_BANDWIDTH.name)
    return 100 * next_to_others / by_itself if next_to_others and by_itself else None


def alone_ratios(with_others: Summary, alone: Summary) -> dict[str, float | None]:
    """Return each ratio of `fabricbench.metrics.ALONE_RATIOS`: a metric next to others over the same alone.

    None where one of the two did not complete or does not have the metric.
    """
    are_complete = with_others.status == alone.status == COMPLETE
    return {
        name: _ratio(with_others.value(metric.name), alone.value(metric.name)) if are_complete else None
        for name, metric in ALONE_RATIOS.items()
    }


def _ratio(next_to_others: float | None, alone: float | None) -> float | None:
    return next_to_others / alone if next_to_others is not None and alone else None


@dataclass(frozen=True)
class Spread:
    """Distribution of a value over trials: P25 and P75 by nearest rank, and the median."""

    count: int
    least: float
    p25: float
    median: float
    p75: float
    largest: float

    @property
    def quartiles(self) -> tuple[float, float, float, float, float]:
        """Smallest value, P25, median, P75 and largest value."""
        return self.least, self.p25, self.median, self.p75, self.largest


def spread(values: Sequence[float]) -> Spread | None:
    """Return the distribution of some values; none without values."""
    if not values:
        return None
    ranked = sorted(values)
    count = len(ranked)
    p25, p75 = (ranked[rank_of(fraction, count) - 1] for fraction in (0.25, 0.75))
    median = (ranked[(count - 1) // 2] + ranked[count // 2]) / 2
    return Spread(count, ranked[0], p25, median, p75, ranked[-1])
