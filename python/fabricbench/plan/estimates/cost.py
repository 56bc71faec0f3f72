"""Estimates the cost of a plan (memory and time) and checks it against the limits of this machine.

The engine estimates the memory of the whole program, and the time of one core that simulates every packet;
`crates/sim/src/estimate` describes the method, its sources and its errors. Fast-forward and threads may make
it much less.

A plan with more hosts than any fabric may have is refused before it is expanded, so the engine cannot
estimate it. Its least cost is extrapolated: the engine's estimates for a few ranks of its first job's
collective on one switch, with messages of 1 KB, are on a parabola, since ranks exchange messages in pairs.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldProblem, Problem
from fabricbench.plan.expand import PlannedTrial, first_spec
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.model import Plan

if TYPE_CHECKING:
    from fabricbench.plan.engine import Estimate

ROUTES_MAX: Final = 1 << 26
"""Most routes of a fabric that is checked by default: of 8,192 leaves. More take the engine minutes."""
MANY_ROWS: Final = 10_000_000
"""Rows of chunks of a plan above which the estimate has a hint how to have fewer."""
_ROW_BYTES: Final = 40
"""A row of table `chunks` on disk."""
_FORCE: Final = "`--force` runs it nonetheless"
_RANKS_TRIED: Final = (64, 128, 256)
_HOSTS_FIELDS: Final = ("fabric.topology", "fabric.topology.hosts")
_COUNT: Final = re.compile(r"(\d{1,18})( hosts)?")
_DEFAULT_COLLECTIVE: Final = "all-to-all"


@dataclass(frozen=True)
class Limits:
    """Limits of the estimated cost of a trial.

    Attributes:
        memory_bytes: Memory [bytes]; none if the machine does not report its memory.
        time_ms: Time [ms]; none for no limit.
    """

    memory_bytes: int | None
    time_ms: int | None


def problems_beyond(
    estimated: Iterable[tuple[PlannedTrial, "Estimate | None"]],
    limits: Limits,
    document: Document,
    count: int,
) -> Iterator[FieldProblem]:
    """Yield a problem for the first trial that needs too much memory, and the first that takes too long.

    Args:
        estimated: Some trials of a plan, each with its estimate.
        limits: Limits of a trial.
        document: The plan, for the locations of its fields.
        count: Number of trials of the plan.
    """
    named_estimates = [
        (_name(trial, count), estimate) for trial, estimate in estimated if estimate is not None
    ]
    for name, estimate in named_estimates:
        if limits.memory_bytes is not None and estimate["memory_bytes"] > limits.memory_bytes:
            yield memory_problem(name, estimate, limits.memory_bytes)
            break
    for name, estimate in named_estimates:
        if limits.time_ms is not None and estimate["time_ms"] > limits.time_ms:
            yield _time_problem(name, estimate, limits.time_ms, document)
            break


def memory_problem(name: str, estimate: "Estimate", allowed_bytes: int) -> FieldProblem:
    """Return the problem of a trial that needs too much memory."""
    needed = units.human_size(estimate["memory_bytes"])
    actual = f"{name}, which needs about {needed} of memory ({_basis(estimate)})"
    allowed = f"{units.human_size(allowed_bytes)}, which is what this machine has left"
    return FieldProblem(("jobs",), actual, allowed, f"fewer ranks or hosts need less; {_FORCE}")


def routes_problem(plan: Plan) -> FieldProblem | None:
    """Return the problem of a fabric with too many routes for a check by the engine; none for others."""
    routes = plan.fabric.topology.route_count
    if routes <= ROUTES_MAX:
        return None
    actual, allowed = f"a fabric of {routes:,} routes between switches", f"{ROUTES_MAX:,}"
    return FieldProblem(("fabric", "topology"), actual, allowed, f"more hosts on fewer leaves; {_FORCE}")


def _time_problem(name: str, estimate: "Estimate", allowed_ms: int, document: Document) -> FieldProblem:
    actual = f"{name}, which takes up to {duration(estimate['time_ms'])} on one core ({_work([estimate])})"
    path = ("sweep",) if "sweep" in document.data else ("jobs",)
    less = "a smaller data size takes less, and what repeats may be skipped"
    hint = f"{less}; `--time-limit MINUTES` allows more, {_FORCE}"
    return FieldProblem(path, actual, duration(allowed_ms), hint)


def _basis(estimate: "Estimate") -> str:
    counts = (("chunks", "chunks"), ("queue pairs", "queue_pairs"), ("ports", "ports"))
    return ", ".join(f"{estimate[key]:,} {name}" for name, key in counts)  # type: ignore[literal-required]


def _name(trial: PlannedTrial, count: int) -> str:
    return f"trial {trial.index + 1} of {count} ({units.human_size(trial.data_size_bytes)})"


def is_beyond(problem: Problem) -> bool:
    """Whether a problem is only that a trial is beyond the limits of cost."""
    return _FORCE in problem.hint


def estimate_text(estimates: Sequence["Estimate"]) -> str:
    """Return the estimate of some trials as text: the most memory, the longest trial and all together."""
    if not estimates:
        return "no estimate: what this backend takes is not known before a run"
    memory_bytes = max(estimate["memory_bytes"] for estimate in estimates)
    times_ms = [estimate["time_ms"] for estimate in estimates]
    longest = f", the longest trial {duration(max(times_ms))}" if len(times_ms) > 1 else ""
    return (
        f"estimate: {_work(estimates)}, up to {duration(sum(times_ms))} on one core{longest}; "
        f"about {units.human_size(memory_bytes)} of memory{_rows_text(estimates)}"
    )


def _work(estimates: Sequence["Estimate"]) -> str:
    """Return the amount of work as text: packet-hops, or chunks if no packet is simulated."""
    hops = sum(estimate["packet_hops"] for estimate in estimates)
    chunks = sum(estimate["chunks"] for estimate in estimates)
    return f"{hops:,} packet-hops" if hops else f"{chunks:,} chunks as flows"


def _rows_text(estimates: Sequence["Estimate"]) -> str:
    """Return the number of rows of chunks as text, with a hint how to have fewer; empty if not many."""
    rows = sum(estimate["chunk_rows"] for estimate in estimates)
    if rows <= MANY_ROWS:
        return ""
    return (
        f"; {rows:,} rows of chunks, about {units.human_size(rows * _ROW_BYTES)} on disk: "
        "`-s observe.chunks=sample` keeps some, `-s observe.chunks=summary` none, and metrics stay exact"
    )


def duration(time_ms: int) -> str:
    """Return a wall-clock time as text: "0.8 s", "42 s", "7 min", "2 h 5 min", "3 days"."""
    seconds = time_ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours, remaining_minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {remaining_minutes} min" if remaining_minutes else f"{hours} h"
    return f"{hours // 24:,} days"


def with_cost(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """Return problems; that of too many hosts gets the least cost of as many ranks as its hint."""
    return [_with_least_cost(problem, document) for problem in problems]


def _with_least_cost(problem: Problem, document: Document) -> Problem:
    estimate = least_cost([problem], document)
    if estimate is None:
        return problem
    memory = units.human_size(estimate["memory_bytes"])
    ranks, chunks = f"{estimate['hosts']:,} ranks", f"{estimate['chunks']:,} chunks"
    hint = f"{ranks} of {_collective(document)} make {chunks} and need {memory} of memory at least"
    return replace(problem, hint=hint)


def least_cost(problems: Iterable[Problem], document: Document) -> "Estimate | None":
    """Return the least cost of a plan that is refused for its number of hosts; none for any other."""
    counts = (_COUNT.fullmatch(problem.found) for problem in problems if problem.field in _HOSTS_FIELDS)
    hosts = max((int(count[1]) for count in counts if count), default=0)
    if hosts <= HOSTS_MAX:
        return None
    estimates = [_estimate(ranks, _collective(document)) for ranks in _RANKS_TRIED]
    complete = [estimate for estimate in estimates if estimate is not None]
    if len(complete) < len(_RANKS_TRIED):
        return None
    return {
        "hosts": hosts,
        "ports": _at(hosts, [estimate["ports"] for estimate in complete]),
        "chunks": _at(hosts, [estimate["chunks"] for estimate in complete]),
        "chunk_rows": _at(hosts, [estimate["chunk_rows"] for estimate in complete]),
        "queue_pairs": _at(hosts, [estimate["queue_pairs"] for estimate in complete]),
        "payload_bytes": _at(hosts, [estimate["payload_bytes"] for estimate in complete]),
        "packet_hops": _at(hosts, [estimate["packet_hops"] for estimate in complete]),
        "memory_bytes": _at(hosts, [estimate["memory_bytes"] for estimate in complete]),
        "time_ms": _at(hosts, [estimate["time_ms"] for estimate in complete]),
    }


def _collective(document: Document) -> str:
    collective = document.value(("jobs", 0, "collective"))
    return (
        collective
        if isinstance(collective, str) and collective in engine.algorithms()
        else _DEFAULT_COLLECTIVE
    )


def _estimate(ranks: int, collective: str) -> "Estimate | None":
    fields = {
        "fabricbench": 1,
        "name": "scale",
        "fabric": {"topology": {"kind": "single-switch", "hosts": ranks}},
        "jobs": [{"collective": collective}],
        "sweep": {"message_size": "1KB"},
    }
    return engine.estimate(json.dumps(first_spec(Plan.model_validate(fields))))


def _at(ranks: int, values: list[int]) -> int:
    """Return the value at `ranks` of the parabola through the values at `_RANKS_TRIED` (Lagrange's form)."""
    total = Fraction(0)
    for ranks_tried, value in zip(_RANKS_TRIED, values, strict=True):
        factors = (
            Fraction(ranks - other, ranks_tried - other) for other in _RANKS_TRIED if other != ranks_tried
        )
        first, second = factors
        total += value * first * second
    return max(0, round(total))
