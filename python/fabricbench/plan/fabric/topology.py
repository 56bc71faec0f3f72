"""Topologies of a plan. Each is one model here and one builder in the engine.

A model has the number of its hosts, cables and routes, and returns the part of a run spec for its builder.
"""

from typing import Annotated, Literal

from pydantic import Field

from fabricbench.plan._run_spec import (
    FatTreeTopologySpec,
    FullMeshTopologySpec,
    LeafSpineTopologySpec,
    MultiPlaneTopologySpec,
    RailOptimisedTopologySpec,
    RailPodsTopologySpec,
    SingleSwitchTopologySpec,
)
from fabricbench.plan.fabric.cables import FabricLink, HostLink, ScaleUpLink
from fabricbench.plan.fabric.custom_topology import Custom
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.fields.quantities import Count


class SingleSwitch(PlanModel):
    """Every host on one switch."""

    kind: Literal["single-switch"] = Field(description="Every host on one switch.")
    hosts: Count = Field(description="Number of hosts.")
    host_link: HostLink = Field(default_factory=HostLink, description="Host to switch.")

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return self.hosts

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        return self.hosts

    @property
    def route_count(self) -> int:
        """Number of routes: from each switch to each that has hosts."""
        return 1

    def run_spec(self, propagation_ps_per_m: int) -> SingleSwitchTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        return self.to_spec(SingleSwitchTopologySpec, host_link=self.host_link.run_spec(propagation_ps_per_m))


class LeafSpine(PlanModel):
    """Two tiers: every leaf is linked to every spine."""

    kind: Literal["leaf-spine"] = Field(description="Two tiers: every leaf is linked to every spine.")
    leaves: Count = Field(description="Number of leaf switches.")
    hosts_per_leaf: Count = Field(description="Hosts on each leaf.")
    spines: Count = Field(description="Number of spine switches.")
    links_per_spine: Count = Field(default=1, description="Parallel links between one leaf and one spine.")
    host_link: HostLink = Field(default_factory=HostLink, description="Host to leaf.")
    fabric_link: FabricLink = Field(default_factory=FabricLink, description="Leaf to spine.")

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return self.leaves * self.hosts_per_leaf

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        return self.host_count + self.leaves * self.spines * self.links_per_spine

    @property
    def route_count(self) -> int:
        """Number of routes: from each switch to each that has hosts."""
        return (self.leaves + self.spines) * self.leaves

    def run_spec(self, propagation_ps_per_m: int) -> LeafSpineTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        return self.to_spec(
            LeafSpineTopologySpec,
            host_link=self.host_link.run_spec(propagation_ps_per_m),
            fabric_link=self.fabric_link.run_spec(propagation_ps_per_m),
        )


class FatTree(PlanModel):
    """Three tiers: pods of leaves and aggregation switches, joined by core switches."""

    kind: Literal["fat-tree"] = Field(
        description="Three tiers: pods of leaves and aggregation switches, joined by core switches."
    )
    pods: Count = Field(description="Number of pods.")
    leaves_per_pod: Count = Field(description="Leaf switches in each pod.")
    hosts_per_leaf: Count = Field(description="Hosts on each leaf.")
    aggs_per_pod: Count = Field(
        description="Aggregation switches in each pod; every leaf of the pod is linked to each."
    )
    cores_per_agg: Count = Field(
        description="Core switches in the plane of each aggregation switch; each is linked once to every pod."
    )
    host_link: HostLink = Field(default_factory=HostLink, description="Host to leaf.")
    fabric_link: FabricLink = Field(default_factory=FabricLink, description="Leaf to aggregation switch.")
    core_link: FabricLink = Field(default_factory=FabricLink, description="Aggregation switch to core.")

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return self.pods * self.leaves_per_pod * self.hosts_per_leaf

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        per_pod = self.aggs_per_pod * (self.leaves_per_pod + self.cores_per_agg)
        return self.host_count + self.pods * per_pod

    @property
    def route_count(self) -> int:
        """Number of routes: from each switch to each that has hosts."""
        leaves, aggs = self.pods * self.leaves_per_pod, self.pods * self.aggs_per_pod
        return (leaves + aggs + self.aggs_per_pod * self.cores_per_agg) * leaves

    def run_spec(self, propagation_ps_per_m: int) -> FatTreeTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        return self.to_spec(
            FatTreeTopologySpec,
            host_link=self.host_link.run_spec(propagation_ps_per_m),
            fabric_link=self.fabric_link.run_spec(propagation_ps_per_m),
            core_link=self.core_link.run_spec(propagation_ps_per_m),
        )


