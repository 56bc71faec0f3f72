"""Finds the links of each job of a trial: egress ports that its data, or the responses to it, may use.

A queue pair whose path is in table `paths` of the trial's record uses that path. Any other queue pair, such
as one whose packets are sprayed, may use every shortest path between its hosts. So may one that is possibly
rerouted, as `paths` has the paths before any failure. Responses (ACK, NAK, CNP) have a hash of their own and
may use every shortest path back.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fabricbench.analysis.record.tables import Tables
from fabricbench.metrics import JobKind
from fabricbench.work import job_kind

EgressPort = tuple[str, int]
"""A node and the number of its port."""
_REROUTING_FAILURES = ("link-down", "link-rate", "switch-down")
"""Kinds of failures after which data may use other paths."""


@dataclass(frozen=True)
class JobLinks:
    """Egress ports that one job uses or may use.

    Attributes:
        data: Ports by which its data frames leave, those of hosts included.
        answers: Ports by which responses to them leave.
    """

    data: frozenset[EgressPort]
    answers: frozenset[EgressPort]

    def are_disjoint_from(self, ends: Iterable[EgressPort]) -> bool:
        """Return whether neither data nor responses leave by any of some ports."""
        return all(end not in self.data and end not in self.answers for end in ends)


class Wiring:
    """Links of the fabric from table `links`, as a graph for shortest paths."""

    def __init__(self, links: Iterable[Mapping[str, Any]]) -> None:
        """Create the graph from rows of `links` with at least `from`, `from_port` and `to`."""
        self._ports: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._back: dict[str, set[str]] = defaultdict(set)
        self._hops_to: dict[frozenset[str], dict[str, int]] = {}
        for row in links:
            self._ports[row["from"]].append((row["from_port"], row["to"]))
            self._back[row["to"]].add(row["from"])

    def without(self, cut: Collection[EgressPort]) -> Wiring:
        """Return the fabric without some egress ports."""
        rows = (
            {"from": node, "from_port": port, "to": peer}
            for node, ports in self._ports.items()
            for port, peer in ports
            if (node, port) not in cut
        )
        return Wiring(rows)

    def named(self, names: Collection[str]) -> set[EgressPort]:
        """Return the egress ports of both directions of links, or of all links of nodes, by their names.

        A link is named after both nodes, `leaf0-spine1`; one of several parallel links is `leaf0-spine1:0`.
        """
        pairs = {name.partition(":")[0] for name in names}
        return {
            (node, port)
            for node, ports in self._ports.items()
            for port, peer in ports
            if not pairs.isdisjoint((node, peer, f"{node}-{peer}", f"{peer}-{node}"))
        }

    def between(self, node: str, peer: str) -> list[EgressPort]:
        """Return the ports of a node that lead to a neighbour."""
        return [(node, port) for port, other in self._ports[node] if other == peer]

    def grouped(self, pairs: Iterable[tuple[str, str]]) -> Iterable[Sequence[tuple[str, str]]]:
        """Group pairs of hosts by the switches at both ends, as these have equal paths between switches."""
        groups: dict[tuple[frozenset[str], frozenset[str]], list[tuple[str, str]]] = defaultdict(list)
        for source, target in pairs:
            groups[frozenset(self._back[source]), frozenset(self._back[target])].append((source, target))
        return groups.values()

    def paths(self, pairs: Iterable[tuple[str, str]]) -> set[EgressPort]:
        """Return the egress ports on all shortest paths between pairs of a source and a target host.

        Targets at the same switches are searched together.
        """
        targets: dict[frozenset[str], tuple[set[str], set[str]]] = {}
        for source, target in pairs:
            sources, own = targets.setdefault(frozenset(self._back[target]), (set(), set()))
            sources.add(source)
            own.add(target)
        ports: set[EgressPort] = set()
        for last, (sources, own) in targets.items():
            ports |= self._to(last, sources, own)
        return ports

    def _to(self, last: frozenset[str], sources: set[str], targets: set[str]) -> set[EgressPort]:
        """Return the ports on the shortest paths from some hosts to targets at the switches `last`."""
        if last not in self._hops_to:
            self._hops_to[last] = self._hops(last)
        hops = self._hops_to[last]
        ports: set[EgressPort] = set()
        pending, visited = deque(sorted(sources)), set(sources)
        while pending:
            node = pending.popleft()
            if node in last:
                ports |= {(node, port) for port, peer in self._ports[node] if peer in targets}
                continue
            onward = [(hops[peer], port, peer) for port, peer in self._ports[node] if peer in hops]
            min_hops = min((count for count, _, _ in onward), default=0)
            for count, port, peer in onward:
                if count == min_hops:
                    ports.add((node, port))
                    if peer not in visited:
                        visited.add(peer)
                        pending.append(peer)
        return ports

    def _hops(self, last: Iterable[str]) -> dict[str, int]:
        """Return the distance of each switch from the nearest of `last` [links]; hosts do not forward."""
        hops = dict.fromkeys(last, 0)
        open_nodes = deque(hops)
        while open_nodes:
            node = open_nodes.popleft()
            for before in self._back[node]:
                if before not in hops and not _is_host(before):
                    hops[before] = hops[node] + 1
                    open_nodes.append(before)
        return hops


@dataclass(frozen=True)
class _QueuePair:
    """A queue pair of a job and its hosts; its number is none if only the hosts are known."""

    number: int | None
    source: str
    target: str


class LinksOfJobs:
    """The links of each job of a trial, computed on first use."""

    def __init__(self, run_spec: Mapping[str, Any], tables: Tables) -> None:
        """Store the trial; tables are read on first use."""
        self._spec, self._tables = run_spec, tables

    @cached_property
    def by_job(self) -> Mapping[str, JobLinks]:
        """The links of every job, by its name."""
        pairs, paths = _queue_pairs(self._tables), _recorded_paths(self._tables)
        return {
            job["name"]: self._of(job, pairs.get(job["name"]) or _all_pairs(job), paths)
            for job in self._spec["jobs"]
        }

    def concerns(self, job: str, name: str) -> bool:
        """Return whether a job may have frames on a link or at a node, by name; true for an unknown name."""
        ends = self._wiring.named({name})
        return not ends or not self.by_job[job].are_disjoint_from(ends)

    def _of(
        self, job: Mapping[str, Any], pairs: Collection[_QueuePair], paths: Mapping[int, Sequence[_Hop]]
    ) -> JobLinks:
        data: set[EgressPort] = set()
        without_path: set[tuple[str, str]] = set()
        for pair in pairs:
            hops = paths.get(pair.number) if pair.number is not None else None
            if not hops:
                without_path.add((pair.source, pair.target))
                continue
            data.update((hop.node, hop.port) for hop in hops)
            data.update(self._wiring.between(pair.source, hops[0].node))
            data.update(self._wiring.between(hops[-1].peer, pair.target))
        forward = {(pair.source, pair.target) for pair in pairs}
        reverse = {(target, source) for source, target in forward}
        data |= self._wiring.paths(without_path) | self._rerouted(forward)
        answers = self._wiring.paths(reverse) | self._rerouted(reverse)
        is_storage = job_kind(job) is JobKind.STORAGE
        return JobLinks(frozenset(data | answers if is_storage else data), frozenset(answers))

    def _rerouted(self, pairs: Collection[tuple[str, str]]) -> set[EgressPort]:
        """Return the ports that pairs of hosts may use if some of their shortest paths fail."""
        ports: set[EgressPort] = set()
        if not self._failed:
            return ports
        for host_pairs in self._wiring.grouped(pairs):
            usual = self._wiring.paths(host_pairs)
            if not self._failed.isdisjoint(usual):
                ports |= usual | self._left.paths(host_pairs)
        return ports

    @cached_property
    def _wiring(self) -> Wiring:
        columns = ["from", "from_port", "to"]
        return Wiring(row for batch in self._tables.batches("links", columns) for row in batch.to_pylist())

    @cached_property
    def _failed(self) -> set[EgressPort]:
        failures = [
            failure
            for failure in self._spec["fabric"].get("failures") or []
            if failure["kind"] in _REROUTING_FAILURES
        ]
        return self._wiring.named({str(failure.get("link") or failure.get("switch")) for failure in failures})

    @cached_property
    def _left(self) -> Wiring:
        return self._wiring.without(self._failed)


@dataclass(frozen=True)
class _Hop:
    """A link between switches on the path of a queue pair."""

    node: str
    port: int
    peer: str


def _recorded_paths(tables: Tables) -> dict[int, list[_Hop]]:
    """Return the path of each queue pair in table `paths`, in order of hops."""
    rows: dict[int, list[tuple[int, _Hop]]] = defaultdict(list)
    for batch in tables.batches("paths", ["qp", "hop", "node", "port", "peer"]):
        for qp, hop, node, port, peer in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            rows[qp].append((hop, _Hop(node, port, peer)))
    return {qp: [hop for _, hop in sorted(hops, key=lambda entry: entry[0])] for qp, hops in rows.items()}


def _queue_pairs(tables: Tables) -> dict[str, set[_QueuePair]]:
    """Return the queue pairs of each job whose chunks have rows."""
    import polars as pl

    pairs_by_job: dict[str, set[_QueuePair]] = defaultdict(set)
    columns = ["job", "qp", "src_host", "dst_host"]
    for batch in tables.batches("chunks", columns):
        for job, qp, source, target in pl.DataFrame(batch).unique().iter_rows():
            if source != target:
                pairs_by_job[job].add(_QueuePair(qp, f"host{source}", f"host{target}"))
    return pairs_by_job


def _all_pairs(job: Mapping[str, Any]) -> set[_QueuePair]:
    """Return every pair of hosts of a job, for use without rows of its chunks."""
    hosts = dict.fromkeys(job["hosts"])
    return {
        _QueuePair(None, f"host{source}", f"host{target}")
        for source in hosts
        for target in hosts
        if source != target
    }


def _is_host(node: str) -> bool:
    return node.startswith("host") and node.removeprefix("host").isdigit()
