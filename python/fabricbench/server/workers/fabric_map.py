"""Map of a fabric of any size: boxes of equal switches and of hosts by tier, and links between boxes.

Switches of a tier that are too many to draw are grouped within their pod, rail or plane; hosts are grouped by
server on rails and by leaf elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.words import counted, runs_of

_LEAVES_MAX: Final = 32
"""Leaves that are drawn one by one."""
_UPPER_MAX: Final = 16
"""Switches of a higher tier that are drawn one by one."""
_BLOCKS_MAX: Final = 16
"""Boxes of a tier whose switches are grouped, unless it has more positions."""
_POSITIONS_MAX: Final = 32
"""Pods, rails or planes of a tier that are drawn one by one."""
_SERVERS_MAX: Final = 8
"""Servers that are drawn one by one."""
_TIER_NAMES: Final = {
    "leaf": "leaves",
    "rail": "rail switches",
    "agg": "aggregation",
    "spine": "spines",
    "core": "cores",
}
_NAME: Final = re.compile(r"([a-z]+)(\d*)")
_SCALE_UP: Final = "scaleup"
_ALWAYS_SENT: Final = ConfigDict(json_schema_serialization_defaults_required=True)


class Key(NamedTuple):
    """Position of a switch in its fabric; none where the fabric has no such part."""

    pod: int | None = None
    rail: int | None = None
    plane: int | None = None


class MapBox(BaseModel):
    """Equal switches of a tier, or hosts."""

    model_config = _ALWAYS_SENT

    label: str = Field(description="Its name, or those of the first and the last.")
    tier: int = Field(description="Its tier; 0 for hosts.")
    switches: list[str] = Field(default=[], description="Names of its switches; empty for hosts.")
    hosts: list[tuple[int, int]] = Field(
        default=[],
        description="First and last number of each run of its hosts, or of those on its switches.",
    )
    pods: tuple[int, int] | None = Field(
        default=None, description="First and last pod; null outside of pods."
    )
    rail: int | None = Field(default=None, description="Its rail.")
    plane: int | None = Field(default=None, description="Its plane.")
    servers: int = Field(
        default=0, description="Servers with several adapters among its hosts; 0 for hosts of one adapter."
    )


class MapTier(BaseModel):
    """A tier of switches; the lowest is 1."""

    tier: int
    name: str
    switches: int
    down_bps: int = Field(description="Capacity towards hosts [bit/s]; 0 for a tier without uplinks.")
    up_bps: int = Field(description="Capacity away from hosts [bit/s]; 0 for a tier without uplinks.")


class MapBundle(BaseModel):
    """Links between two boxes."""

    lower: int = Field(description="Index of the box of the lower tier.")
    upper: int
    links: int
    rates_bps: list[int] = Field(description="The rates of its links [bit/s].")


class JobHosts(BaseModel):
    """A job of the plan."""

    name: str
    hosts: list[list[int]] = Field(description="The host of each rank, or its adapters in a server.")


class FabricMap(BaseModel):
    """A fabric as a picture of boxes and links; without boxes if it is too large to draw."""

    model_config = _ALWAYS_SENT

    shape: str = Field(description='Its shape in words, such as "8 rails x 64 servers in 2 pods".')
    hosts: int = Field(description="Number of hosts, or of adapters of servers.")
    switches: int
    adapters: int = Field(default=1, description="Adapters of a server; 1 for hosts without servers.")
    scale_up_bps: int | None = Field(
        default=None, description="Rate of a GPU to the scale-up switch of its server [bit/s]."
    )
    scheduled: bool = Field(default=False, description="Whether the switches are a scheduled fabric.")
    tiers: list[MapTier] = Field(default=[], description="Its tiers of switches, leaves first.")
    boxes: list[MapBox] = Field(default=[], description="Hosts, then switches, tier by tier.")
    bundles: list[MapBundle] = []
    jobs: list[JobHosts] = []


def fabric_map(
    topology: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    links: Sequence[Mapping[str, Any]],
    ratios: Sequence[tuple[int, int]],
    adapters: int,
) -> FabricMap:
    """Return the map of a fabric, without its jobs.

    Args:
        topology: Its topology in a run spec.
        nodes: Its nodes: `name`, `kind` and `tier`; hosts in the order of their numbers.
        links: Its links: `from`, `to` and `rate_bps`; from the lower tier to the higher.
        ratios: Capacity of each tier with uplinks towards hosts and away from them [bit/s], leaves first.
        adapters: Adapters of a server; 1 for hosts without servers.
    """
    hosts = {node["name"]: number for number, node in enumerate(_of_kind(nodes, "host"))}
    tiers = {node["name"]: node["tier"] for node in _of_kind(nodes, "switch")}
    is_rails = "rails" in topology
    if is_rails:
        tiers = {name: tier for name, tier in tiers.items() if not name.startswith(_SCALE_UP)}
    keys = _keys(topology, tiers, links)
    below = _hosts_below(hosts, tiers, links)
    switch_boxes = [
        box
        for tier in sorted(set(tiers.values()))
        for box in _switch_boxes([name for name, at in tiers.items() if at == tier], tier, keys, below)
    ]
    lowest = _server_boxes(topology, len(hosts)) if is_rails else _host_boxes(switch_boxes, adapters)
    boxes = [*lowest, *switch_boxes]
    return FabricMap(
        shape=shape_text(topology, len(hosts), len(tiers)),
        hosts=len(hosts),
        switches=len(tiers),
        adapters=topology["rails"] if is_rails else adapters,
        scale_up_bps=(topology.get("scale_up_link") or {}).get("rate_bps"),
        tiers=_tiers(tiers, ratios),
        boxes=boxes,
        bundles=_bundles(boxes, hosts, links),
    )


def _of_kind(nodes: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [node for node in nodes if node["kind"] == kind]


def shape_text(topology: Mapping[str, Any], hosts: int, switches: int) -> str:
    """Return the shape of a fabric in words, such as "8 rails x 64 servers in 2 pods"."""
    kind = topology["kind"]
    if kind == "rail-optimised":
        return f"{topology['rails']} rails x {topology['servers']} servers"
    if kind == "rail-pods":
        pods, servers = topology["pods"], topology["pods"] * topology["servers_per_pod"]
        return f"{topology['rails']} rails x {servers} servers in {counted(pods, 'pod')}"
    if kind == "fat-tree":
        leaves, each = topology["leaves_per_pod"], topology["hosts_per_leaf"]
        return f"{counted(topology['pods'], 'pod')} x {leaves} leaves x {each} hosts"
    if kind in ("leaf-spine", "multi-plane"):
        text = f"{topology['leaves']} leaves x {topology['hosts_per_leaf']} hosts"
        return f"{topology['planes']} planes x {text}" if kind == "multi-plane" else text
    if kind == "full-mesh":
        return f"{counted(hosts, 'host')} on an ideal crossbar"
    return f"{counted(hosts, 'host')}, {counted(switches, 'switch')}"


def _keys(
    topology: Mapping[str, Any], tiers: Mapping[str, int], links: Iterable[Mapping[str, Any]]
) -> dict[str, Key]:
    """Return the position of each switch, from its number in the order of the engine."""
    rules: dict[tuple[str, str], Callable[[int], Key]] = {
        ("fat-tree", "leaf"): lambda number: Key(pod=number // topology["leaves_per_pod"]),
        ("fat-tree", "agg"): lambda number: Key(pod=number // topology["aggs_per_pod"]),
        ("rail-optimised", "rail"): lambda number: Key(rail=number),
        ("rail-pods", "leaf"): lambda number: Key(
            pod=number // topology["rails"], rail=number % topology["rails"]
        ),
        ("rail-pods", "spine"): lambda number: Key(rail=number // topology["spines_per_rail"]),
        ("multi-plane", "leaf"): lambda number: Key(plane=number // topology["leaves"]),
        ("multi-plane", "spine"): lambda number: Key(plane=number // topology["spines"]),
    }
    if topology["kind"] == "custom":
        cables = [(link["from"], link["to"]) for link in links if link["from"] in tiers]
        return {name: Key(pod=pod) for name, pod in _joined_pods(tiers, cables).items()}
    keys = {}
    for name in tiers:
        prefix, number = _parts(name)
        rule = rules.get((topology["kind"], prefix))
        if rule is not None and number is not None:
            keys[name] = rule(number)
    return keys


def _parts(name: str) -> tuple[str, int | None]:
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2]) if match[2] else None) if match else (name, None)


def _joined_pods(tiers: Mapping[str, int], cables: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Number the sets of switches that are joined below the highest tier; none for a single set."""
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


