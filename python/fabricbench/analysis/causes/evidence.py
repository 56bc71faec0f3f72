"""Reads the counters of one job as input of the search for causes: ports, sums over chunks, ideal times.

A chunk is the part of a collective's data that one rank sends to another in one transfer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fabricbench.analysis.links.job_links import EgressPort, JobLinks
from fabricbench.analysis.record.chunk_sums import PREAMBLE_AND_GAP_BYTES, Chunks
from fabricbench.analysis.record.round_sizes import bytes_of_rounds
from fabricbench.analysis.record.run_spec import is_alone, rounds_of
from fabricbench.analysis.record.tables import Tables
from fabricbench.analysis.record.trial import Record
from fabricbench.analysis.summary.bandwidth import (
    bus_factor,
    busbw_limit,
    compute_ps,
    ideal_goodput_gb_per_s,
)
from fabricbench.metrics import JobKind
from fabricbench.plan.estimates.rail_crossing import Crossing, crossing_of
from fabricbench.plan.fabric.server import RAILS
from fabricbench.work import job_kind, pattern_of

_PS_PER_S = 10**12
_BYTES_PER_GB = 1e9
_BITS_PER_BYTE = 8


@dataclass(frozen=True)
class Port:
    """A row of `ports` with its outgoing link. Names and units are those of the tables.

    Attributes:
        peer_port: Port of the node at the other end.
        peer_tier: Tier of that node.
        rate_bps: Line rate of the link.
        busy_ps: Time for which the link was occupied.
        dropped_tail: Frames for this port that were dropped because the buffer was full.
        dropped_headroom: Lossless frames for this port beyond the headroom.
        dropped_wred: Frames for this port that WRED dropped.
        dropped_watchdog: Frames that the PFC watchdog dropped.
        lost_link_down: Frames sent on the link while it was down, or that arrived here without a path left.
        fcs_errors: Frames that arrived corrupted.
    """

    node: str
    tier: int
    port: int
    peer: str
    peer_port: int
    peer_tier: int
    rate_bps: int
    busy_ps: int
    tx_frames: int
    tx_bytes: int
    rx_bytes: int
    dropped_tail: int
    dropped_headroom: int
    dropped_wred: int
    dropped_watchdog: int
    lost_link_down: int
    fcs_errors: int
    queue_max_bytes: int
    pfc_tx: int
    pfc_rx: int
    pfc_storms: int
    paused_ps: int
    ecn_marked: int
    egress_qps: int

    @property
    def dropped(self) -> int:
        """Frames for this port that were dropped."""
        return self.dropped_tail + self.dropped_headroom + self.dropped_wred + self.dropped_watchdog

    @property
    def is_uplink(self) -> bool:
        """Whether it leads from a switch to a higher tier."""
        return 0 < self.tier < self.peer_tier

    @property
    def ends(self) -> tuple[EgressPort, EgressPort]:
        """The egress ports of both directions of its cable, its own first."""
        return (self.node, self.port), (self.peer, self.peer_port)

    @property
    def name(self) -> str:
        """Node, port and peer as text."""
        return f"{self.node} port {self.port} to {self.peer}"


class Fabric:
    """The ports of the fabric: all, by node, and by the node to which they lead."""

    def __init__(self, tables: Tables) -> None:
        """Read `ports` and `links`."""
        links = {(row["from"], row["from_port"]): row for row in _rows(tables, "links")}
        rows = list(_rows(tables, "ports"))
        tiers = {row["node"]: row["tier"] for row in rows}
        self.ports = [_port(row, tiers, links) for row in rows]

    def of(self, node: str) -> list[Port]:
        """Return the ports of a node."""
        return self._of_node.get(node, [])

    @cached_property
    def _of_node(self) -> dict[str, list[Port]]:
        ports: dict[str, list[Port]] = {}
        for port in self.ports:
            ports.setdefault(port.node, []).append(port)
        return ports

    def towards(self, node: str) -> list[Port]:
        """Return the ports of other nodes that lead to a node."""
        return self._towards_node.get(node, [])

    @cached_property
    def _towards_node(self) -> dict[str, list[Port]]:
        ports: dict[str, list[Port]] = {}
        for port in self.ports:
            ports.setdefault(port.peer, []).append(port)
        return ports


def _rows(tables: Tables, table: str) -> Iterator[dict[str, Any]]:
    for batch in tables.batches(table):
        yield from batch.to_pylist()


def _port(
    row: Mapping[str, Any], tiers: Mapping[str, int], links: Mapping[tuple[str, int], Mapping[str, Any]]
) -> Port:
    link = links.get((row["node"], row["port"]), {})
    same = ("node", "tier", "port", "peer", "tx_frames", "tx_bytes", "rx_bytes", "queue_max_bytes")
    counters = ("pfc_tx", "pfc_rx", "pfc_storms", "paused_ps", "ecn_marked", "egress_qps")
    values: dict[str, Any] = {name: row[name] for name in same}
    # Counters that a link does not have, such as PFC on InfiniBand, are null.
    values |= {name: row[name] or 0 for name in counters}
    return Port(
        **values,
        peer_port=link.get("to_port", 0),
        peer_tier=tiers.get(row["peer"], 0),
        rate_bps=link.get("rate_bps", 0),
        busy_ps=link.get("busy_ps", 0),
        dropped_tail=row["dropped_frames"],
        dropped_headroom=row["dropped_headroom_frames"],
        dropped_wred=row["dropped_wred_frames"],
        dropped_watchdog=row["dropped_watchdog_frames"],
        lost_link_down=row["lost_link_down_frames"] or 0,
        fcs_errors=row["fcs_error_frames"] or 0,
    )


@dataclass(frozen=True)
class Case:
    """A job to be diagnosed: its counters, and times and losses derived from them.

    Attributes:
        record: The trial.
        job: The job in the RunSpec.
        outcome: The job in the run's summary.
        fabric: Every port.
        chunks: Sums over the chunks of the job.
    """

    record: Record
    job: Mapping[str, Any]
    outcome: Mapping[str, Any]
    fabric: Fabric
    chunks: Chunks

    @cached_property
    def is_alone(self) -> bool:
        """Whether no other traffic used the fabric, so that all its counters are of this job."""
        return is_alone(self.record.run_spec)

    def sends_by(self, *ends: EgressPort) -> bool:
        """Return whether data of the job leave, or may leave, by one of some ports."""
        return self.is_alone or not self._own.data.isdisjoint(ends)

    def is_sent_by(self, port: Port) -> bool:
        """Return whether data of the job leave, or may leave, by a port."""
        return self.sends_by(port.ends[0])

    def has_frames_on(self, *ends: EgressPort) -> bool:
        """Return whether data of the job or their responses leave, or may leave, by one of some ports."""
        return self.sends_by(*ends) or not self._own.answers.isdisjoint(ends)

    def uses_uplinks_of(self, switch: str) -> bool:
        """Return whether data of the job leave a switch for a higher tier, or arrive from one."""
        between = [port for port in self.fabric.of(switch) if port.is_uplink]
        between += [port for port in self.fabric.towards(switch) if port.tier > port.peer_tier]
        return not self._own.data.isdisjoint(port.ends[0] for port in between)

    @cached_property
    def crossing(self) -> Crossing | None:
        """Crossing of rails by a job that could run on each rail separately; none without one."""
        if self.record.run_spec["fabric"]["topology"]["kind"] not in RAILS:
            return None
        name = self.job["name"]
        return crossing_of(self.record.run_spec, self.job, _transfers(self.record.tables, name))

    def is_only_user(self, port: Port) -> bool:
        """Return whether no other job, and no TCP traffic, has frames on the cable of a port."""
        if self.record.run_spec.get("tcp"):
            return False
        others = (links for name, links in self.record.links.by_job.items() if name != self.job["name"])
        return self.is_alone or all(other.are_disjoint_from(port.ends) for other in others)

    @cached_property
    def ports(self) -> list[Port]:
        """The ports by which data of the job leave or may leave."""
        return [port for port in self.fabric.ports if self.is_sent_by(port)]

    @cached_property
    def _own(self) -> JobLinks:
        return self.record.links.by_job[self.job["name"]]

    @cached_property
    def lost_frames(self) -> int:
        """Data frames of the job that never arrived; without other traffic, all lost frames."""
        counted = self.record.summary.get("frames_lost")
        if self.is_alone and counted is not None:
            return int(sum(counted.values()))
        late = int(self.outcome.get("late", {}).get("frames", 0))
        return max(0, self.chunks.total("tx_frames") - self.chunks.total("rx_frames") - late)

    @cached_property
    def is_hit(self) -> bool:
        """Whether a loss affected the job: it retransmitted, had a timeout, or never completed."""
        noticed = self.chunks.total("retransmits") + self.chunks.total("timeouts")
        return bool(noticed) or not self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether every chunk completed."""
        return bool(self.outcome["status"] == "complete")

    @property
    def duration_ps(self) -> int:
        """Time from the start of the job to its end, or to the end of the run if it never completed."""
        end_ps = self.outcome["end_ps"] if self.is_complete else self.record.summary["end_ps"]
        return max(1, int(end_ps) - int(self.outcome["start_ps"]))

    @cached_property
    def ideal_ps(self) -> float:
        """Time of the job if its busiest port never idles: see `ideal_job_ps`."""
        return ideal_job_ps(self.record.run_spec, self.job, self.outcome)

    def window_ps(self, ports: Iterable[Port]) -> float:
        """Return the time from the first start to the last end of the jobs at some ports if each were ideal.

        The job itself is always included.
        """
        ends = [port.ends[0] for port in ports]
        spec, outcomes = self.record.run_spec, self.record.summary["jobs"]
        links = {} if len(spec["jobs"]) == 1 else self.record.links.by_job
        spans = [
            (int(job["start_ps"]), int(job["start_ps"]) + ideal_job_ps(spec, job, outcome))
            for job, outcome in zip(spec["jobs"], outcomes, strict=True)
            if job["name"] == self.job["name"] or not links[job["name"]].data.isdisjoint(ends)
        ]
        return max(end for _, end in spans) - min(start for start, _ in spans)

    @property
    def lost_ps(self) -> float:
        """Time that the job took beyond its ideal."""
        return self.duration_ps - self.ideal_ps

    def explained(self, cost_ps: float) -> float | None:
        """Return the fraction of the lost time that a cost explains, at most 1; none if incomplete."""
        if not self.is_complete or self.lost_ps <= 0:
            return None
        return min(1.0, max(0.0, cost_ps / self.lost_ps))

    def needed_ps(self, port: Port) -> float:
        """Return the line time of the traffic offered to a port, without retransmissions.

        Frames that were lost before it are included. The fraction of retransmissions is subtracted: for an
        uplink of a leaf that of the hosts below it, elsewhere that of the job.
        """
        if not port.rate_bps:
            return 0.0
        mean_bytes = port.tx_bytes / port.tx_frames if port.tx_frames else 0.0
        wire_bytes = (port.tx_frames + port.dropped) * (mean_bytes + PREAMBLE_AND_GAP_BYTES)
        below = self._first_sent_below.get(port.node) if port.is_uplink else None
        fraction = self.chunks.first_sent_share() if below is None else below
        return wire_ps(wire_bytes, port.rate_bps) * fraction

    @cached_property
    def _first_sent_below(self) -> dict[str, float]:
        """Fraction of the data frames sent by the hosts at each switch that are not retransmissions."""
        hosts: dict[str, list[int]] = {}
        for port in self.fabric.ports:
            if not port.peer_tier and port.peer.startswith("host"):
                hosts.setdefault(port.node, []).append(int(port.peer.removeprefix("host")))
        return {node: self.chunks.first_sent_share(below) for node, below in hosts.items()}

    @property
    def host_rate_bps(self) -> int:
        """Line rate of a host's port."""
        return _host_rate_bps(self.record)

    def resend_ps(self) -> float:
        """Return the line time of the retransmissions of the host with the most of them."""
        return wire_ps(self.chunks.most_resent_bytes, self.host_rate_bps)


