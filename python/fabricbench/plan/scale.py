"""A run at link rates scaled down: every rate divided, what depends on rates kept in proportion.

On a scaled fabric each byte takes `scale` times as long. What is to happen after as many bytes as before,
such as a timer, a timeout or a failure, is moved to as many times later. Sizes in bytes stay, as buffers,
windows and thresholds do: queues hold what they held. Delays of cables, switches, adapters and software
stay as well, as a lab or a host has them whatever its rate; headroom that is not given is computed from the
scaled rate. A run that is bound by bandwidth so takes `scale` times as long, and exactly that where delays
are 0. What is bound by latency does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from fabricbench.plan.errors import Problem

if TYPE_CHECKING:
    from fabricbench.plan._run_spec import RunSpec
    from fabricbench.plan.document.document import Document
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


def scaled(run_spec: RunSpec, scale: int) -> RunSpec:
    """Return a run spec at rates divided by `scale`, rounded to whole bit/s; the same one for 1."""
    return cast("RunSpec", _scaled("", run_spec, scale)) if scale != 1 else run_spec


def _scaled(name: str, value: Any, scale: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _scaled(key, each, scale) for key, each in value.items()}
    if isinstance(value, list):
        return [_scaled(name, each, scale) for each in value]
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if name.endswith("_bps"):
        return (value + scale // 2) // scale
    return value * scale if name.endswith("_ps") and name not in DELAYS else value


def scale_warnings(plan: Plan, document: Document) -> Iterator[Problem]:
    """Yield what is left out of a scaled plan, or hardly holds there, as it is about the rates as written."""
    if plan.scale == 1:
        return
    if plan.published is not None:
        yield document.problem(("published",), f"results at full rate, left out at a scale of {plan.scale}")
    for index in range(len(plan.criteria)):
        found = f"a limit that is applied at a scale of {plan.scale}"
        yield document.problem(
            ("criteria", index), found, hint="times grow with the scale, bandwidths shrink"
        )
