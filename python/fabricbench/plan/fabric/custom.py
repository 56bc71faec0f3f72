"""A fabric of any shape in a plan: switches by name, with their hosts, and the links between them."""

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricbench.plan._run_spec import CustomLinkSpec, CustomTopologySpec
from fabricbench.plan.fabric.cables import FabricLink, HostLink
from fabricbench.plan.fields.base import PlanModel, ShortModel
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.fields.quantities import Count
from fabricbench.units import UnitError, describe

_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
SwitchName = Annotated[str, Field(pattern=_NAME, max_length=80)]
"""A name of a switch: letters, digits, ".", "_" and "-"."""


def _pair(value: object) -> object:
    """Check that a list has two items."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return value
    found = f"a list of {len(value)}" if isinstance(value, list) else describe(value)
    raise UnitError(found, "a list of two switches, such as [leaf0, spine0]")


class CustomSwitch(ShortModel):
    """A switch: a name alone for one without hosts, or a mapping."""

    short_key = "name"

    name: SwitchName = Field(
        description="Its name, unique in the fabric. `host0`, `host1`, ... are names of hosts."
    )
    hosts: Annotated[int, Field(ge=0, le=HOSTS_MAX)] = Field(
        default=0, description="Hosts plugged into it, each by one `host_link`."
    )


class CustomLink(PlanModel):
    """Parallel links between two switches. Several entries for the same two add up."""

    between: Annotated[
        tuple[SwitchName, ...],
        Field(strict=False),
        BeforeValidator(_pair),
        WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}),
    ] = Field(description="The two switches, by name.")
    count: Count = Field(default=1, description="How many there are.")
    link: FabricLink = Field(default_factory=FabricLink, description="Each of them.")

    def run_spec(self, propagation_ps_per_m: int) -> CustomLinkSpec:
        """Write the links out for the engine."""
        return {
            "between": [*self.between],
            "count": self.count,
            "link": self.link.run_spec(propagation_ps_per_m),
        }


class Custom(PlanModel):
    """Switches, hosts and links as they are listed; frames take the shortest paths."""

    kind: Literal["custom"] = Field(
        description=(
            "Switches, hosts and links as they are listed; frames take the shortest paths. Hosts are "
            "numbered switch by switch. The tier of a switch is its distance to the nearest host."
        )
    )
    switches: Annotated[tuple[CustomSwitch, ...], Field(strict=False, min_length=1)] = Field(
        description="The switches."
    )
    links: Annotated[tuple[CustomLink, ...], Field(strict=False)] = Field(
        default=(), description="The links between switches."
    )
    host_link: HostLink = Field(default_factory=HostLink, description="Host to switch.")

    @property
    def host_count(self) -> int:
        """Number of hosts."""
        return sum(switch.hosts for switch in self.switches)

    @property
    def cable_count(self) -> int:
        """Number of cables."""
        return self.host_count + sum(link.count for link in self.links)

    @property
    def route_count(self) -> int:
        """Number of routes: from each switch to each that has hosts."""
        return len(self.switches) * sum(switch.hosts > 0 for switch in self.switches)

    def run_spec(self, propagation_ps_per_m: int) -> CustomTopologySpec:
        """Write the shape out for the engine, its cables as delays."""
        return {
            "kind": self.kind,
            "switches": [{"name": switch.name, "hosts": switch.hosts} for switch in self.switches],
            "links": [link.run_spec(propagation_ps_per_m) for link in self.links],
            "host_link": self.host_link.run_spec(propagation_ps_per_m),
        }

    def reachable(self) -> set[str]:
        """Return the names of the switches that the first one reaches."""
        neighbours: dict[str, set[str]] = {}
        for link in self.links:
            for name in link.between:
                neighbours.setdefault(name, set()).update(link.between)
        reached, waiting = set[str](), [self.switches[0].name]
        while waiting:
            name = waiting.pop()
            waiting += neighbours.get(name, set()) - reached
            reached.add(name)
        return reached
