"""Runs trials again with one bound lifted at a time, for times only.

The bounds:

- `uplinks` (ECMP collisions, oversubscription): links between switches 8 times as fast;
- `adapter`: links of the adapters twice as fast; if lifting uplinks gains nothing, with these lifted too;
- `pcie`: PCIe between adapters and memory twice as fast; only if it is slower than the links;
- `scale-up`: the scale-up domain twice as fast;
- `latency`: a tenth of that of cables, adapters, switches and the scale-up domain;
- `step cost`: no time of hosts for a message; only in plans that have some.

NCCL's choice stays that of the plan as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabricbench.plan.engine import busiest_link
from fabricbench.plan.expand import PlannedTrial
from fabricbench.runner.unrecorded_trials import UnrecordedTrials
from fabricbench.work import collective_of

_BINDING_GAIN: Final = 0.03
"""Gain by lifted uplinks from which they bind, as a fraction."""


@dataclass(frozen=True)
class Lifted:
    """Times of trials before and after a bound is lifted [us], by data size."""

    before_us: Mapping[int, float]
    after_us: Mapping[int, float]


def times_us_of(runs: UnrecordedTrials, trials: Sequence[PlannedTrial]) -> list[float]:
    """Return the time of each trial: that of its slowest job [us]."""
    return [max(times_us) for times_us in runs.times_us(trials)]


def lifted(
    runs: UnrecordedTrials, trials: Sequence[PlannedTrial], times_us: Mapping[int, float]
) -> dict[str, Lifted]:
    """Return the times of trials before and after each bound is lifted, by its name; see the module's text.

    Args:
        runs: Runs the trials.
        trials: Trials of one case and seed, each of another data size.
        times_us: Their times by data size, in the same order [us].
    """
    sizes = [trial.data_size_bytes for trial in trials]
    uplinks: Sequence[float] = list(times_us.values())
    if _may_use_uplinks(trials[-1]):
        uplinks = times_us_of(runs, [_with(trial, _faster_uplinks) for trial in trials])
    after_uplinks = dict(zip(sizes, uplinks, strict=True))
    results = {"uplinks": Lifted(times_us, after_uplinks)}
    bound = {size for size in sizes if times_us[size] > (1 + _BINDING_GAIN) * after_uplinks[size]}
    bases = [trial if trial.data_size_bytes in bound else _with(trial, _faster_uplinks) for trial in trials]
    before = {size: (times_us if size in bound else after_uplinks)[size] for size in sizes}
    lifts = {"adapter": _faster_adapters, "scale-up": _faster_scale_up, "latency": _shorter_latency}
    if all(_has_slow_bus(trial.run_spec) for trial in trials):
        lifts["pcie"] = _faster_bus
    if any(_has_step_cost(trial.run_spec) for trial in trials):
        lifts["step cost"] = _without_step_cost
    lifted_trials = [_with(base, lift) for lift in lifts.values() for base in bases]
    after = times_us_of(runs, lifted_trials)
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


def _has_slow_bus(spec: Mapping[str, Any]) -> bool:
    return "bus_rate_bps" in (spec["fabric"].get("server") or {})


def _faster_bus(spec: Spec) -> None:
    spec["fabric"]["server"]["bus_rate_bps"] *= 2


def _faster_scale_up(spec: Spec) -> None:
    spec["fabric"]["shared_memory"]["rate_bps"] *= 2
    for job in spec["jobs"]:
        if scale_up := (collective_of(job).get("nccl") or {}).get("scale_up"):
            scale_up["rate_bps"] *= 2


def _shorter_latency(spec: Spec) -> None:
    for part in (spec["fabric"], *(job["work"] for job in spec["jobs"])):
        _divide(part, {"latency_ps", "delay_ps"}, 10)


_STEP_COSTS: Final = {"step_overhead_ps", "send_overhead_ps", "receive_overhead_ps"}


def _without_step_cost(spec: Spec) -> None:
    for job in spec["jobs"]:
        job["work"] |= dict.fromkeys(_STEP_COSTS & job["work"].keys(), 0)


def _has_step_cost(spec: Mapping[str, Any]) -> bool:
    return any(job["work"].get(name) for job in spec["jobs"] for name in _STEP_COSTS)


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
