"""Formulas for bandwidths of collectives: message size, bus factor, line rate and ideal goodput of a host."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from fabricbench.work import collective_of, pattern_of

FRAME_OVERHEAD_BYTES = 82
"""Overhead of a full WRITE Middle packet on a link [bytes]: preamble and gap 20, Ethernet 18, IPv4 20, UDP 8,
BTH 12, ICRC 4.
"""
INFINIBAND_OVERHEAD_BYTES = 28
"""The same overhead on InfiniBand: start and end symbol 2, LRH 8, BTH 12, ICRC 4, VCRC 2."""

_BITS_PER_GB = 8e9


def _all_but_one(ranks: int) -> float:
    return (ranks - 1) / ranks


BUS_FACTORS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "all-reduce": lambda ranks: 2 * _all_but_one(ranks),
        "all-gather": _all_but_one,
        "reduce-scatter": _all_but_one,
        "all-to-all": _all_but_one,
        "gather": _all_but_one,
        "scatter": _all_but_one,
        "broadcast": lambda _ranks: 1.0,
        "reduce": lambda _ranks: 1.0,
        "send-receive": lambda _ranks: 1.0,
        # One direction at a time: the data size S in each direction takes the completion time.
        "ping-pong": lambda _ranks: 2.0,
        # S is the data that each sender sends, so the port of the receiver of n ranks transports (n - 1) S.
        "incast": lambda ranks: float(ranks - 1),
        "permutation": lambda _ranks: 1.0,
        "uniform-random": lambda _ranks: 1.0,
    }
)
"""Factor from algbw to busbw by collective, as a function of the number of ranks: the bytes that cross the
busiest port in one direction, over the data size S. Source: nccl-tests, PERFORMANCE.md; incast and
permutation, which it does not have, follow the same rule. As there, broadcast counts S once, whatever its
algorithm. Ping-pong uses one direction at a time and counts both.
"""


SHARED = frozenset({"all-gather", "all-to-all", "gather", "scatter"})
"""Collectives in which every rank owns, sends or receives an equal part of the data size. That part is the
message size of MPI benchmarks. For the other collectives the message is the whole data size.
"""


def message_size(collective: str, ranks: int, data_size_bytes: int) -> int:
    """Return the message size of a collective [bytes]."""
    return data_size_bytes // ranks if collective in SHARED else data_size_bytes


def bus_factor(collective: str, ranks: int) -> float:
    """Return the factor from algbw to busbw.

    Raises:
        ValueError: The collective has no factor.
    """
    factor = BUS_FACTORS.get(collective)
    if factor is None:
        raise ValueError(f"no bus factor for collective {collective!r}; known: {', '.join(BUS_FACTORS)}")
    return factor(ranks)


def shares_ports(job: Mapping[str, Any]) -> bool:
    """Return whether several ranks of a job use the port of one host.

    The ideal rate of a rank then depends on the placement, and there is no single ideal.
    """
    return len(set(job["hosts"])) < len(job["hosts"])


def uses_scale_up(run_spec: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Return whether several ranks of a job are in one server with a scale-up link.

    They have more bandwidth than their host ports then, and there is no single ideal.
    """
    topology = run_spec["fabric"]["topology"]
    if not topology.get("scale_up_link"):
        return False
    servers = [host // topology["rails"] for host in job["hosts"]]
    return len(set(servers)) < len(servers)


@dataclass(frozen=True)
class _Servers:
    """A job on servers, each with as many of its GPUs.

    Attributes:
        servers: Number of servers.
        gpus: GPUs of the job on each.
        adapters: Adapters near these GPUs.
        crossing: Most ranks of a server whose peer, in pairs of ranks 2k and 2k + 1, is on another server.
    """

    servers: int
    gpus: int
    adapters: int
    crossing: int

    @classmethod
    def of(cls, server: Mapping[str, Any], job: Mapping[str, Any]) -> _Servers | None:
        """Return the servers of a job; none if they have different numbers of its GPUs or of adapters."""
        gpus: dict[int, set[int]] = {}
        for host, gpu in zip(job["hosts"], job["gpus"], strict=True):
            gpus.setdefault(host, set()).add(gpu)
        near = server["adapters_of_gpu"]
        counts = {(len(own), len({adapter for gpu in own for adapter in near[gpu]})) for own in gpus.values()}
        if len(counts) != 1:
            return None
        pairs = zip(job["hosts"][::2], job["hosts"][1::2], strict=False)
        crossing = Counter(host for pair in pairs if len(set(pair)) > 1 for host in pair)
        return cls(len(gpus), *counts.pop(), max(crossing.values(), default=0))

    def busbw(self, pattern: Mapping[str, Any], adapter: float, scale_up: float) -> float | None:
        """Return the highest bus bandwidth for a rate of an adapter, and of a GPU to those of its server.

        Each server receives all data of a collective but its own part, over its adapters; each GPU receives
        what GPUs of its server have for it over the scale-up domain, but for the one whose data come from
        the network. Where its switches reduce (NVLS), a GPU sends all data once, and the part of which it is
        the head again. Of measured results `assumed_algorithm` is that of NCCL's log or of the plan.
        """
        collective = pattern["collective"]
        ranks, of_server = self.servers * self.gpus, self.adapters * adapter
        if self.gpus == 1:
            return of_server
        if collective in _ONCE_PER_SERVER:
            algorithm = pattern["algorithm"] or pattern.get("assumed_algorithm")
            if collective == "all-reduce" and algorithm in _NVLS:
                scale_up *= 2 * _all_but_one(ranks) * self.gpus / (self.gpus + 1)
            elif self.servers > 1:
                scale_up *= self.gpus / (self.gpus - 1)
            if self.servers == 1:
                return scale_up
            return min(of_server * _all_but_one(ranks) / _all_but_one(self.servers), scale_up)
        if collective in _CHAINS:
            return min(of_server, scale_up) if self.servers > 1 else scale_up
        if collective in _BETWEEN_PEERS:
            inside = scale_up * (ranks - 1) / (self.gpus - 1)
            if self.servers == 1:
                return inside
            return min(of_server / self.gpus * (ranks - 1) / (ranks - self.gpus), inside)
        if collective == "send-receive":
            return of_server / self.crossing if self.crossing else scale_up
        return None


_CHAINS: Final = frozenset({"broadcast", "reduce"})
"""Collectives in which all data enter each server once, and pass its GPUs."""
_BETWEEN_PEERS: Final = frozenset({"all-to-all", "gather", "scatter"})
"""Collectives with data of each GPU for others, of its own server and of others."""
_NVLS: Final = frozenset({"nvls", "nvls-tree"})
_ONCE_PER_SERVER: Final = frozenset({"all-reduce", "all-gather", "reduce-scatter"})
"""Collectives in which data enter a server once, whatever the number of its GPUs."""


def busbw_limit(
    run_spec: Mapping[str, Any], job: Mapping[str, Any], port: float, unit_bps: float = _BITS_PER_GB
) -> float | None:
    """Return the highest bus bandwidth of a job whose ports have a rate; none if there is no single one.

    Ranks that share a port have none, nor those on servers with different numbers of GPUs of the job.

    Args:
        run_spec: The RunSpec.
        job: One of its jobs.
        port: Rate of a host, over its ports in all planes, or of an adapter of a server.
        unit_bps: Unit of this rate and of the result [bit/s].
    """
    server = run_spec["fabric"].get("server")
    if not server:
        return None if shares_ports(job) else port
    if "gpus" not in job:
        return None  # measured, by several jobs of a plan together
    servers = _Servers.of(server, job)
    scale_up = run_spec["fabric"]["shared_memory"]["rate_bps"] / unit_bps
    return None if servers is None else servers.busbw(pattern_of(job), port, scale_up)


def has_rounds_in_common(job: Mapping[str, Any]) -> bool:
    """Return whether measured rounds overlap with other rounds, which makes their times meaningless.

    Warm-up rounds without barriers may still run when the measured ones begin, and may have sent some of
    their data in advance. Rounds with different roots use the ports of several roots at a time.
    """
    work = collective_of(job)
    if work.get("barrier"):
        return False
    return bool(work.get("warm_up_rounds") or (work.get("root_shift") and job["repeat"].get("rounds") != 1))


def compute_ps(job: Mapping[str, Any]) -> int:
    """Return the compute time of each rank at the beginning of a round [ps]."""
    return int(collective_of(job).get("compute_ps", 0))


def line_rate_bps(run_spec: Mapping[str, Any]) -> int:
    """Return the line rate of a host over its ports in all planes, or of an adapter of a server [bit/s].

    An adapter has that of PCIe if its port is faster.
    """
    fabric = run_spec["fabric"]
    topology, server = fabric["topology"], fabric.get("server") or {}
    rate_bps = min(topology["host_link"]["rate_bps"], server.get("bus_rate_bps", math.inf))
    return int(rate_bps * topology.get("planes", 1))


def ideal_goodput_gb_per_s(run_spec: Mapping[str, Any]) -> float:
    """Return the largest payload rate of a host, over its ports in all planes [1e9 bytes/s].

    On servers it is that of an adapter; see `busbw_limit`.
    """
    rate_bps = line_rate_bps(run_spec)
    mtu_bytes: int = run_spec["transport"]["mtu_bytes"]
    is_infiniband = run_spec["fabric"].get("link_layer", {}).get("kind") == "infiniband"
    overhead_bytes = INFINIBAND_OVERHEAD_BYTES if is_infiniband else FRAME_OVERHEAD_BYTES
    return rate_bps / _BITS_PER_GB * mtu_bytes / (mtu_bytes + overhead_bytes)
