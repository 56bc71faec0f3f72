"""Nodes of NCCL in a fabric: servers, or NVLink domains of several, which the engine runs as one server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fabricbench.plan._run_spec import LIMITS, ServerSpec
from fabricbench.plan.fabric.server import Server

ADAPTERS_MAX: Final = LIMITS["ServerSpec.adapters"][1]
"""Most adapters of a node."""
UNEQUAL_DOMAINS: Final = (
    "domains with fewer servers than others are not modelled; `fabricbench nccl` has them"
)
"""Hint for numbers of servers that are no whole domains."""


def domains_allowed(servers: int) -> str:
    """Return in words which numbers of servers are whole scale-up domains, if one joins so many."""
    return f"at most {servers} servers, or a multiple of {servers}"


@dataclass(frozen=True)
class Node:
    """A server, or an NVLink domain of several (MNNVL): GPUs and adapters are those of its servers in order.

    Attributes:
        server: Each of its servers.
        servers: Number of servers.
    """

    server: Server
    servers: int

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return self.servers * self.server.gpus

    @property
    def nics(self) -> int:
        """Number of adapters."""
        return self.servers * self.server.nics

    def nics_by_gpu(self) -> tuple[tuple[int, ...], ...]:
        """Return the adapters near each GPU."""
        of_server = self.server.nics_by_gpu()
        return tuple(
            tuple(first + nic for nic in nics)
            for first in range(0, self.nics, self.server.nics or 1)
            for nics in of_server
        )

    def run_spec(self, link_bps: int) -> ServerSpec:
        """Return the node for the engine, with adapters on links of a rate."""
        spec: ServerSpec = {
            "adapters": self.nics,
            "adapters_of_gpu": [list(nics) for nics in self.nics_by_gpu()],
        }
        if self.servers > 1:
            spec["machines"] = self.servers
        bus_bps = self.server.bus_bps()
        if bus_bps is not None and bus_bps < link_bps:
            spec["bus_rate_bps"] = bus_bps
        return spec

    def hardware(self) -> dict[str, Any]:
        """Return the node as NCCL's rules read it, in the core's JSON."""
        return self.server.hardware() | {"hosts": self.servers}
