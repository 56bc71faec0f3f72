"""Runs the trials of an expected curve of a cluster, and again with each bound lifted.

Trials run by the flow model, without a record. Consecutive sizes with one choice of NCCL (algorithm, protocol
and channels) are a segment, in which time is close to linear in the size; long trials are left out, see
`fabricbench.plan.cluster.segments`.

A bound is found by running the same trial, of the first seed, with one bound lifted at a time:

- `uplinks` (ECMP collisions, oversubscription): links between switches 8 times as fast;
- `adapter`: links of the adapters twice as fast; if lifting uplinks gains nothing, with these lifted too;
- `scale-up`: the scale-up domain twice as fast;
- `latency`: a tenth of that of cables, adapters, switches and the scale-up domain;
- `step cost`: no time of hosts for a message; only in plans that have some.

NCCL's choice stays that of the cluster as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fabricbench.plan.cluster import Cluster, Segment, segments as segments_of
from fabricbench.plan.engine import busiest_link
from fabricbench.plan.expand import PlannedTrial
from fabricbench.runner import loading
from fabricbench.runner.unrecorded_trials import UnrecordedTrials
from fabricbench.work import collective_of

_BINDING_GAIN: Final = 0.03
"""Gain by lifted uplinks from which they bind, as a fraction."""


@dataclass(frozen=True)
class Lifted:
    """Times of trials before and after a bound is lifted [us], by data size."""

    before_us: Mapping[int, float]
    after_us: Mapping[int, float]


@dataclass(frozen=True)
class ClusterTimes:
    """Times of a collective.

    Attributes:
        segments: Its data sizes, by NCCL's choice.
        run_spec: The RunSpec of the largest trial.
        by_seed: Times of each seed by data size [us].
        lifted: Times before and after each bound is lifted, of the first seed, by its name.
    """

    segments: Sequence[Segment]
    run_spec: Mapping[str, Any]
    by_seed: Sequence[Mapping[int, float]]
    lifted: Mapping[str, Lifted]


def run_cluster(
    cluster: Cluster,
    collectives: Sequence[str],
    sizes: str,
    seeds: int = 1,
    overrides: Sequence[str] = (),
    *,
    has_bounds: bool = True,
) -> list[ClusterTimes]:
    """Run the trials of some collectives on a cluster that has been checked.

    Args:
        cluster: The cluster.
        collectives: Names of `fabricbench.plan.cluster.COLLECTIVES`, each once.
        sizes: Data sizes, as `fabricbench.plan.nccl.parse_sizes` reads them.
        seeds: Trials of each size, each with its seed.
        overrides: Changes of the plan, each FIELD=VALUE.
        has_bounds: Whether trials also run with each bound lifted.

    Raises:
        PlanError: The cluster or the changes are not allowed.
        RefusedError: The flow model does not cover the plan.
        KeyboardInterrupt: The user stopped it.
    """
    return [
        _run_collective(cluster, collective, sizes, seeds, overrides, has_bounds=has_bounds)
        for collective in collectives
    ]


def _run_collective(
    cluster: Cluster,
    collective: str,
    sizes: str,
    seeds: int,
    overrides: Sequence[str],
    *,
    has_bounds: bool,
) -> ClusterTimes:
    segments = list(segments_of(cluster, collective, sizes))
    computed = [size for segment in segments for size in segment.computed]
    loaded = loading.load_fields(
        cluster.fields(collective, computed, seeds), Path.cwd() / "cluster.yaml", overrides
    )
    runs = UnrecordedTrials(loading.backend_of(loaded))
    by_seed: dict[int, dict[int, float]] = {}
    for trial, time_us in zip(loaded.trials, _times_us(runs, loaded.trials), strict=True):
        by_seed.setdefault(trial.iteration, {})[trial.data_size_bytes] = time_us
    first = [trial for trial in loaded.trials if trial.iteration == 0]
    lifted = _lifted(runs, first, by_seed[0]) if has_bounds else {}
    return ClusterTimes(segments, first[-1].run_spec, list(by_seed.values()), lifted)


def _times_us(runs: UnrecordedTrials, trials: Sequence[PlannedTrial]) -> list[float]:
    return [time_us for (time_us,) in runs.times_us(trials)]


def _lifted(
    runs: UnrecordedTrials, trials: Sequence[PlannedTrial], times_us: Mapping[int, float]
) -> dict[str, Lifted]:
    """Return the times of trials before and after each bound is lifted; see the module's text."""
    sizes = [trial.data_size_bytes for trial in trials]
    uplinks: Sequence[float] = list(times_us.values())
    if _may_use_uplinks(trials[-1]):
        uplinks = _times_us(runs, [_with(trial, _faster_uplinks) for trial in trials])
    after_uplinks = dict(zip(sizes, uplinks, strict=True))
    results = {"uplinks": Lifted(times_us, after_uplinks)}
    bound = {size for size in sizes if times_us[size] > (1 + _BINDING_GAIN) * after_uplinks[size]}
    bases = [trial if trial.data_size_bytes in bound else _with(trial, _faster_uplinks) for trial in trials]
    before = {size: (times_us if size in bound else after_uplinks)[size] for size in sizes}
    lifts = {"adapter": _faster_adapters, "scale-up": _faster_scale_up, "latency": _shorter_latency}
    if any(_has_step_cost(trial.run_spec) for trial in trials):
        lifts["step cost"] = _without_step_cost
    lifted_trials = [_with(base, lift) for lift in lifts.values() for base in bases]
    after = _times_us(runs, lifted_trials)
    for number, name in enumerate(lifts):
        own = after[number * len(sizes) : (number + 1) * len(sizes)]
        results[name] = Lifted(before, dict(zip(sizes, own, strict=True)))
    return results


