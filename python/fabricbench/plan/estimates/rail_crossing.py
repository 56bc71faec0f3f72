"""Finds collectives across rails: jobs that send most of their data between servers to another rail.

GPU i of every server is at rail i. Libraries such as NCCL run one ring, or tree, for each rail: data between
servers stays on its rail, and moves between GPUs only inside a server. A single ring over all GPUs in their
order leaves the rail at each hop between servers, and has to pass the spines, which are few.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from fabricbench.plan import engine
from fabricbench.plan.errors import FieldProblem
from fabricbench.plan.fabric.server import RAILS
from fabricbench.work import pattern_of

_PER_RAIL: Final = {
    "all-reduce": None,
    "all-gather": None,
    "reduce-scatter": None,
    "broadcast": ("tree",),
    "reduce": None,
}
"""Collectives that libraries run on each rail separately, with any algorithm or with those listed; in others,
such as all-to-all, ranks have data for those on other rails."""
_RINGS: Final = ("ring", "ring-bidirectional", "neighbour-exchange")
_HALVED: Final = ("halving-doubling", "rabenseifner")
"""Algorithms whose data halves as the distance between the ranks doubles."""
_CROSSING_MAX: Final = 0.5
"""Fraction of the data between servers above which a job counts as crossing rails. Two servers in the order
of their rails cross at half of the hops."""

Transfer = tuple[int, int, float]
"""Sending host, receiving host, and data from one to the other, in any unit."""


@dataclass(frozen=True)
class Crossing:
    """Hops and data of a job that cross rails.

    Attributes:
        hops: Pairs of hosts between which the job sends over the fabric.
        crossing: Those of them on two rails.
        share: Fraction of the data over the fabric that crosses rails.
        inside: Those that cross inside a server, as it has no scale-up link.
        is_ring: Whether the ranks form one ring.
        rails: Rails with ranks of the job.
        first_rail: Hosts of the job on the first of them.
    """

    hops: int
    crossing: int
    share: float
    inside: int
    is_ring: bool
    rails: int
    first_rail: Sequence[int]

    @property
    def text(self) -> str:
        """The crossing, in words."""
        qualifier = "" if self.inside else " between servers"
        note = f" ({self.inside:,} inside a server, without a scale-up link)" if self.inside else ""
        if self.crossing == self.hops:
            extent = f"each hop{qualifier} crosses rails"
        elif self.is_ring:
            extent = f"{self.crossing:,} of {self.hops:,} hops{qualifier} cross rails"
        else:
            extent = f"{100 * self.share:.0f} % of the data{qualifier} crosses rails"
        scope, unit = ("one ring", "ring") if self.is_ring else ("one collective", "collective")
        return f"{scope} over all ranks, in which {extent}{note}; libraries run one {unit} per rail"

    @property
    def hint(self) -> str:
        """Hint how a plan runs a collective on each rail."""
        scale_up = "; with `scale_up_link`, hops inside a server stay there" if self.inside else ""
        return (
            f"one job for each of the {self.rails} rails with 1/{self.rails} of the data, the first with "
            f'`ranks: "{ranks_text(self.first_rail)}"`; `fabricbench expect PLAN --as-one` gives what they '
            f"carry together{scale_up}"
        )


def crossing_of(
    run_spec: Mapping[str, Any], job: Mapping[str, Any], transfers: Iterable[Transfer] | None = None
) -> Crossing | None:
    """Return the crossing of rails by a job; none without one, if it is inherent, or without rails.

    Args:
        run_spec: The RunSpec.
        job: One of its jobs.
        transfers: Data between hosts; by default derived from the algorithm.
    """
    fabric = run_spec["fabric"]
    topology = fabric["topology"]
    if topology["kind"] not in RAILS or fabric.get("server") or not _has_rails_of_its_own(topology, job):
        return None  # servers run one ring for each rail by NCCL, and others among ranks only if asked to
    rails, has_scale_up = topology["rails"], bool(topology.get("scale_up_link"))
    if transfers is None:
        transfers = _planned(run_spec, job)
    data: dict[tuple[int, int], float] = defaultdict(float)
    for source, target, size in transfers:
        if source != target and not (has_scale_up and source // rails == target // rails):
            data[source, target] += size
    crossing = [pair for pair in data if pair[0] % rails != pair[1] % rails]
    total = sum(data.values())
    share = sum(data[pair] for pair in crossing) / total if total else 0.0
    is_ring = pattern_of(job)["algorithm"] in _RINGS
    if not crossing or not (share > _CROSSING_MAX or (is_ring and _overloads(topology, crossing))):
        return None
    job_rails = sorted({host % rails for host in job["hosts"]})
    first = sorted({host for host in job["hosts"] if host % rails == job_rails[0]})
    inside = sum(source // rails == target // rails for source, target in crossing)
    return Crossing(len(data), len(crossing), share, inside, is_ring, len(job_rails), first)


def _has_rails_of_its_own(topology: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether a job could run on each rail separately: it has several, and several servers on one of them."""
    pattern = pattern_of(job)
    algorithms = _PER_RAIL.get(pattern["collective"], ())
    if algorithms is not None and pattern["algorithm"] not in algorithms:
        return False
    ranks_of_rail = Counter(host % topology["rails"] for host in set(job["hosts"]))
    return len(ranks_of_rail) > 1 and max(ranks_of_rail.values()) > 1


