"""Bandwidth of collectives: what a data size means and how much of a port it fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

FRAME_OVERHEAD_BYTES = 82
"""What a full WRITE Middle packet occupies on a link besides its payload [bytes]: preamble and gap 20,
Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4."""
INFINIBAND_OVERHEAD_BYTES = 28
"""The same on InfiniBand: start and end symbol 2, LRH 8, BTH 12, ICRC 4, VCRC 2."""

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
        # One way at a time: S each way takes the completion time.
        "ping-pong": lambda _ranks: 2.0,
        # S is what each sender sends, so the receiver's port takes (n - 1) S.
        "incast": lambda ranks: float(ranks - 1),
        "permutation": lambda _ranks: 1.0,
        "uniform-random": lambda _ranks: 1.0,
    }
)
"""For each collective, what turns algbw into busbw, given the number of ranks: the bytes that cross the
busiest port in one direction, over S. (nccl-tests, PERFORMANCE.md; incast and permutation, which it does not
have, after the same rule.) Broadcast counts S once, as there, however the algorithm moves it. Ping-pong keeps
one way busy at a time and counts both."""


SHARED = frozenset({"all-gather", "all-to-all", "gather", "scatter"})
"""Collectives of which every rank has, gives or gets an equal share of the data size: the message size of MPI
benchmarks. Of the others the message is the whole."""


def message_size(collective: str, ranks: int, data_size_bytes: int) -> int:
    """Return the message size of a collective [bytes]."""
    return data_size_bytes // ranks if collective in SHARED else data_size_bytes


def bus_factor(collective: str, ranks: int) -> float:
    """Return what turns algbw into busbw.

    Raises:
        ValueError: No factor is known for the collective.
    """
    factor = BUS_FACTORS.get(collective)
    if factor is None:
        raise ValueError(f"no bus factor for collective {collective!r}; known: {', '.join(BUS_FACTORS)}")
    return factor(ranks)


def shares_ports(job: Mapping[str, Any]) -> bool:
    """Return whether several ranks of a job share the port of a host.

    What the port of a rank could carry at best then depends on who is where, and there is no one ideal.
    """
    return len(set(job["hosts"])) < len(job["hosts"])


def uses_scale_up(run_spec: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Return whether ranks of a job share a server with a scale-up link.

    They have more than their host ports then, and there is no one ideal.
    """
    topology = run_spec["fabric"]["topology"]
    if not topology.get("scale_up_link"):
        return False
    servers = [host // topology["rails"] for host in job["hosts"]]
    return len(set(servers)) < len(servers)


def has_rounds_in_common(job: Mapping[str, Any]) -> bool:
    """Return whether the rounds that count share the network with others, which makes them no measure of it.

    Rounds to warm up without barriers are still on when those that count begin, with some of their data there
    already. Rounds with different roots use the ports of several at a time.
    """
    if job.get("barrier"):
        return False
    return bool(job.get("warm_up_rounds") or (job.get("root_shift") and job["repeat"].get("rounds") != 1))


def line_rate_bps(run_spec: Mapping[str, Any]) -> int:
    """Return the line rate of a host, the sum over its ports in each plane [bit/s]."""
    topology = run_spec["fabric"]["topology"]
    return int(topology["host_link"]["rate_bps"] * topology.get("planes", 1))


def ideal_goodput_gb_per_s(run_spec: Mapping[str, Any]) -> float:
    """Return the payload that a host can send at best, by its port in each plane [1e9 bytes/s]."""
    rate_bps = line_rate_bps(run_spec)
    mtu_bytes: int = run_spec["transport"]["mtu_bytes"]
    is_infiniband = run_spec["fabric"].get("link_layer", {}).get("kind") == "infiniband"
    overhead_bytes = INFINIBAND_OVERHEAD_BYTES if is_infiniband else FRAME_OVERHEAD_BYTES
    return rate_bps / _BITS_PER_GB * mtu_bytes / (mtu_bytes + overhead_bytes)