def _hosts_below(
    hosts: Mapping[str, int], tiers: Mapping[str, int], links: Iterable[Mapping[str, Any]]
) -> dict[str, list[int]]:
    """Return the numbers of the hosts on each switch."""
    below: dict[str, list[int]] = {}
    for link in links:
        if link["from"] in hosts and link["to"] in tiers:
            below.setdefault(link["to"], []).append(hosts[link["from"]])
    return below


def _switch_boxes(
    names: Sequence[str], tier: int, keys: Mapping[str, Key], below: Mapping[str, list[int]]
) -> list[MapBox]:
    """Return the boxes of a tier: single switches, or blocks within a position, or of pods or positions."""
    ordered = sorted(names, key=lambda name: _sort_key(keys.get(name, Key())))
    positions = [
        (key, list(group)) for key, group in groupby(ordered, key=lambda name: keys.get(name, Key()))
    ]
    if len(names) <= (_LEAVES_MAX if tier == 1 else _UPPER_MAX):
        groups = [[name] for name in ordered]
    elif len(positions) <= _POSITIONS_MAX:
        # Only leaves differ within a position, by the jobs on their hosts.
        each = max(1, _BLOCKS_MAX // len(positions)) if tier == 1 else 1
        groups = [block for _, members in positions for block in _blocks(members, each)]
    else:
        by_pod = groupby(positions, key=lambda position: position[0].pod)
        pods = [[name for _, members in group for name in members] for _, group in by_pod]
        parts = pods if len(pods) > 1 else [members for _, members in positions]
        groups = [[name for part in block for name in part] for block in _blocks(parts, _BLOCKS_MAX)]
    return [_switch_box(group, tier, keys, below) for group in groups]


def _sort_key(key: Key) -> tuple[int, int, int]:
    return (key.plane or 0, key.pod or 0, key.rail or 0)


def _blocks(items: Sequence[Any], count: int) -> list[list[Any]]:
    """Divide items into at most so many blocks of equal size, but for the last."""
    size = -(-len(items) // count)
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def _switch_box(
    names: Sequence[str], tier: int, keys: Mapping[str, Key], below: Mapping[str, list[int]]
) -> MapBox:
    positions = [keys.get(name, Key()) for name in names]
    pods = sorted({key.pod for key in positions if key.pod is not None})
    numbers = sorted({number for name in names for number in below.get(name, ())})
    return MapBox(
        label=_range_text(names),
        tier=tier,
        switches=list(names),
        hosts=runs_of(numbers),
        pods=(pods[0], pods[-1]) if pods else None,
        rail=_only(key.rail for key in positions),
        plane=_only(key.plane for key in positions),
    )


def _only(values: Iterable[int | None]) -> int | None:
    """Return the value that all have; none if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _range_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _host_boxes(boxes: Sequence[MapBox], adapters: int) -> list[MapBox]:
    """Return a box of hosts for each box of switches with hosts, but the hosts of further planes."""
    with_hosts = [box for box in boxes if box.hosts and not box.plane]
    return [
        MapBox(
            label=f"hosts of {box.label}",
            tier=0,
            hosts=box.hosts,
            pods=box.pods,
            servers=_host_count(box) // adapters if adapters > 1 else 0,
        )
        for box in with_hosts
    ]


def _host_count(box: MapBox) -> int:
    return sum(last - first + 1 for first, last in box.hosts)


def _server_boxes(topology: Mapping[str, Any], hosts: int) -> list[MapBox]:
    """Return the servers of rails: each of few, or a box for each pod or block of pods."""
    rails = topology["rails"]
    servers = hosts // rails
    pods = topology.get("pods", 1)
    count = servers if servers <= _SERVERS_MAX else min(pods, _BLOCKS_MAX)
    per_pod = servers // pods
    return [
        MapBox(
            label=_range_text([f"server{block[0]}", f"server{block[-1]}"][: len(block)]),
            tier=0,
            hosts=[(block[0] * rails, (block[-1] + 1) * rails - 1)],
            pods=(block[0] // per_pod, block[-1] // per_pod) if "pods" in topology else None,
            servers=len(block),
        )
        for block in _server_blocks(servers, per_pod, count)
    ]


def _server_blocks(servers: int, per_pod: int, count: int) -> list[range]:
    """Divide servers into blocks: single ones, or whole pods."""
    size = 1 if count == servers else -(-servers // per_pod // count) * per_pod
    return [range(start, min(start + size, servers)) for start in range(0, servers, size)]


def _tiers(tiers: Mapping[str, int], ratios: Sequence[tuple[int, int]]) -> list[MapTier]:
    rows: list[MapTier] = []
    for tier in sorted(set(tiers.values())):
        names = [name for name, at in tiers.items() if at == tier]
        prefixes = {_parts(name)[0] for name in names}
        name = _TIER_NAMES.get(prefixes.pop(), "switches") if len(prefixes) == 1 < len(tiers) else "switches"
        down_bps, up_bps = ratios[len(rows)] if len(rows) < len(ratios) else (0, 0)
        rows.append(MapTier(tier=tier, name=name, switches=len(names), down_bps=down_bps, up_bps=up_bps))
    return rows


def _bundles(
    boxes: Sequence[MapBox], hosts: Mapping[str, int], links: Iterable[Mapping[str, Any]]
) -> list[MapBundle]:
    """Return the links between each two boxes that have some."""
    box_of_switch = {name: number for number, box in enumerate(boxes) for name in box.switches}
    box_of_host = {
        host: number
        for number, box in enumerate(boxes)
        if box.tier == 0
        for first, last in box.hosts
        for host in range(first, last + 1)
    }
    rates: dict[tuple[int, int], Counter[int]] = {}
    for link in links:
        source = link["from"]
        lower = box_of_host[hosts[source]] if source in hosts else box_of_switch.get(source)
        upper = box_of_switch.get(link["to"])
        if lower is not None and upper is not None:  # else the scale-up switch of a server
            rates.setdefault((lower, upper), Counter())[link["rate_bps"]] += 1
    return [
        MapBundle(lower=lower, upper=upper, links=counts.total(), rates_bps=sorted(counts))
        for (lower, upper), counts in rates.items()
    ]
