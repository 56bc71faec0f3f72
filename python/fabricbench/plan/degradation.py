"""Adapters, links and switches of a fabric, degraded: groups of equal ones, and run specs with one of them.

An adapter is a host's port with its cable. Elements are grouped by their loads, from the paths of all queue
pairs of the trials. Those that no data use lose nothing; of the others, the one with most load and the one
with least are run, and stand for those between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from fabricbench.plan import engine

if TYPE_CHECKING:
    from fabricbench.plan.engine import DirectionLoad, LoadedLink
    from fabricbench.plan.expand import PlannedTrial

LOSS_PPM: Final = 100
"""Frames that a lossy element loses [ppm]: 1e-4."""
GROUPS_MAX: Final = 4
"""Most groups of one kind of elements that have different loads."""
_ALIGNMENT: Final = 16
"""Bytes of which the part of a rank in less data is a multiple."""
_EQUAL: Final = 1.001
"""Ratio of the loads of equal elements at most: blocks of a collective differ by some bytes."""


class State(StrEnum):
    """State of a degraded element."""

    HALF_RATE = "half rate"
    LOSS = "1e-4 loss"
    DOWN = "down"


class Kind(StrEnum):
    """Kind of an element."""

    ADAPTER = "adapter"
    LINK = "link"
    SWITCH = "switch"


@dataclass(frozen=True)
class Load:
    """Load of an element by a job of a trial, both directions.

    Attributes:
        queue_pairs: Queue pairs whose data use it.
        bytes: Their payload.
        acknowledged: Queue pairs whose acknowledgements use it.
    """

    queue_pairs: int = 0
    bytes: int = 0
    acknowledged: int = 0

    def __add__(self, other: Load) -> Load:
        return Load(
            self.queue_pairs + other.queue_pairs,
            self.bytes + other.bytes,
            self.acknowledged + other.acknowledged,
        )


@dataclass(frozen=True)
class Element:
    """An adapter, link or switch.

    Attributes:
        name: Its name: of a cable that of its nodes.
        kind: Its kind.
        nodes: Its nodes: of a cable two, lower tier first.
        tiers: Their tiers.
        rate_bps: Its rates by cable: one, or those of all cables of a switch.
        loads: Its load by jobs that use it, by trial and job.
    """

    name: str
    kind: Kind
    nodes: Sequence[str]
    tiers: Sequence[int]
    rate_bps: Mapping[str, int]
    loads: Mapping[tuple[int, int], Load]

    def load(self, trial: int) -> Load:
        """Return the load by all jobs of a trial."""
        return sum((load for (index, _), load in self.loads.items() if index == trial), Load())

    @property
    def weight(self) -> int:
        """Bytes of all trials."""
        return sum(load.bytes for load in self.loads.values())

    @property
    def acknowledged(self) -> int:
        """Queue pairs of all trials whose acknowledgements use it."""
        return sum(load.acknowledged for load in self.loads.values())

    @property
    def likeness(self) -> tuple[Any, ...]:
        """What equal elements have in common, apart from their bytes."""
        rates = sorted(self.rate_bps.values())
        counts = sorted((key, load.queue_pairs, load.acknowledged) for key, load in self.loads.items())
        return (*self.family, rates, counts)

    @property
    def family(self) -> tuple[Any, ...]:
        """Elements of a family are shown next to each other: same kind and tiers."""
        return (self.kind, list(self.tiers))


@dataclass(frozen=True)
class Group:
    """Elements of a family with equal loads, or with loads next to each other.

    Attributes:
        elements: From the largest load to the smallest.
        are_equal: Whether their loads are equal.
    """

    elements: Sequence[Element]
    are_equal: bool

    @property
    def computed(self) -> list[Element]:
        """Elements that stand for all: those with the largest and with the smallest load."""
        first, last = self.elements[0], self.elements[-1]
        return [first] if first is last else [first, last]


def elements_of(trials: Sequence[PlannedTrial]) -> list[Element]:
    """Return adapters, links and switches of the fabric of some trials, with the loads by each of them.

    Raises:
        SpecError: The flow model, which computes the paths, does not cover a trial.
    """
    links_by_trial = [engine.link_loads(trial.spec_json) for trial in trials]
    # Ideal switches are scale-up domains next to other switches, and the mesh without them.
    has_switches = not all(link["ends"][1]["is_ideal"] for link in links_by_trial[0])
    cables = [
        _cable(links)
        for links in zip(*links_by_trial, strict=True)
        if not (has_switches and links[0]["ends"][1]["is_ideal"])
    ]
    return [*cables, *_switches(links_by_trial[0], cables)]


def _cable(links: Sequence[LoadedLink]) -> Element:
    first = links[0]
    nodes = [end["node"] for end in first["ends"]]
    tiers = [end["tier"] for end in first["ends"]]
    kind = Kind.LINK if tiers[0] else Kind.ADAPTER
    loads = {
        (trial, load["job"]): _load(load["directions"])
        for trial, link in enumerate(links)
        for load in link["loads"]
    }
    return Element(first["name"], kind, nodes, tiers, {first["name"]: first["rate_bps"]}, loads)


def _load(directions: Sequence[DirectionLoad]) -> Load:
    return Load(
        sum(direction["queue_pairs"] for direction in directions),
        sum(direction["bytes"] for direction in directions),
        sum(direction["acknowledged_queue_pairs"] for direction in directions),
    )


def _switches(links: Sequence[LoadedLink], cables: Sequence[Element]) -> Iterator[Element]:
    """Yield the switches, with the cables of each."""
    by_name = {cable.name: cable for cable in cables}
    members: dict[tuple[str, int], list[Element]] = {}
    for link in links:
        for end in link["ends"]:
            if end["tier"] and not end["is_ideal"] and link["name"] in by_name:
                members.setdefault((end["node"], end["tier"]), []).append(by_name[link["name"]])
    for (name, tier), own in members.items():
        rates = {cable.name: rate for cable in own for rate in cable.rate_bps.values()}
        loads: dict[tuple[int, int], Load] = {}
        for cable in own:
            for key, load in cable.loads.items():
                loads[key] = loads.get(key, Load()) + load
        yield Element(name, Kind.SWITCH, [name], [tier], rates, loads)


def groups_of(elements: Sequence[Element]) -> list[Group]:
    """Return the groups of elements: those with equal loads, or at most `GROUPS_MAX` of each family."""
    ordered = sorted(elements, key=lambda element: element.family)
    return [
        group
        for _, family in groupby(ordered, key=lambda element: element.family)
        for group in _groups_of_family(list(family))
    ]


def _groups_of_family(family: Sequence[Element]) -> Iterator[Group]:
    ordered = sorted(family, key=lambda element: (-element.weight, -element.acknowledged))
    unused = [element for element in ordered if not element.weight and not element.acknowledged]
    acknowledging = [element for element in ordered if not element.weight and element.acknowledged]
    used = [element for element in ordered if element.weight]
    equal = list(_equal(used))
    if len(equal) <= GROUPS_MAX:
        yield from equal
    else:
        size = -(-len(used) // GROUPS_MAX)
        yield from (Group(used[start : start + size], False) for start in range(0, len(used), size))
    yield from (Group(rest, False) for rest in (acknowledging, unused) if rest)


def _equal(elements: Sequence[Element]) -> Iterator[Group]:
    """Yield the groups of elements with equal loads."""
    ordered = sorted(elements, key=lambda element: (element.likeness, -element.weight))
    for _, alike in groupby(ordered, key=lambda element: element.likeness):
        group: list[Element] = []
        for element in alike:
            if group and group[0].weight > _EQUAL * element.weight:
                yield Group(group, True)
                group = []
            group.append(element)
        yield Group(group, True)


def is_unaffected(group: Group, trial: int, state: State, elements: Sequence[Element]) -> bool:
    """Whether a trial loses nothing by an element of a group, without a run of it.

    That is so if no data use it. Lost acknowledgements may matter. If a link is down, hashes choose among
    the others, also for data that did not use it: none matter if no data cross between switches.
    """
    loads = [element.load(trial) for element in group.elements]
    if any(load.queue_pairs for load in loads):
        return False
    if state is State.LOSS:
        return not any(load.acknowledged for load in loads)
    is_chosen = state is State.DOWN and group.elements[0].kind is not Kind.ADAPTER
    links = [element.load(trial) for element in elements if element.kind is Kind.LINK]
    return not is_chosen or not any(load.queue_pairs for load in links)


def degraded(trial: PlannedTrial, element: Element, state: State, loss_ppm: int = LOSS_PPM) -> PlannedTrial:
    """Return a trial with an element in a state from the start, after routes have converged.

    A switch is degraded on each of its cables. Since a frame uses two of them, each loses half of the frames.
    """
    spec = json.loads(trial.spec_json)
    spec["fabric"]["failures"] = list(_failures(element, state, loss_ppm))
    spec["fabric"]["convergence_time_ps"] = 0
    return replace(trial, run_spec=spec)


def shortened(trial: PlannedTrial, ratio: float) -> PlannedTrial:
    """Return a trial with less data by a ratio, rounded down to equal parts of all ranks; at least one.

    NCCL's choice of algorithm, protocol, channels and chunks remains.
    """
    spec = json.loads(trial.spec_json)
    for job in spec["jobs"]:
        pattern = job["work"]["pattern"]
        ranks = len(job["hosts"])
        unit = _ALIGNMENT * (ranks if engine.shares(pattern["collective"], ranks) > 1 else 1)
        pattern["data_bytes"] = max(unit, int(pattern["data_bytes"] * ratio) // unit * unit)
    return replace(trial, run_spec=spec)


def unrecorded(trial: PlannedTrial) -> PlannedTrial:
    """Return a trial that only counts its chunks, and samples nothing."""
    spec = json.loads(trial.spec_json)
    spec["observe"] |= {"chunks": "summary", "series_points": 0, "path_rows": 0}
    return replace(trial, run_spec=spec)


def _failures(element: Element, state: State, loss_ppm: int) -> Iterator[dict[str, Any]]:
    is_switch = element.kind is Kind.SWITCH
    if state is State.DOWN and is_switch:
        yield {"kind": "switch-down", "at_ps": 0, "switch": element.name}
        return
    for link, rate_bps in element.rate_bps.items():
        failure: dict[str, Any] = {"at_ps": 0, "link": link}
        if state is State.DOWN:
            yield failure | {"kind": "link-down"}
        elif state is State.HALF_RATE:
            yield failure | {"kind": "link-rate", "rate_bps": rate_bps // 2}
        else:
            yield failure | {"kind": "frame-loss", "lost_ppm": loss_ppm // 2 if is_switch else loss_ppm}
