"""Checks of a custom topology: names, links, and that every switch is reached."""

import re
from collections.abc import Iterator
from typing import Final

from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, Problem
from fabricbench.plan.fabric.custom import Custom
from fabricbench.words import close_match_hint

_PATH: FieldPath = ("fabric", "topology")
_HOST_NAME: Final = re.compile(r"host[0-9]+")
_NAMES_SHOWN: Final = 20


def check_custom(topology: Custom, document: Document) -> Iterator[Problem]:
    """Yield what makes a list of switches and links no fabric."""
    problems = [*_check_names(topology, document), *_check_links(topology, document)]
    if not topology.host_count:
        found, hint = "no host on any switch", "write `{name: leaf0, hosts: 4}`"
        problems.append(document.problem((*_PATH, "switches"), found, "1 host or more", hint))
    # Who reaches whom is only known once the names are.
    yield from problems or _check_ways(topology, document)


def _check_names(topology: Custom, document: Document) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, switch in enumerate(topology.switches):
        path = _name_path(place, document)
        if _HOST_NAME.fullmatch(switch.name):
            yield document.problem(path, f'"{switch.name}", the name of a host', "another name for a switch")
        elif switch.name in seen:
            yield document.problem(path, f'"{switch.name}" again', "a name no other switch has")
        seen.add(switch.name)


def _name_path(place: int, document: Document) -> FieldPath:
    path: FieldPath = (*_PATH, "switches", place)
    return (*path, "name") if isinstance(document.value(path), dict) else path


def _check_links(topology: Custom, document: Document) -> Iterator[Problem]:
    names = [switch.name for switch in topology.switches]
    for place, link in enumerate(topology.links):
        path: FieldPath = (*_PATH, "links", place, "between")
        for end, name in enumerate(link.between):
            if name not in names:
                allowed = "a switch of this topology: " + ", ".join(names[:_NAMES_SHOWN])
                yield document.problem((*path, end), f'"{name}"', allowed, close_match_hint(name, names))
        if link.between[0] == link.between[1]:
            yield document.problem(path, f'"{link.between[0]}" twice', "two switches")


def _check_ways(topology: Custom, document: Document) -> Iterator[Problem]:
    reached = topology.reachable()
    first = topology.switches[0].name
    for place, switch in enumerate(topology.switches):
        if switch.name not in reached:
            found = f"no way from {switch.name} to {first}"
            hint = f"add a link of {switch.name} to `links`"
            yield document.problem(_name_path(place, document), found, "switches that reach each other", hint)
            return