def _transfers(tables: Tables, job: str) -> list[tuple[int, int, float]]:
    """Return the payload of a job by source and destination host."""
    import polars as pl

    names, columns = ["src_host", "dst_host"], ["job", "src_host", "dst_host", "payload_bytes"]
    parts = [
        pl.DataFrame(batch).filter(pl.col("job") == job).group_by(names).agg(pl.col("payload_bytes").sum())
        for batch in tables.batches("chunks", columns)
    ]
    return [(source, target, float(size)) for part in parts for source, target, size in part.iter_rows()]


def _host_rate_bps(record: Record) -> int:
    return int(record.run_spec["fabric"]["topology"]["host_link"]["rate_bps"])


def ideal_job_ps(run_spec: Mapping[str, Any], job: Mapping[str, Any], outcome: Mapping[str, Any]) -> float:
    """Return the time in which a job would finish its rounds at 100 % of the ideal [ps].

    Formula: data size of all rounds * bus factor / ideal goodput, times the ranks per host, as they use one
    port, or over all adapters and the scale-up domain of servers; plus rounds * compute time of each. For a
    storage job: its completed operations, over the ports of its clients or its targets, whichever are fewer.
    """
    goodput = ideal_goodput_gb_per_s(run_spec) * _BYTES_PER_GB
    if job_kind(job) is JobKind.STORAGE:
        clients = job["work"]["clients"]
        ports = min(clients, len(job["hosts"]) - clients)
        return float(outcome["chunks_complete"] * job["work"]["block_bytes"] / ports / goodput * _PS_PER_S)
    ranks, hosts = len(job["hosts"]), len(set(job["hosts"]))
    bus_bytes = bytes_of_rounds(job, rounds_of(outcome)) * bus_factor(pattern_of(job)["collective"], ranks)
    if server := run_spec["fabric"].get("server"):
        limit = busbw_limit(run_spec, job, ideal_goodput_gb_per_s(run_spec))
        goodput = limit * _BYTES_PER_GB if limit else goodput * server["adapters"] * hosts / ranks
        return float(bus_bytes / goodput * _PS_PER_S) + rounds_of(outcome) * compute_ps(job)
    wire_bytes = bus_bytes * ranks / hosts
    return float(wire_bytes / goodput * _PS_PER_S) + rounds_of(outcome) * compute_ps(job)


def wire_ps(wire_bytes: float, rate_bps: float) -> float:
    """Return the line time of a number of bytes that includes preamble and gap [ps]."""
    return wire_bytes * _BITS_PER_BYTE * _PS_PER_S / rate_bps


def cases(record: Record, jobs: Iterable[str]) -> Iterator[Case]:
    """Read the counters of some jobs of a trial, one job after the other."""
    fabric, line_ps = Fabric(record.tables), wire_ps(1, _host_rate_bps(record))
    names = set(jobs)
    is_only_job = len(record.run_spec["jobs"]) == 1
    for job, outcome in zip(record.run_spec["jobs"], record.summary["jobs"], strict=True):
        if job["name"] in names:
            chunks = Chunks(record.tables, None if is_only_job else job["name"], line_ps)
            yield Case(record, job, outcome, fabric, chunks)
