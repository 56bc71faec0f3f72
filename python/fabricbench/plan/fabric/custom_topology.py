"""A fabric of any shape in a plan: named switches, their hosts and links; checks of names, connectivity."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricbench.plan._run_spec import CustomLinkSpec, CustomTopologySpec
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fabric.cables import FabricLink, HostLink
from fabricbench.plan.fields.base import PlanModel, ShortModel
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.fields.quantities import Count
from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

_PATH: FieldPath = ("fabric", "topology")
_HOST_NAME: Final = re.compile(r"host[0-9]+")
_NAMES_SHOWN: Final = 20
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
SwitchName = Annotated[str, Field(pattern=_NAME, max_length=80)]
"""A name of a switch: letters, digits, ".", "_" and "-"."""


def _pair(value: object) -> object:
    """Check that a list has two items."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return value
    actual = f"a list of {len(value)}" if isinstance(value, list) else describe(value)
    raise UnitError(actual, "a list of two switches, such as [leaf0, spine0]")


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
        """Return the links for the engine."""
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
        """Return the topology for the engine, its cables as delays."""
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


def check_custom(topology: Custom, document: Document) -> Iterator[FieldProblem]:
    """Yield the problems of a list of switches and links: names, links, hosts, connectivity."""
    problems = [*_check_names(topology, document), *_check_links(topology)]
    if not topology.host_count:
        actual, hint = "no host on any switch", "write `{name: leaf0, hosts: 4}`"
        problems.append(FieldProblem((*_PATH, "switches"), actual, "1 host or more", hint))
    # Connectivity can be checked only if all names are valid.
    yield from problems or _check_connected(topology, document)


def _check_names(topology: Custom, document: Document) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for index, switch in enumerate(topology.switches):
        path = _name_path(index, document)
        if _HOST_NAME.fullmatch(switch.name):
            yield FieldProblem(path, f'"{switch.name}", the name of a host', "another name for a switch")
        elif switch.name in seen:
            yield FieldProblem(path, f'"{switch.name}" again', "a name no other switch has")
        seen.add(switch.name)


def _name_path(index: int, document: Document) -> FieldPath:
    path: FieldPath = (*_PATH, "switches", index)
    return (*path, "name") if isinstance(document.value(path), dict) else path


def _check_links(topology: Custom) -> Iterator[FieldProblem]:
    names = [switch.name for switch in topology.switches]
    for index, link in enumerate(topology.links):
        path: FieldPath = (*_PATH, "links", index, "between")
        for end, name in enumerate(link.between):
            if name not in names:
                allowed = "a switch of this topology: " + ", ".join(names[:_NAMES_SHOWN])
                yield FieldProblem((*path, end), f'"{name}"', allowed, close_match_hint(name, names))
        if link.between[0] == link.between[1]:
            yield FieldProblem(path, f'"{link.between[0]}" twice', "two switches")


def _check_connected(topology: Custom, document: Document) -> Iterator[FieldProblem]:
    reached = topology.reachable()
    first = topology.switches[0].name
    for index, switch in enumerate(topology.switches):
        if switch.name not in reached:
            actual = f"no way from {switch.name} to {first}"
            hint = f"add a link of {switch.name} to `links`"
            yield FieldProblem(_name_path(index, document), actual, "switches that reach each other", hint)
            return
