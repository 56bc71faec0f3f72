"""What a plan is estimated to cost, and whether this machine can give it.

The engine estimates (`crates/sim/src/estimate` says how, from what, and how well): memory of the whole
program, and the time of one core that simulates every packet. Fast-forward and threads may make it much less.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import Problem

if TYPE_CHECKING:
    from fabricbench.plan.engine import Estimate
    from fabricbench.plan.expand import PlannedTrial
    from fabricbench.plan.model import Plan

ROUTES_MAX: Final = 1 << 26
"""Most routes of a fabric that is checked unasked: of 8,192 leaves. More take the engine minutes to find."""
_FORCE: Final = "`--force` runs it nonetheless"


@dataclass(frozen=True)
class Limits:
    """What a trial may take at most.

    Attributes:
        memory_bytes: Memory; none where the machine does not tell.
        time_ms: Time; none for any.
    """

    memory_bytes: int | None
    time_ms: int | None


def problems_beyond(
    estimated: Iterable[tuple["PlannedTrial", "Estimate | None"]],
    limits: Limits,
    document: Document,
    count: int,
) -> Iterator[Problem]:
    """Yield a problem for the first trial that needs too much memory, and the first that takes too long.

    Args:
        estimated: Some trials of a plan, each with what it is estimated to cost.
        limits: What it may cost.
        document: The plan, for the places of its fields.
        count: How many trials the plan has.
    """
    named = [(_name(trial, count), estimate) for trial, estimate in estimated if estimate is not None]
    for name, estimate in named:
        if limits.memory_bytes is not None and estimate["memory_bytes"] > limits.memory_bytes:
            yield memory_problem(name, estimate, limits.memory_bytes, document)
            break
    for name, estimate in named:
        if limits.time_ms is not None and estimate["time_ms"] > limits.time_ms:
            yield _time_problem(name, estimate, limits.time_ms, document)
            break


def memory_problem(name: str, estimate: "Estimate", allowed_bytes: int, document: Document) -> Problem:
    """Say that a trial needs too much memory."""
    needed = units.human_size(estimate["memory_bytes"])
    found = f"{name}, which needs about {needed} of memory ({_basis(estimate)})"
    allowed = f"{units.human_size(allowed_bytes)}, which is what this machine has left"
    return document.problem(("jobs",), found, allowed, f"fewer ranks or hosts need less; {_FORCE}")


def routes_problem(plan: "Plan", document: Document) -> Problem | None:
    """Say that a fabric has too many routes for what only the engine knows to be looked at; none if not."""
    routes = plan.fabric.topology.route_count
    if routes <= ROUTES_MAX:
        return None
    found, allowed = f"a fabric of {routes:,} routes between switches", f"{ROUTES_MAX:,}"
    return document.problem(("fabric", "topology"), found, allowed, f"more hosts on fewer leaves; {_FORCE}")


def _time_problem(name: str, estimate: "Estimate", allowed_ms: int, document: Document) -> Problem:
    hops = f"{estimate['packet_hops']:,} packet-hops"
    found = f"{name}, which takes up to {duration(estimate['time_ms'])} on one core ({hops})"
    path = ("sweep",) if "sweep" in document.data else ("jobs",)
    less = "a smaller data size takes less, and what repeats may be skipped"
    hint = f"{less}; `--time-limit MINUTES` allows more, {_FORCE}"
    return document.problem(path, found, duration(allowed_ms), hint)


def _basis(estimate: "Estimate") -> str:
    counts = (("chunks", "chunks"), ("queue pairs", "queue_pairs"), ("ports", "ports"))
    return ", ".join(f"{estimate[key]:,} {name}" for name, key in counts)  # type: ignore[literal-required]


def _name(trial: "PlannedTrial", count: int) -> str:
    return f"trial {trial.index + 1} of {count} ({units.human_size(trial.data_size_bytes)})"


def is_beyond(problem: Problem) -> bool:
    """Tell whether a problem is only that a trial costs more than it may."""
    return _FORCE in problem.hint


def estimate_text(estimates: Sequence["Estimate"]) -> str:
    """Say what trials are estimated to cost: the most memory, the longest trial and all together."""
    if not estimates:
        return "no estimate: only the simulator's cost is known before a run"
    memory_bytes = max(estimate["memory_bytes"] for estimate in estimates)
    times_ms = [estimate["time_ms"] for estimate in estimates]
    hops = sum(estimate["packet_hops"] for estimate in estimates)
    longest = f", the longest trial {duration(max(times_ms))}" if len(times_ms) > 1 else ""
    return (
        f"estimate: {hops:,} packet-hops, up to {duration(sum(times_ms))} on one core{longest}; "
        f"about {units.human_size(memory_bytes)} of memory"
    )


def duration(time_ms: int) -> str:
    """Write how long something takes on the clock: "0.8 s", "42 s", "7 min", "2 h 5 min", "3 days"."""
    seconds = time_ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours // 24:,} days"