class RailOptimised(PlanModel):
    """Servers of several GPUs, each with its own NIC; NIC `i` of every server connects to rail switch `i`."""

    kind: Literal["rail-optimised"] = Field(
        description=(
            "Servers of several GPUs, each with its own NIC; NIC i of every server goes to "
            "rail switch i, and spines join the rails. GPU g of server s is host s * rails + "
            "g."
        )
    )
    servers: Count = Field(description="Number of servers.")
    rails: Count = Field(description="GPUs, and so rails, of each server.")
    spines: int = Field(
        ge=0,
        le=HOSTS_MAX,
        description=(
            "Spine switches that join the rails; 0 is for one rail only, as every rank must reach every "
            "other."
        ),
    )
    links_per_spine: Count = Field(
        default=1,
        description="Parallel links between one rail switch and one spine.",
    )
    host_link: HostLink = Field(default_factory=HostLink, description="NIC to rail switch.")
    fabric_link: FabricLink = Field(default_factory=FabricLink, description="Rail switch to spine.")
    scale_up_link: ScaleUpLink | None = Field(
        default=None,
        description=(
            "GPU to the scale-up switch inside its server, for traffic inside a server. Without it, that "
            "traffic takes the fabric."
        ),
    )

    @property
    def host_count(self) -> int:
        """Number of hosts, one for each GPU."""
        return self.servers * self.rails

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        scale_up = self.host_count if self.scale_up_link else 0
        return self.host_count + scale_up + self.rails * self.spines * self.links_per_spine

    @property
    def route_count(self) -> int:
        """Number of routes: from each rail or spine switch to each rail."""
        return (self.rails + self.spines) * self.rails

    def run_spec(self, propagation_ps_per_m: int) -> RailOptimisedTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        scale_up_link = self.scale_up_link
        return self.to_spec(
            RailOptimisedTopologySpec,
            host_link=self.host_link.run_spec(propagation_ps_per_m),
            fabric_link=self.fabric_link.run_spec(propagation_ps_per_m),
            scale_up_link=scale_up_link.run_spec(propagation_ps_per_m) if scale_up_link else None,
        )


class RailPods(PlanModel):
    """Rails of several leaves: servers in pods, a leaf for each rail in each pod, three tiers."""

    kind: Literal["rail-pods"] = Field(
        description=(
            "Rails of several leaves, in three tiers: servers in pods; NIC i of a server goes to the leaf of "
            "rail i in its pod, spines join the leaves of a rail, cores join the rails. GPU g of server s is "
            "host s * rails + g."
        )
    )
    pods: Count = Field(description="Number of pods.")
    servers_per_pod: Count = Field(description="Servers in each pod.")
    rails: Count = Field(description="GPUs, and so rails, of each server.")
    spines_per_rail: Count = Field(
        description="Spine switches in each rail; every leaf of the rail is linked to each."
    )
    links_per_spine: Count = Field(default=1, description="Parallel links between one leaf and one spine.")
    cores_per_spine: int = Field(
        ge=0,
        le=HOSTS_MAX,
        description=(
            "Core switches that spine j of every rail is linked to; 0 is for one rail only, as every rank "
            "must reach every other."
        ),
    )
    links_per_core: Count = Field(default=1, description="Parallel links between one spine and one core.")
    host_link: HostLink = Field(default_factory=HostLink, description="NIC to leaf.")
    fabric_link: FabricLink = Field(default_factory=FabricLink, description="Leaf to spine.")
    core_link: FabricLink = Field(default_factory=FabricLink, description="Spine to core.")
    scale_up_link: ScaleUpLink | None = Field(
        default=None,
        description=(
            "GPU to the scale-up switch inside its server, for traffic inside a server. Without it, that "
            "traffic takes the fabric."
        ),
    )

    @property
    def host_count(self) -> int:
        """Number of hosts, one for each GPU."""
        return self.pods * self.servers_per_pod * self.rails

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        hosts = self.host_count * (2 if self.scale_up_link else 1)
        spines = self.rails * self.spines_per_rail
        up = spines * self.pods * self.links_per_spine
        return hosts + up + spines * self.cores_per_spine * self.links_per_core

    @property
    def route_count(self) -> int:
        """Number of routes: from each leaf, spine or core to each leaf."""
        leaves, spines = self.pods * self.rails, self.rails * self.spines_per_rail
        return (leaves + spines + self.spines_per_rail * self.cores_per_spine) * leaves

    def run_spec(self, propagation_ps_per_m: int) -> RailPodsTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        scale_up_link = self.scale_up_link
        return self.to_spec(
            RailPodsTopologySpec,
            host_link=self.host_link.run_spec(propagation_ps_per_m),
            fabric_link=self.fabric_link.run_spec(propagation_ps_per_m),
            core_link=self.core_link.run_spec(propagation_ps_per_m),
            scale_up_link=scale_up_link.run_spec(propagation_ps_per_m) if scale_up_link else None,
        )


