"""What a plan would cost that asks for more hosts than any fabric here may have.

Such a plan is refused before it is expanded, so nothing can be estimated of it. What it would cost at least
is extrapolated: the engine's estimates for a few ranks of its first job's collective on one switch, with
messages of 1 KB, lie on a parabola, since ranks talk to each other in pairs.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import Problem
from fabricbench.plan.expand import first_spec
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.model import Plan

_RANKS: Final = (64, 128, 256)
_FIELDS: Final = ("fabric.topology", "fabric.topology.hosts")
_COUNT: Final = re.compile(r"(\d{1,18})( hosts)?")
_DEFAULT: Final = "all-to-all"


def with_cost(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """Return problems, where one is too many hosts with the least cost of so many in its hint."""
    return [_told(problem, document) for problem in problems]


def _told(problem: Problem, document: Document) -> Problem:
    found = least_cost([problem], document)
    if found is None:
        return problem
    memory = units.human_size(found["memory_bytes"])
    ranks, chunks = f"{found['hosts']:,} ranks", f"{found['chunks']:,} chunks"
    hint = f"{ranks} of {_collective(document)} make {chunks} and need {memory} of memory at least"
    return replace(problem, hint=hint)


def least_cost(problems: Iterable[Problem], document: Document) -> "engine.Estimate | None":
    """Return what a plan would cost at least that is refused for its number of hosts; none for any other."""
    counts = (_COUNT.fullmatch(problem.found) for problem in problems if problem.field in _FIELDS)
    hosts = max((int(count[1]) for count in counts if count), default=0)
    if hosts <= HOSTS_MAX:
        return None
    estimates = [_estimate(ranks, _collective(document)) for ranks in _RANKS]
    known = [each for each in estimates if each is not None]
    if len(known) < len(_RANKS):
        return None
    return {
        "hosts": hosts,
        "ports": _at(hosts, [each["ports"] for each in known]),
        "chunks": _at(hosts, [each["chunks"] for each in known]),
        "chunk_rows": _at(hosts, [each["chunk_rows"] for each in known]),
        "queue_pairs": _at(hosts, [each["queue_pairs"] for each in known]),
        "payload_bytes": _at(hosts, [each["payload_bytes"] for each in known]),
        "packet_hops": _at(hosts, [each["packet_hops"] for each in known]),
        "memory_bytes": _at(hosts, [each["memory_bytes"] for each in known]),
        "time_ms": _at(hosts, [each["time_ms"] for each in known]),
    }


def _collective(document: Document) -> str:
    found = document.value(("jobs", 0, "collective"))
    return found if isinstance(found, str) and found in engine.algorithms() else _DEFAULT


def _estimate(ranks: int, collective: str) -> "engine.Estimate | None":
    fields = {
        "fabricbench": 1,
        "name": "scale",
        "fabric": {"topology": {"kind": "single-switch", "hosts": ranks}},
        "jobs": [{"collective": collective}],
        "sweep": {"message_size": "1KB"},
    }
    return engine.estimate(json.dumps(first_spec(Plan.model_validate(fields))))


def _at(ranks: int, values: list[int]) -> int:
    """Return the value at `ranks` of the parabola through the values at `_RANKS` (Lagrange's form)."""
    total = Fraction(0)
    for at, value in zip(_RANKS, values, strict=True):
        factors = (Fraction(ranks - other, at - other) for other in _RANKS if other != at)
        first, second = factors
        total += value * first * second
    return max(0, round(total))
