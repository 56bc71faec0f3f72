"""Groups hosts of a large fabric by switch for a compact map: tier, pod and host ranges of each switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict

from fabricbench.words import runs_of


class FoldedSwitch(TypedDict):
    """A switch with the hosts below it.

    `pod` is a number from 0, or null; `hosts` are pairs: the first and last number of each run of hosts.
    """

    name: str
    tier: int
    pod: int | None
    hosts: list[tuple[int, int]]


def folded_switches(
    nodes: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]
) -> list[FoldedSwitch]:
    """Return the switches of a fabric, each with the hosts whose first port is connected to it.

    A pod is a set of switches that are joined below the highest tier; a fabric of one such set, or of
    switches joined only by the highest tier, has none.

    Args:
        nodes: Its nodes: `name`, `kind` and `tier`; hosts in the order of their numbers.
        links: Its links: `from`, `from_port` and `to`; from the lower tier to the higher.
    """
    hosts = {node["name"]: number for number, node in enumerate(_of_kind(nodes, "host"))}
    tiers = {node["name"]: node["tier"] for node in _of_kind(nodes, "switch")}
    below: dict[str, list[int]] = {}
    for link in links:
        if link["from"] in hosts and link["from_port"] == 0:
            below.setdefault(link["to"], []).append(hosts[link["from"]])
    pods = _pods(tiers, [(link["from"], link["to"]) for link in links if link["from"] in tiers])
    return [
        {"name": name, "tier": tier, "pod": pods.get(name), "hosts": runs_of(sorted(below.get(name, [])))}
        for name, tier in tiers.items()
    ]


def _of_kind(nodes: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [node for node in nodes if node["kind"] == kind]


def _pods(tiers: Mapping[str, int], cables: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Number the sets of switches that are joined below the highest tier."""
    top = max(tiers.values(), default=0)
    leaders = {name: name for name, tier in tiers.items() if tier < top}

    def leader(name: str) -> str:
        while leaders[name] != name:
            leaders[name] = leaders[leaders[name]]
            name = leaders[name]
        return name

    for lower, upper in cables:
        if lower in leaders and upper in leaders:
            leaders[leader(upper)] = leader(lower)
    sets = {name: leader(name) for name in leaders}
    numbers = {set_leader: number for number, set_leader in enumerate(dict.fromkeys(sets.values()))}
    if not 1 < len(numbers) < len(sets):
        return {}
    return {name: numbers[set_leader] for name, set_leader in sets.items()}
