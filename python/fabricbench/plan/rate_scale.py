"""Scales a run spec to lower link rates: divides every rate, and multiplies the times that depend on rates.

On a scaled fabric each byte takes `scale` times as long. Times after which an event is to happen, such as a
timer, a timeout or a failure, are multiplied by `scale`, so that it happens after the same number of bytes.
Sizes in bytes are unchanged: buffers, windows and thresholds, and with them the content of queues. Delays of
cables, switches, adapters and software are unchanged as well, as they do not depend on the rate of a lab or
a host: the pipeline, its part inside the buffer, and the response times of PFC, in which a scaled link sends
less; headroom without a value is computed from the scaled rate and these times. A run that is limited by
bandwidth therefore takes `scale` times as long, exactly so if delays are 0. One limited by latency does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from fabricbench import units
from fabricbench.plan._run_spec import LIMITS, FabricSpec, RunSpec
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.model import Plan

DELAYS: Final = frozenset(
    {
        "delay_ps",
        "latency_ps",
        "message_cost_ps",
        "message_interval_ps",
        "offset_ps",
        "pause_reaction_ps",
        "pause_response_ps",
        "pipeline_latency_ps",
        "pipeline_ps",
        "reaction_ps",
        "response_ps",
        "service_time_ps",
        "step_overhead_ps",
        "send_overhead_ps",
        "receive_overhead_ps",
    }
)
"""Times of a run spec that do not depend on the rate of a link."""
TCP_TIMERS: Final = ("rto_initial", "rto_min", "rto_max")
"""Retransmission timers of TCP in a plan: as limits of a wait they may be cut to the longest allowed time."""
_LIMITED: Final[Mapping[str, int]] = {
    **{f"{name}_ps": LIMITS[f"TcpSpec.{name}_ps"][1] for name in TCP_TIMERS},
    "interval_ps": LIMITS["DynamicEcnSpec.interval_ps"][1],
}
"""Times that are cut to the longest one that the engine allows [ps]."""
_LONGEST_FRAME_BITS: Final = 8 * 65_535
_FRAME_IN_HOPS_MAX: Final = 31_000
"""Largest ratio of the longest frame to the shortest hop in time: the engine's inboxes have 32,768 windows of
one hop (`SLOTS_MAX` of `crates/sim/src/setup/fabric/mod.rs`), less some for the latencies themselves."""
_FRAME_IN_RAISED_HOPS: Final = 16_000


def scaled(run_spec: RunSpec, scale: int) -> RunSpec:
    """Return a run spec at rates divided by `scale`, rounded to whole bit/s; the same one for 1.

    Retransmission timers of TCP and the interval of dynamic ECN are cut to the longest that the engine
    allows. Latencies that are too short for the slowest link are raised to `hop_latency_min_ps`, and with
    them reactions to pause frames, which take at least a latency.
    """
    if scale == 1:
        return run_spec
    scaled_spec = cast("RunSpec", _scaled("", run_spec, scale))
    fabric = scaled_spec["fabric"]
    least_ps = hop_latency_min_ps(fabric)
    if least_ps:
        fabric["nic"]["latency_ps"] = max(fabric["nic"]["latency_ps"], least_ps)
        switch = fabric["switch"]
        switch["pipeline_latency_ps"] = max(switch["pipeline_latency_ps"], least_ps)
        _raise(fabric, "pause_reaction_ps", fabric["nic"]["latency_ps"])
        _raise(fabric, "reaction_ps", switch["pipeline_latency_ps"])
    return scaled_spec


def _raise(value: Any, name: str, least: int) -> None:
    """Raise every number of that name in part of a run spec to the least allowed value."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key == name and isinstance(child, int):
                value[key] = max(child, least)
            else:
                _raise(child, name, least)
    elif isinstance(value, list):
        for child in value:
            _raise(child, name, least)


def hop_latency_min_ps(fabric: FabricSpec) -> int:
    """Return the least latency of adapters and switches with which the engine runs at these link rates.

    It is a 16,000th of the time of the longest frame on the slowest link; 0 if no latency is too short.
    """
    rates = list(_values(fabric["topology"], "rate_bps"))
    longest_ps = _LONGEST_FRAME_BITS * 10**12 // min(rates, default=10**12)
    latency_ps = min(fabric["nic"]["latency_ps"], fabric["switch"]["pipeline_latency_ps"])
    shortest_ps = latency_ps + min(_values(fabric["topology"], "delay_ps"), default=0)
    return longest_ps // _FRAME_IN_RAISED_HOPS if shortest_ps * _FRAME_IN_HOPS_MAX < longest_ps else 0


def _values(value: Any, name: str) -> Iterator[int]:
    """Yield every number of that name in part of a run spec."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from [child] if key == name and isinstance(child, int) else _values(child, name)
    elif isinstance(value, list):
        for child in value:
            yield from _values(child, name)


def _scaled(name: str, value: Any, scale: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _scaled(key, child, scale) for key, child in value.items()}
    if isinstance(value, list):
        return [_scaled(name, child, scale) for child in value]
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if name.endswith("_bps"):
        return (value + scale // 2) // scale
    if not name.endswith("_ps") or name in DELAYS:
        return value
    return min(value * scale, max(value, _LIMITED[name])) if name in _LIMITED else value * scale


def scale_warnings(plan: Plan) -> Iterator[FieldProblem]:
    """Yield the fields that a scaled plan ignores, or that hardly apply, as they are for the full rates."""
    if plan.scale == 1:
        return
    yield from _limited(plan)
    if plan.published is not None:
        yield FieldProblem(("published",), f"results at full rate, left out at a scale of {plan.scale}")
    for index in range(len(plan.criteria)):
        actual = f"a limit that is applied at a scale of {plan.scale}"
        yield FieldProblem(("criteria", index), actual, hint="times grow with the scale, bandwidths shrink")


def _limited_times(plan: Plan) -> Iterator[tuple[FieldPath, str, int]]:
    """Yield the path, the name and the value [ps] of each time of a plan that has a limit when scaled."""
    for index, tcp in enumerate(plan.tcp):
        for name in TCP_TIMERS:
            yield ("tcp", index), name, getattr(tcp, f"{name}_ps")
    for path, sections in plan.fabric.set_ups:
        if sections.ecn is not None and sections.ecn.dynamic is not None:
            yield (*path, "ecn", "dynamic"), "interval", sections.ecn.dynamic.interval_ps


def _limited(plan: Plan) -> Iterator[FieldProblem]:
    """Yield the timers and latencies that limits change to other values than those of the scale."""
    for path, name, time_ps in _limited_times(plan):
        scaled_ps, longest_ps = time_ps * plan.scale, _LIMITED[f"{name}_ps"]
        if scaled_ps > longest_ps:
            actual = f"{units.format_time(scaled_ps)} at a scale of {plan.scale}"
            actual += f", in whose place the longest timer is, {units.format_time(longest_ps)}"
            yield FieldProblem((*path, name), actual)
    fabric = plan.fabric.run_spec(plan.transport.priorities.data, [])
    if least_ps := hop_latency_min_ps(cast("FabricSpec", _scaled("", fabric, plan.scale))):
        actual = f"latencies too short for links at a scale of {plan.scale}; adapters and switches take "
        yield FieldProblem(("fabric",), f"{actual}{units.format_time(least_ps)} at least")