def _overloads(topology: Mapping[str, Any], crossing: Iterable[tuple[int, int]]) -> bool:
    """Whether the hops of a ring that leave a switch of a rail at once need more than its uplinks."""
    servers = topology.get("servers") or topology["servers_per_pod"]
    rails = topology["rails"]
    leaving = Counter((source % rails, source // rails // servers) for source, _ in crossing)
    uplinks = topology.get("spines", topology.get("spines_per_rail", 0)) * topology["links_per_spine"]
    up_bps = uplinks * topology["fabric_link"]["rate_bps"]
    return bool(max(leaving.values()) * topology["host_link"]["rate_bps"] > up_bps)


def _planned(run_spec: Mapping[str, Any], job: Mapping[str, Any]) -> Iterator[Transfer]:
    """Yield the transfers between hosts by the algorithm, with their data in proportion."""
    hosts: Sequence[int] = job["hosts"]
    ranks, algorithm = len(hosts), pattern_of(job)["algorithm"]
    if algorithm in _RINGS:
        for rank in range(ranks):
            yield hosts[rank], hosts[(rank + 1) % ranks], 1.0
        return
    for source, target in engine.rank_pairs(json.dumps(_single_job(run_spec, job), sort_keys=True)):
        distance = abs(source - target)
        if algorithm in _HALVED:
            size = 1 / distance
        elif algorithm == "bruck":
            size = float(min(distance, ranks - distance))
        else:
            size = 1.0
        yield hosts[source], hosts[target], size


def _single_job(run_spec: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run spec with one job, and one queue pair for each rank pair."""
    transport = {**run_spec["transport"], "qp_mode": "per_pair", "qps_per_rank_pair": 1}
    return {**run_spec, "jobs": [job], "tcp": [], "transport": transport}


def rail_warnings(run_spec: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Yield the jobs of a plan that cross rails although libraries would not."""
    for index, job in enumerate(run_spec["jobs"]):
        crossing = crossing_of(run_spec, job)
        if crossing is not None:
            yield FieldProblem(("jobs", index, "collective"), crossing.text, hint=crossing.hint)


def ranks_text(hosts: Sequence[int]) -> str:
    """Return hosts in the form of `ranks`: `0-504:8`, or a list if their distances differ."""
    steps = {later - earlier for earlier, later in pairwise(hosts)}
    if len(hosts) > 2 and len(steps) == 1 and (step := steps.pop()) > 0:
        return f"{hosts[0]}-{hosts[-1]}" + (f":{step}" if step > 1 else "")
    return ",".join(map(str, hosts))