class MultiPlane(PlanModel):
    """Separate leaf-spine fabrics in parallel, one for each port of the hosts."""

    kind: Literal["multi-plane"] = Field(
        description=(
            "Leaf-spine fabrics beside each other, with only the hosts in common: port p of each host is in "
            "plane p. Queue pair k of those from host s to host d takes plane (s + d + k) mod planes; no "
            "queue pair changes its plane."
        )
    )
    planes: int = Field(ge=1, le=32, description="Number of planes, and of ports of each host.")
    leaves: Count = Field(description="Leaf switches of each plane.")
    hosts_per_leaf: Count = Field(description="Hosts on each leaf.")
    spines: Count = Field(description="Spine switches of each plane.")
    links_per_spine: Count = Field(default=1, description="Parallel links between one leaf and one spine.")
    host_link: HostLink = Field(default_factory=HostLink, description="Each port of a host to its leaf.")
    fabric_link: FabricLink = Field(default_factory=FabricLink, description="Leaf to spine.")

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return self.leaves * self.hosts_per_leaf

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        return self.planes * self.leaves * (self.hosts_per_leaf + self.spines * self.links_per_spine)

    @property
    def route_count(self) -> int:
        """Number of routes: from each switch to each leaf of its plane."""
        return self.planes * (self.leaves + self.spines) * self.leaves

    def run_spec(self, propagation_ps_per_m: int) -> MultiPlaneTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        return self.to_spec(
            MultiPlaneTopologySpec,
            host_link=self.host_link.run_spec(propagation_ps_per_m),
            fabric_link=self.fabric_link.run_spec(propagation_ps_per_m),
        )


class FullMesh(PlanModel):
    """The ideal reference: hosts joined by a crossbar that never blocks."""

    kind: Literal["full-mesh"] = Field(
        description=(
            "The ideal reference: hosts joined by a crossbar that never blocks, with unlimited buffers and "
            "no latency but the cable's. Each host still sends and receives at its line rate."
        )
    )
    hosts: Count = Field(description="Number of hosts.")
    host_link: HostLink = Field(default_factory=HostLink, description="Host to the crossbar.")

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return self.hosts

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        return self.hosts

    @property
    def route_count(self) -> int:
        """Number of routes: from each switch to each that has hosts."""
        return 1

    def run_spec(self, propagation_ps_per_m: int) -> FullMeshTopologySpec:
        """Return the shape for the engine, its cables as delays."""
        return self.to_spec(FullMeshTopologySpec, host_link=self.host_link.run_spec(propagation_ps_per_m))


def host_rate_bps(topology: "Topology") -> int:
    """Return the largest send rate of a host over its ports in all planes [bit/s]."""
    planes = topology.planes if isinstance(topology, MultiPlane) else 1
    return topology.host_link.rate_bps * planes


Topology = Annotated[
    SingleSwitch | LeafSpine | FatTree | RailOptimised | RailPods | MultiPlane | Custom | FullMesh,
    Field(discriminator="kind"),
]
"""One of the topologies, selected by `kind`."""