Spec = dict[str, Any]


def _may_use_uplinks(trial: PlannedTrial) -> bool:
    """Whether data may cross between switches: by hash none do if no link has queue pairs."""
    is_hashed = trial.run_spec["fabric"]["load_balancing"]["kind"] == "ecmp"
    return not is_hashed or busiest_link(trial.spec_json) is not None


def _with(trial: PlannedTrial, lift: Callable[[Spec], None]) -> PlannedTrial:
    """Return a trial with a bound lifted in its run spec."""
    spec = json.loads(trial.spec_json)
    lift(spec)
    return replace(trial, run_spec=spec)


def _faster_uplinks(spec: Spec) -> None:
    topology = spec["fabric"]["topology"]
    for name in ("fabric_link", "core_link"):
        if topology.get(name):
            topology[name]["rate_bps"] *= 8


def _faster_adapters(spec: Spec) -> None:
    spec["fabric"]["topology"]["host_link"]["rate_bps"] *= 2


def _faster_scale_up(spec: Spec) -> None:
    spec["fabric"]["shared_memory"]["rate_bps"] *= 2
    if scale_up := collective_of(spec["jobs"][0]).get("nccl", {}).get("scale_up"):
        scale_up["rate_bps"] *= 2


def _shorter_latency(spec: Spec) -> None:
    for part in (spec["fabric"], spec["jobs"][0]["work"]):
        _divide(part, {"latency_ps", "delay_ps"}, 10)


_STEP_COSTS: Final = {"step_overhead_ps", "send_overhead_ps", "receive_overhead_ps"}


def _without_step_cost(spec: Spec) -> None:
    spec["jobs"][0]["work"] |= dict.fromkeys(_STEP_COSTS, 0)


def _has_step_cost(spec: Mapping[str, Any]) -> bool:
    return any(spec["jobs"][0]["work"].get(name) for name in _STEP_COSTS)


def _divide(node: Any, names: set[str], divisor: int) -> None:
    """Divide the values of fields in a part of a run spec, at any depth."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in names and isinstance(value, int):
                node[name] = value // divisor
            else:
                _divide(value, names, divisor)
    elif isinstance(node, list):
        for value in node:
            _divide(value, names, divisor)
