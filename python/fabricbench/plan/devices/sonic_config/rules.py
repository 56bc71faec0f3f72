"""Functions that derive fields of a plan from SONiC's configuration, in `SWITCH_RULES` and `PORT_RULES`.

SONiC has a value for each port, a plan one for all switches. A rule reads one port and the traffic class of
RDMA data; `conversion` takes the value of most ports and warns of those that differ. A new field of the model
is one more rule here, and one sentence less in `left_out_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.sonic_config.config_db import Sonic
from fabricbench.plan.devices.sonic_config.pools import ratio_of
from fabricbench.plan.devices.sonic_config.port import (
    Curve,
    Entry,
    Port,
    curve_of,
    has_worked_out_headroom,
    marks,
)
from fabricbench.plan.devices.sonic_config.tables import COLOURS, PRIORITIES
from fabricbench.words import counted

_DYNAMIC: Final = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
QUANTUM_LEAST: Final = 8 << 10
"""Quantum of the smallest weight [bytes]: enough for a full frame in each round."""


@dataclass(frozen=True)
class DerivedValue:
    """Value that a rule derives, with its origin.

    Attributes:
        value: The value in the form of a plan.
        origin: Table, key and field, as SONiC's tools name them.
    """

    value: Any
    origin: str


@dataclass(frozen=True)
class Subject:
    """Input of a rule of ports: the file, a port and the traffic class of data.

    Attributes:
        sonic: The file.
        port: The port.
        data: Traffic class of RDMA data.
    """

    sonic: Sonic
    port: Port
    data: int

    @property
    def group(self) -> Entry | None:
        """Profile of the priority group of data; none if data is lossy, or SONiC works the profile out."""
        if not self.port.is_lossless(self.data):
            return None
        return self.port.groups.get(self.port.group_of(self.data))


def wred_of(sonic: Sonic, port: Port, traffic_class: int) -> Entry | None:
    """Return the WRED profile of the queue of a traffic class; none if none marks or drops its frames."""
    queue = port.queues.get(port.queue_of(traffic_class))
    name = queue.get("wred_profile") if queue else None
    profile = sonic.tables["WRED_PROFILE"][name] if name else None
    return profile if profile is not None and any(curves_of(profile)) else None


def curves_of(profile: Entry) -> tuple[Curve | None, ...]:
    """Return the curve of a WRED profile for each colour.

    A colour with ECN but without fields of its own has the curve of green.
    """
    green = curve_of(profile, COLOURS[0])

    def of(colour: str) -> Curve | None:
        has_own_fields = any(colour in name.split("_") for name in profile.values)
        return curve_of(profile, colour) if has_own_fields or not marks(profile, colour) else green

    return tuple(map(of, COLOURS))


def _buffer_size(sonic: Sonic) -> DerivedValue | None:
    """Return the whole memory: the ingress pools with their headroom, or an egress pool that is larger.

    Pools of the egress side overlap: each may be the whole memory.
    """
    pools = [pool for pool in sonic.entries("BUFFER_POOL") if pool.get("type") in ("ingress", "both")]
    parts = [pool.get(name) for pool in pools for name in ("size", "xoff")]
    if not pools or any(pool.get("size") is None for pool in pools):
        return None
    origin = " + ".join(
        pool.name(name) for pool in pools for name in ("size", "xoff") if pool.get(name) is not None
    )
    size = sum(part for part in parts if part)
    largest = max(sonic.entries("BUFFER_POOL"), key=lambda pool: pool.get("size") or 0)
    if largest.get("size") > size:
        size, origin = largest.get("size"), largest.name("size")
    return DerivedValue(units.format_size(size), origin) if size else None


def _lossy_alpha(subject: Subject) -> DerivedValue | None:
    """Return the limit of a lossy queue by SAI: 2^n times the free part of the pool."""
    for traffic_class in range(PRIORITIES):
        profile = subject.port.buffers.get(subject.port.queue_of(traffic_class))
        if (
            profile is not None
            and not subject.port.is_lossless(traffic_class)
            and "dynamic_th" in profile.values
        ):
            return DerivedValue(ratio_of(profile.get("dynamic_th")), profile.name("dynamic_th"))
    return None


def _xoff(subject: Subject) -> DerivedValue | None:
    profile = subject.group
    if profile is None:
        defaults = subject.sonic.entries(_DYNAMIC)
        worked_out = subject.port.is_lossless(subject.data) and defaults
        if worked_out and (power := defaults[0].get("default_dynamic_th")) is not None:
            return DerivedValue({"alpha": ratio_of(power)}, defaults[0].name("default_dynamic_th"))
        return None
    if (power := profile.get("dynamic_th")) is not None:
        return DerivedValue({"alpha": ratio_of(power)}, profile.name("dynamic_th"))
    if (size := profile.get("static_th")) is not None:
        return DerivedValue({"bytes": units.format_size(size)}, profile.name("static_th"))
    return None


def _xon_offset(subject: Subject) -> DerivedValue | None:
    """Return the resume offset. SAI: a pause ends at max(xon, threshold - xon_offset), without offset at xon.

    Below a dynamic threshold, xon is no offset: without xon_offset a pause ends at the threshold.
    """
    profile = subject.group
    if profile is None or has_worked_out_headroom(profile):
        return None
    offset, origin = profile.get("xon_offset"), profile.name("xon_offset")
    threshold, level = profile.get("static_th"), profile.get("xon")
    if threshold is not None and level and (offset is None or threshold - level < offset):
        offset, origin = max(0, threshold - level), f"{profile.name('static_th')} - xon"
    elif offset is None:
        offset, origin = 0, profile.name("xon_offset, which is not there")
    return DerivedValue(units.format_size(offset) if offset else 0, origin)


def _reserved(subject: Subject) -> DerivedValue | None:
    """Return `size` without the headroom that it includes, unless the headroom is shared or larger."""
    profile = subject.group
    if profile is None or profile.get("size") is None:
        return None
    size, headroom = profile.get("size"), profile.get("xoff") or 0
    pool = subject.sonic.tables.get("BUFFER_POOL", {}).get(profile.get("pool") or "")
    excludes_headroom = bool(pool is not None and pool.get("xoff")) or size < headroom
    origin = profile.name("size") if excludes_headroom else f"{profile.name('size')} - xoff"
    reserved = size if excludes_headroom else size - headroom
    return DerivedValue(units.format_size(reserved) if reserved else 0, origin)


def _headroom(subject: Subject) -> DerivedValue | None:
    profile = subject.group
    if profile is None or not profile.get("xoff"):
        return None
    return DerivedValue(units.format_size(profile.get("xoff")), profile.name("xoff"))


def _watchdog(subject: Subject) -> DerivedValue | None:
    entry = subject.port.watchdog
    if entry is None or not subject.port.is_lossless(subject.data) or "detection_time" not in entry.values:
        return None
    watched = subject.port.watched
    if watched is not None and not set(watched) & set(subject.port.pausing(subject.data)):
        return None
    if entry.get("action") == "alert":
        return None
    value = {"detection": f"{entry.get('detection_time')}ms", "action": entry.get("action") or "drop"}
    if restoration := entry.get("restoration_time"):
        value["restoration"] = f"{restoration}ms"
    return DerivedValue(value, f"{entry.table}|{entry.key}")


def _scheduling(subject: Subject) -> DerivedValue | None:
    """Return quanta in the ratio of the weights, at least a full frame each; none with a strict queue.

    A queue without a scheduler has that of the least weight, so that weights are the same when written back.
    """
    weight_by_class = {
        traffic_class: entry.get("weight") or 1
        for traffic_class, entry in _schedulers(subject.sonic, subject.port)
    }
    if not weight_by_class or is_strict(subject.sonic, subject.port) is not False:
        return None
    common = gcd(*weight_by_class.values())
    least = min(weight_by_class.values()) // common
    unit = -(-QUANTUM_LEAST // least)
    weights = {
        traffic_class: weight_by_class[traffic_class] // common if traffic_class in weight_by_class else least
        for traffic_class in range(PRIORITIES)
    }
    quanta = {
        str(traffic_class): units.format_size(weight * unit) for traffic_class, weight in weights.items()
    }
    names = ", ".join(dict.fromkeys(entry.key for _, entry in _schedulers(subject.sonic, subject.port)))
    return DerivedValue({"dwrr": {"quantum": quanta}}, f"SCHEDULER|{names}: weight")


def _schedulers(sonic: Sonic, port: Port) -> Iterator[tuple[int, Entry]]:
    for traffic_class in range(PRIORITIES):
        queue = port.queues.get(port.queue_of(traffic_class))
        if queue is not None and queue.get("scheduler"):
            yield traffic_class, sonic.tables["SCHEDULER"][queue.get("scheduler")]


def is_strict(sonic: Sonic, port: Port) -> bool | None:
    """Whether the queues of a port have strict priority; none if only some have."""
    kinds = {entry.get("type") == "strict" for _, entry in _schedulers(sonic, port)}
    return kinds.pop() if len(kinds) == 1 else (True if not kinds else None)


SWITCH_RULES: Final[tuple[tuple[str, Callable[[Sonic], DerivedValue | None]], ...]] = (
    ("fabric.switch.buffer.size", _buffer_size),
)
"""A field, and the rule that derives it from the whole file."""
PORT_RULES: Final[tuple[tuple[str, Callable[[Subject], DerivedValue | None]], ...]] = (
    ("fabric.switch.buffer.lossy_alpha", _lossy_alpha),
    ("fabric.switch.scheduling", _scheduling),
    ("fabric.switch.pfc.xoff", _xoff),
    ("fabric.switch.pfc.xon_offset", _xon_offset),
    ("fabric.switch.pfc.reserved", _reserved),
    ("fabric.switch.pfc.headroom", _headroom),
    ("fabric.switch.pfc.watchdog", _watchdog),
)
"""A field, and the rule that derives it from a port. `conversion` has priorities of PFC and thresholds of
ECN: they concern several classes, and several speeds."""


def left_out_of(sonic: Sonic, data: int, *, has_pools: bool) -> Iterator[str]:
    """Yield the effects of fields that the model leaves out.

    Args:
        sonic: The configuration.
        data: Traffic class of RDMA data.
        has_pools: Its pools are read as pools, not as one buffer.
    """
    if not has_pools:
        yield from _left_out_of_pools(sonic)
    subjects = [Subject(sonic, port, data) for port in sonic.ports]
    profiles = {subject.group.key: subject.group for subject in subjects if subject.group is not None}
    for profile in profiles.values():
        if profile.get("xon") and "static_th" not in profile.values:
            yield f"{profile.name('xon')}: {profile.get('xon')}, the least level at which a pause ends"
    if any(subject.group is None and subject.port.is_lossless(data) for subject in subjects):
        yield "BUFFER_PG: profiles that SONiC works out by itself: headroom is `auto` here"
    yield from _left_out_of_queues(sonic, has_pools=has_pools)
    priorities_without_scheduler = {
        priority
        for port in sonic.ports
        if is_strict(sonic, port) is False
        for priority in set(range(PRIORITIES)) - {number for number, _ in _schedulers(sonic, port)}
    }
    if priorities_without_scheduler:
        numbers = ", ".join(map(str, sorted(priorities_without_scheduler)))
        yield f"QUEUE: no scheduler for priority {numbers}: the least weight of the others here, 1 in SAI"
    if any(entry.get("type") == "wrr" for port in sonic.ports for _, entry in _schedulers(sonic, port)):
        yield "SCHEDULER: WRR counts frames; queues take turns by bytes here"
    if any(port.watchdog is not None and port.watchdog.get("action") == "alert" for port in sonic.ports):
        yield "PFC_WD: action alert, which changes no frame: there is no watchdog here"
    used = {profile.key for port in sonic.ports for profile in port.groups.values() if profile is not None}
    used |= {profile.key for port in sonic.ports for profile in port.buffers.values() if profile is not None}
    if unused := [profile.key for profile in sonic.entries("BUFFER_PROFILE") if profile.key not in used]:
        shown = ", ".join(unused[:4]) + (" ..." if len(unused) > 4 else "")
        yield f"BUFFER_PROFILE: {counted(len(unused), 'profile')} of no priority group or queue: {shown}"


def _left_out_of_pools(sonic: Sonic) -> Iterator[str]:
    pools = sonic.entries("BUFFER_POOL")
    ingress = [pool for pool in pools if pool.get("type") in ("ingress", "both")]
    if len(ingress) > 1:
        yield f"BUFFER_POOL: {', '.join(pool.key for pool in ingress)} are one memory here, shared by all"
    for pool in ingress:
        if pool.get("xoff"):
            yield f"{pool.name('xoff')}: a headroom pool that ports share; each has its whole headroom here"
        if pool.get("size") is None:
            yield f"{pool.name('size')}: worked out by SONiC; give `fabric.switch.buffer`"
    if egress := [pool.key for pool in pools if pool.get("type") == "egress"]:
        yield f"BUFFER_POOL: limits of egress pools ({', '.join(egress)})"


def _left_out_of_queues(sonic: Sonic, *, has_pools: bool) -> Iterator[str]:
    lossy, lossless, reserves, fixed, mixed, shared = (set[str]() for _ in range(6))
    for port in sonic.ports:
        queues = [port.queue_of(traffic_class) for traffic_class in range(PRIORITIES)]
        shared |= {str(traffic_class) for traffic_class in queues if queues.count(traffic_class) > 1}
        for traffic_class in range(PRIORITIES):
            profile, group = (
                port.buffers.get(queues[traffic_class]),
                port.groups.get(port.group_of(traffic_class)),
            )
            is_lossless = port.is_lossless(traffic_class)
            if profile is not None:
                (lossless if is_lossless else fixed if "static_th" in profile.values else reserves).add(
                    profile.key
                )
            if group is not None and not is_lossless:
                lossy.add(group.key)
        if is_strict(sonic, port) is None:
            mixed.add(port.name)
    for names, setting in (
        (lossy, "BUFFER_PG: thresholds of lossy priority groups"),
        (lossless, "BUFFER_QUEUE: thresholds and reserves of lossless queues"),
        (fixed, "BUFFER_QUEUE: fixed thresholds of lossy queues"),
        (reserves, "BUFFER_QUEUE: reserves (`size`) of lossy queues"),
    ):
        if names and not has_pools:
            yield f"{setting}: {', '.join(sorted(names))}"
    if mixed:
        yield f"SCHEDULER: strict and weighted queues at {counted(len(mixed), 'port')}: all strict here"
    if shared:
        numbers = ", ".join(sorted(shared))
        yield f"TC_TO_QUEUE_MAP: traffic classes that share queue {numbers}: each has its own here"
