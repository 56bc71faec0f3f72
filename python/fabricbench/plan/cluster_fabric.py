"""Topologies of clusters of equal servers: their switches by tiers, cabling and oversubscription."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any, Final

TOPOLOGIES: Final = ("rail-optimised", "leaf-spine", "single-switch", "full-mesh")
TIERS_MAX: Final = 3
OVERSUBSCRIPTION_MAX: Final = 16
LOAD_BALANCERS: Final = (
    "ecmp", "flowlet", "spray-random", "spray-round-robin", "adaptive", "d-mod-k",
)  # fmt: skip
"""Load balancing that needs no further fields."""
SPRAYING: Final = ("spray-random", "spray-round-robin", "adaptive")
"""Load balancing that sends packets of a queue pair by several paths."""
_SERVERS_OF_LEAF: Final = 4
"""Most servers on a leaf: 32 adapters of 8-GPU servers, half the ports of a 64-port switch."""
_SERVERS_OF_POD: Final = 32
_LEAVES_OF_POD: Final = 16
_SPINES_MAX: Final = 32


@dataclass(frozen=True)
class Shape:
    """Shape of the fabric of a cluster.

    Attributes:
        kind: One of `TOPOLOGIES`; with three tiers `rail-optimised` has pods of rails, `leaf-spine` is a fat
            tree.
        servers: Number of servers.
        adapters: Adapters of a server.
        tiers: Tiers of switches; none for 1 on a single switch, 2 otherwise.
        oversubscription: Capacity of the leaves towards hosts, as a multiple of that of their uplinks.
    """

    kind: str
    servers: int
    adapters: int
    tiers: int | None = None
    oversubscription: int = 1

    def refusal(self, tiers: int) -> tuple[str, str] | None:
        """Return why the fabric cannot have so many tiers, as found and allowed; none if it can."""
        if self.kind in ("single-switch", "full-mesh"):
            return None if tiers == 1 else (f"{tiers} with {self.kind}", "1")
        if not 2 <= tiers <= TIERS_MAX:
            return f"{tiers} with {self.kind}", f"2 or {TIERS_MAX}"
        if tiers == TIERS_MAX and self._groups < 2:
            return f"3 for {self.servers} servers", "2 or more servers of pods, or 2 tiers"
        return None

    def topology(self, rate: str) -> dict[str, Any]:
        """Return the topology of a plan with links of one rate."""
        host_link = {"host_link": rate}
        if self.kind in ("single-switch", "full-mesh"):
            return {"kind": self.kind, "hosts": self.servers * self.adapters} | host_link
        links = host_link | {"fabric_link": rate}
        if self.tiers == TIERS_MAX:
            links |= {"core_link": rate}
            return (self._rail_pods() if self._has_rails else self._fat_tree()) | links
        return (self._rails() if self._has_rails else self._leaf_spine()) | links

    @property
    def _has_rails(self) -> bool:
        return self.kind == TOPOLOGIES[0]

    @property
    def _hosts_of_leaf(self) -> int:
        return gcd(self.servers, min(_SERVERS_OF_LEAF, self.servers // 2)) * self.adapters

    @property
    def _groups(self) -> int:
        """Number of servers, or leaves, that pods divide evenly."""
        return self.servers if self._has_rails else self.servers * self.adapters // self._hosts_of_leaf

    def _up(self, down: int) -> int:
        """Return the uplinks of a leaf with so many hosts."""
        return -(-down // self.oversubscription)

    def _rails(self) -> dict[str, Any]:
        uplinks = self._up(self.servers)
        if self.oversubscription == 1:
            spines, links = self.adapters, -(-uplinks // self.adapters)
        else:
            spines = max(count for count in range(1, _SPINES_MAX + 1) if uplinks % count == 0)
            links = uplinks // spines
        counts = {"servers": self.servers, "rails": self.adapters, "spines": spines}
        return {"kind": "rail-optimised", **counts, "links_per_spine": links}

    def _leaf_spine(self) -> dict[str, Any]:
        of_leaf = self._hosts_of_leaf
        leaves = self.servers * self.adapters // of_leaf
        return {
            "kind": "leaf-spine",
            "leaves": leaves,
            "hosts_per_leaf": of_leaf,
            "spines": self._up(of_leaf),
        }

    def _rail_pods(self) -> dict[str, Any]:
        pods, servers = _pods(self.servers, _SERVERS_OF_POD)
        counts = {"pods": pods, "servers_per_pod": servers, "rails": self.adapters}
        return {
            "kind": "rail-pods",
            **counts,
            "spines_per_rail": self._up(servers),
            "cores_per_spine": pods,
        }

    def _fat_tree(self) -> dict[str, Any]:
        of_leaf = self._hosts_of_leaf
        pods, leaves = _pods(self.servers * self.adapters // of_leaf, _LEAVES_OF_POD)
        counts = {"pods": pods, "leaves_per_pod": leaves, "hosts_per_leaf": of_leaf}
        return {"kind": "fat-tree", **counts, "aggs_per_pod": self._up(of_leaf), "cores_per_agg": leaves}


def _pods(members: int, most: int) -> tuple[int, int]:
    """Divide members evenly into two or more pods of at most so many: number of pods, members of each."""
    each = max(count for count in range(1, min(most, members // 2) + 1) if members % count == 0)
    return members // each, each
