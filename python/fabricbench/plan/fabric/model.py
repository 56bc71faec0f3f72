"""The network of a plan: topology, load balancing, switches, NICs, failures, extra delays, shared memory."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, model_validator

from fabricbench.plan._run_spec import FabricSpec, PinSpec, SharedMemorySpec
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.fabric.addresses import Addresses
from fabricbench.plan.fabric.failures import Failure, LinkName
from fabricbench.plan.fabric.link_layer import LinkLayer, link_layer_spec, with_infiniband_defaults
from fabricbench.plan.fabric.load_balancing import LoadBalancing
from fabricbench.plan.fabric.nic import Clocks, Nic
from fabricbench.plan.fabric.node import Node
from fabricbench.plan.fabric.server import Server, ServerForms, fill_server
from fabricbench.plan.fabric.switches.model import (
    SECTIONS,
    Switch,
    SwitchSections,
    SwitchSettings,
    with_switch_settings,
)
from fabricbench.plan.fabric.switches.pools import Chip
from fabricbench.plan.fabric.topology import Topology
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Propagation, Rate, Time


class ExtraDelay(PlanModel):
    """A delay line in a link, as a network impairment emulator puts it there."""

    link: LinkName = Field(
        description=(
            "The link by its two nodes, such as `leaf0-spine1`: all cables between them; `leaf0-spine1:0` "
            "is the first of several."
        )
    )
    delay_ps: Time = Field(
        alias="delay",
        description="Delay of each frame besides that of the cable, the same both ways [time]; at most 1 s.",
    )


class SharedMemory(PlanModel):
    """Connection between ranks on one host, used in place of the network."""

    rate_bps: Rate = Field(
        default="80Gbps",
        alias="rate",
        validate_default=True,
        description=(
            "Rate at which a rank copies to the others of its host, message by message [rate]. Source: an "
            "estimate: 10 GB/s, about what one core copies."
        ),
    )
    latency_ps: Time = Field(
        default="300ns",
        alias="latency",
        validate_default=True,
        description=(
            "From the end of the copy until the receiver has it [time]. Source: an estimate after the OSU "
            "micro-benchmarks between two cores of a server."
        ),
    )

    def run_spec(self) -> SharedMemorySpec:
        """Return its fields for the engine."""
        return self.to_spec(SharedMemorySpec)


class Fabric(PlanModel):
    """The network under test."""

    topology: Topology = Field(description="The graph of hosts, switches and cables.")
    server: Annotated[Server | None, ServerForms()] = Field(
        default=None,
        description=(
            "Servers with GPUs, whose adapters are the hosts of the topology, as many in a row as a server "
            "has: a shipped server, a file of one, a mapping of fields, or `none`: hosts are no servers. "
            "`scale_up.servers` servers in a row are an NVLink domain; fewer in all are one. "
            "Fields that are left out are those of `dgx-h100`, with adapters of the rate of `host_link`. "
            "Default: on rails, without `scale_up_link`, `rails` GPUs and adapters; else `none`. Source: "
            "NVIDIA DGX H100 data sheet."
        ),
        json_schema_extra={"default": "none"},
    )
    link_layer: LinkLayer = Field(
        default=None,
        description=(
            "What every link is: `ethernet`, `infiniband` (with every default) or a mapping. InfiniBand has "
            "other defaults for load balancing, switches and NICs (docs/plan.md). Source: most published "
            "tables."
        ),
        json_schema_extra={"default": "ethernet"},
    )
    load_balancing: LoadBalancing = Field(
        default="ecmp",
        validate_default=True,
        description=(
            "How a switch chooses among equal next hops: a kind, or a mapping with it. `ecmp`: by a hash of "
            "the 5-tuple with a seed of the switch, so that a queue pair keeps one path. Source: usual in "
            "switches; RFC 2992 analyses it."
        ),
    )
    switch: Switch = Field(default_factory=dict, validate_default=True, description="Every switch.")
    switch_settings: Annotated[tuple[SwitchSettings, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Switches with other settings than `switch`: `{switches: [spine*], buffer: 64MB}`. Default: none."
        ),
    )
    nic: Nic = Field(default_factory=dict, validate_default=True, description="Every NIC.")
    addresses: Addresses | None = Field(
        default=None,
        description=(
            "IPv4 and MAC addresses of host ports, gateways and VLAN: a mapping. Default: addresses that "
            "follow from host and port (docs/plan.md), no gateway, no VLAN."
        ),
    )
    clocks: Clocks | None = Field(
        default=None,
        description=(
            "Clocks of hosts that do not agree: a mapping. Default: all hosts start at once and send at the "
            "same rate."
        ),
    )
    shared_memory: SharedMemory = Field(
        default_factory=dict,
        validate_default=True,
        description="Between ranks on one host, in place of the network.",
    )
    propagation_ps_per_m: Propagation = Field(
        default="5ns/m",
        alias="propagation",
        validate_default=True,
        description=(
            "Propagation delay of every cable [time per length]; a cable's delay is rounded "
            "to 1 ps. Source: a refractive index of 1.5 in optical fibre."
        ),
    )
    extra_delays: Annotated[tuple[ExtraDelay, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Delay lines in some links: `{link: leaf0-spine1, delay: 5us}`. Several for one link add up."
        ),
    )
    failures: Annotated[tuple[Failure, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "What fails and is repaired, in any order: `{at: 2ms, kind: link-down, link: leaf0-spine1}`."
        ),
    )
    convergence_time_ps: Time = Field(
        default="10ms",
        alias="convergence_time",
        validate_default=True,
        description=(
            "From a failure or repair until every switch chooses among the next hops that are left [time]; "
            "until then frames to the dead link are lost. Source: an estimate for a routed fabric with fast "
            "external failover (RFC 7938, 7.5, says below a second)."
        ),
    )

    chips: Annotated[tuple[Chip, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "Switches that are one chip and share its buffer: `{name: asic, switches: [leaf0, spine0]}`. "
            "Each other switch is a chip of its own."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return the fabric with its server, defaults of InfiniBand, and complete switch settings."""
        return with_switch_settings(with_infiniband_defaults(fill_server(data)))

    @property
    def server_count(self) -> int:
        """Number of servers, or of hosts of the topology."""
        adapters = 1 if self.server is None else max(self.server.nics, 1)
        return self.topology.host_count // adapters

    @property
    def node(self) -> Node | None:
        """A node of NCCL: a server, or the servers that a scale-up domain joins; none without servers."""
        if self.server is None:
            return None
        return Node(self.server, max(1, min(self.server.domain_servers, self.server_count)))

    @property
    def host_count(self) -> int:
        """Number of hosts of a run: nodes of servers, or hosts of the topology."""
        return self.server_count // (1 if self.node is None else self.node.servers)

    @property
    def rank_count(self) -> int:
        """Number of GPUs of all servers, or of hosts without servers."""
        return self.host_count * (1 if self.node is None else self.node.gpus)

    @property
    def set_ups(self) -> Iterator[tuple[FieldPath, SwitchSections]]:
        """Settings of switches, each with its field: first those of all switches."""
        yield ("fabric", "switch"), self.switch
        for index, settings in enumerate(self.switch_settings):
            yield ("fabric", "switch_settings", index), settings

    def failure_of(self, index: int) -> int:
        """Return the index in `failures` of the plan for an index in those of the run spec."""
        plan_indices = [
            plan_index for plan_index, failure in enumerate(self.failures) for _ in failure.run_specs()
        ]
        return plan_indices[index]

    def run_spec(self, data_priority: int, pins: list[PinSpec]) -> FabricSpec:
        """Return the fabric for the engine.

        Args:
            data_priority: Priority of data, the default priority of PFC and ECN.
            pins: The queue pairs of pinned load balancing, with their uplinks.
        """
        has_release = self.link_layer is None and self.switch.scheduled is None
        spec: FabricSpec = {
            "topology": self.topology.run_spec(self.propagation_ps_per_m),
            "load_balancing": self.load_balancing.run_spec(pins),
            "switch": self.switch.run_spec(data_priority, has_release=has_release),
            "nic": self.nic.run_spec(),
            "extra_delays": [{"link": extra.link, "delay_ps": extra.delay_ps} for extra in self.extra_delays],
            "shared_memory": self.shared_memory.run_spec(),
            "failures": [spec for failure in self.failures for spec in failure.run_specs()],
            "convergence_time_ps": self.convergence_time_ps,
            "link_layer": link_layer_spec(self.link_layer),
        }
        if self.node is not None:
            spec["server"] = self.node.run_spec(self.topology.host_link.rate_bps)
            spec["shared_memory"] = self.node.server.domain_spec()
        settings = [own.run_spec(data_priority, has_release=has_release) for own in self.switch_settings]
        common = spec["switch"]
        if any(own[name] != common[name] for own in settings for name in SECTIONS):
            spec["switch_settings"] = settings
        if self.chips:
            spec["chips"] = [chip.run_spec() for chip in self.chips]
        if self.addresses is not None and (addresses := self.addresses.run_spec()):
            spec["addresses"] = addresses
        if self.clocks is not None:
            spec["clocks"] = self.clocks.run_spec()
        return spec
