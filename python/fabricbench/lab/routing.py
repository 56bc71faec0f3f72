"""Computes equal-cost next hops of every switch to every host port, equal to the simulator's route tables."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.plan.engine import Description


@dataclass(frozen=True)
class NextHops:
    """Route of a switch to an address.

    Attributes:
        address: IP address of the host port.
        ports: Ports of the switch with equal distance, in ascending order.
        attached: Whether the host port is attached to this switch.
    """

    address: str
    ports: tuple[int, ...]
    attached: bool


def next_hops(description: Description) -> dict[str, list[NextHops]]:
    """Return the shortest paths of every switch through switches only: hosts never forward.

    Parallel links are separate next hops. Addresses that a switch cannot reach are not in its list.
    """
    switches = [node["name"] for node in description["nodes"] if node["kind"] == "switch"]
    neighbours = _neighbours(description, set(switches))
    next_hops: dict[str, list[NextHops]] = {name: [] for name in switches}
    attached = _attached(description)
    for leaf, addresses in attached.items():
        distances = _distances(leaf, neighbours)
        for switch in switches:
            if switch == leaf:
                next_hops[switch] += [NextHops(address, (port,), True) for address, port in addresses]
            elif switch in distances:
                ports = _ports_towards(neighbours[switch], distances, distances[switch])
                next_hops[switch] += [NextHops(address, ports, False) for address, _ in addresses]
    return next_hops


def _neighbours(description: Description, switches: set[str]) -> dict[str, list[tuple[int, str]]]:
    """Return the ports of each switch that lead to another switch, with its name."""
    neighbours = defaultdict[str, list[tuple[int, str]]](list)
    for link in description["links"]:
        if {link["from"], link["to"]} <= switches:
            neighbours[link["from"]].append((link["from_port"], link["to"]))
            neighbours[link["to"]].append((link["to_port"], link["from"]))
    return neighbours


def _attached(description: Description) -> dict[str, list[tuple[str, int]]]:
    """Return the addresses attached to each switch, with the switch's port."""
    attached = defaultdict[str, list[tuple[str, int]]](list)
    for link in description["links"]:
        if link["from_ip"] is not None:
            attached[link["to"]].append((link["from_ip"], link["to_port"]))
    return attached


def _distances(start: str, neighbours: Mapping[str, Sequence[tuple[int, str]]]) -> dict[str, int]:
    """Return the distance of each switch from `start` [links]."""
    distances, ahead = {start: 0}, deque([start])
    while ahead:
        switch = ahead.popleft()
        for _, peer in neighbours.get(switch, ()):
            if peer not in distances:
                distances[peer] = distances[switch] + 1
                ahead.append(peer)
    return distances


def _ports_towards(
    ports: Sequence[tuple[int, str]], distances: Mapping[str, int], own_distance: int
) -> tuple[int, ...]:
    return tuple(sorted(port for port, peer in ports if distances[peer] == own_distance - 1))
