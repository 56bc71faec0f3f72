"""SONiC's `config_db.json` as fields of a plan, for the traffic class that carries RDMA data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import PLAN_HOLDS_ONE, Fragment, Value, names_text, value_text
from fabricbench.plan.devices.sonic_pools import Pools, overcommitted, pools_of
from fabricbench.plan.devices.sonic_port import Curve, Entry, Port
from fabricbench.plan.devices.sonic_ports import FORMAT, Sonic
from fabricbench.plan.devices.sonic_rules import (
    PORT_RULES,
    SWITCH_RULES,
    Found,
    Subject,
    curves_of,
    left_out_of,
    wred_of,
)
from fabricbench.plan.devices.sonic_tables import COLOURS, PRIORITIES
from fabricbench.plan.errors import PlanError, Problem
from fabricbench.words import counted

USUAL_PRIORITY: Final = 3
"""The usual lossless priority of RoCEv2."""
_PFC: Final = "fabric.switch.pfc"
_ECN: Final = "fabric.switch.ecn"
POOLS: Final = "fabric.switch.buffer.pools"
LOSSY_ALPHA: Final = "fabric.switch.buffer.lossy_alpha"
"""What stands for the limits of pools where there are none."""
_SHOWN: Final = 3
_NAMES: Final = {"kmin": "min_threshold", "kmax": "max_threshold", "pmax": "drop_probability"}
"""Fields of `ecn`, and what they are called of each colour in SONiC."""
_Curves = tuple[Curve | None, ...]
FIELDS: Final = frozenset(
    {
        *(field for field, _ in (*SWITCH_RULES, *PORT_RULES)),
        *(f"{_ECN}.{name}" for name in ("kmin", "kmax", "pmax", "reference_rate", "priorities", "wred")),
        *(POOLS, f"{_PFC}.priorities", "transport.priorities.data", "transport.priorities.cnp"),
    }
)
"""Every field of a plan that a configuration may give."""


@dataclass(frozen=True)
class Carried:
    """Which priorities of a plan carry what.

    Attributes:
        data: That of data; none to take the one that the file is about.
        data_dscp: DSCP of data, to look the priority up; none if the priority is known.
        cnp_dscp: DSCP of CNPs, likewise.
        others: Those of other traffic of the plan.
    """

    data: int | None = None
    data_dscp: int | None = None
    cnp_dscp: int | None = None
    others: frozenset[int] = frozenset()


def fragment_of(sonic: Sonic, carried: Carried) -> Fragment:
    """Return what a configuration gives to a plan.

    Raises:
        PlanError: A DSCP is asked for that it has no traffic class for.
    """
    return _Made(sonic, carried).fragment()


class _Made:
    """The fields for one traffic class, as they are found."""

    def __init__(self, sonic: Sonic, carried: Carried) -> None:
        self.sonic, self.carried = sonic, carried
        self.values: list[Value] = []
        self.warnings: list[str] = []

    def fragment(self) -> Fragment:
        data = self._data()
        for field, find in SWITCH_RULES:
            if (found := find(self.sonic)) is not None:
                self.values.append(Value(field, found.value, found.origin))
        lossless = self._lossless(data)
        self._packet_sizes()
        pools = self._pools(lossless)
        for field, rule in PORT_RULES:
            self._agreed(field, lambda port, rule=rule: rule(Subject(self.sonic, port, data)))  # type: ignore[misc]
        self._marking(data)
        # PFC with every default needs a field too, or a plan would leave it off.
        if lossless and not any(each.field.startswith(_PFC) for each in self.values):
            self.values.append(Value(f"{_PFC}.priorities", lossless, "PORT_QOS_MAP: pfc_enable"))
        has_pools = pools.value is not None
        left_out = (
            *self._about_priorities(data),
            *pools.left_out,
            *left_out_of(self.sonic, data, has_pools=has_pools),
            *self.sonic.left_out,
        )
        instead = {LOSSY_ALPHA} if has_pools else set[str]()
        return Fragment(
            FORMAT,
            self.sonic.file.source,
            self.sonic.read,
            tuple(each for each in self.values if each.field not in instead),
            tuple(self.warnings),
            left_out,
            tuple(each for each in self.values if each.field in instead),
        )

    def _data(self) -> int:
        """Return the priority of data, and say where it comes from unless the plan does."""
        carried = self.carried
        if carried.cnp_dscp is not None:
            cnp = self._class_of(carried.cnp_dscp, "cnp_dscp")
            self.values.append(Value("transport.priorities.cnp", cnp.value, cnp.origin))
        if carried.data_dscp is not None:
            data = self._class_of(carried.data_dscp, "data_dscp")
            self.values.append(Value("transport.priorities.data", data.value, data.origin))
            return int(data.value)
        if carried.data is not None:
            return carried.data
        lossless = {each for port in self.sonic.ports for each in range(PRIORITIES) if port.is_lossless(each)}
        chosen = USUAL_PRIORITY if not lossless or USUAL_PRIORITY in lossless else min(lossless)
        origin = "PORT_QOS_MAP: pfc_enable" if lossless else "the usual priority, as the file pauses none"
        self.values.append(Value("transport.priorities.data", chosen, origin))
        return chosen

    def _class_of(self, dscp: int, name: str) -> Found:
        classes = Counter(port.class_of(dscp) for port in self.sonic.ports)
        found, count = classes.most_common(1)[0] if classes else (None, 0)
        if found is not None and found >= PRIORITIES:
            place = self.sonic.file.place(("DSCP_TO_TC_MAP",))
            allowed = (
                f"a DSCP of class 0 to {PRIORITIES - 1}, as classes from {PRIORITIES} on have no priority"
            )
            told = f"DSCP {dscp}, which has traffic class {found}"
            raise PlanError([Problem(place, f"fabric.switch.config.{name}", told, allowed)])
        if found is None:
            place = self.sonic.file.place(("DSCP_TO_TC_MAP",))
            allowed = "a DSCP that DSCP_TO_TC_MAP has, in a map that PORT_QOS_MAP names for the ports"
            raise PlanError([Problem(place, f"fabric.switch.config.{name}", f"DSCP {dscp}", allowed)])
        if count < len(self.sonic.ports):
            self.warnings.append(
                f"DSCP {dscp}: {count} of {len(self.sonic.ports)} ports give it class {found}"
            )
        return Found(found, f"DSCP_TO_TC_MAP: {dscp}")

    def _lossless(self, data: int) -> list[int]:
        """Say which priorities of the plan are lossless; those that it does not use would be refused."""
        used = sorted({data} | self.carried.others)
        counts = Counter(tuple(each for each in used if port.is_lossless(each)) for port in self.sonic.ports)
        lossless = list(counts.most_common(1)[0][0]) if counts else []
        if len(counts) > 1:
            told = "; ".join(f"{list(each)} at {count} ports" for each, count in counts.most_common(_SHOWN))
            self.warnings.append(f"lossless priorities: {told}; {PLAN_HOLDS_ONE}")
        if data not in lossless and any(port.paused for port in self.sonic.ports):
            paused = sorted({each for port in self.sonic.ports for each in port.paused})
            self.warnings.append(
                f"data is in priority {data}, which is lossy here; PFC is on for "
                f"{', '.join(map(str, paused))}: give `transport.priorities.data`, or `data_dscp`"
            )
        if lossless and lossless != [data]:
            self.values.append(Value(f"{_PFC}.priorities", lossless, "PORT_QOS_MAP: pfc_enable"))
        return lossless

    def _packet_sizes(self) -> None:
        """Warn where ports let through packets of different sizes: the smallest decides."""
        sizes = Counter(port.mtu for port in self.sonic.ports if port.mtu is not None)
        if len(sizes) > 1:
            told = "; ".join(
                f"{size} bytes at {counted(count, 'port')}" for size, count in sizes.most_common()
            )
            self.warnings.append(f"mtu of PORT: {told}; packets of the plan have to fit {min(sizes)} bytes")

    def _pools(self, lossless: list[int]) -> Pools:
        """Take the pools, if the file has them."""
        pools = pools_of(self.sonic, lossless)
        self.warnings += overcommitted(self.sonic)
        if pools.value is not None:
            self.values.append(Value(POOLS, pools.value, pools.origin))
            self.warnings += pools.warnings
        return pools

    def _agreed(self, field: str, find: Callable[[Port], Found | None]) -> None:
        """Take what most ports have, and say which have something else."""
        found = [(port, find(port)) for port in self.sonic.ports]
        texts = Counter(value_text(each.value) for _, each in found if each is not None)
        if not texts:
            return
        chosen = texts.most_common(1)[0][0]
        first = next(each for _, each in found if each is not None and value_text(each.value) == chosen)
        self.values.append(Value(field, first.value, first.origin))
        others: dict[str, list[str]] = {}
        for port, each in found:
            text = "nothing" if each is None else value_text(each.value)
            if text != chosen:
                others.setdefault(text, []).append(port.name)
        self._tell_others(field, f"{chosen} of {texts[chosen]}", others)

    def _tell_others(self, field: str, chosen: str, others: dict[str, list[str]]) -> None:
        if others:
            told = "; ".join(
                f"{text} at {names_text(names)}" for text, names in list(others.items())[:_SHOWN]
            )
            more = f" and {len(others) - _SHOWN} other values" if len(others) > _SHOWN else ""
            self.warnings.append(f"{field}: {told}{more}; {PLAN_HOLDS_ONE}: {chosen}")

    def _marking(self, data: int) -> None:
        """Take the thresholds of WRED of most ports; those that go by the speed of ports as such."""
        found: dict[str, Entry | None] = {
            port.name: wred_of(self.sonic, port, data) for port in self.sonic.ports
        }
        thresholds = {name: curves_of(each) for name, each in found.items() if each is not None}
        if not thresholds:
            return
        counts = Counter(thresholds.values())
        chosen = counts.most_common(1)[0][0]
        name = next(each for each, values in thresholds.items() if values == chosen)
        profile = found[name]
        assert profile is not None
        marked = [each for each in sorted({data} | self.carried.others) if self._marks_alike(each, chosen)]
        if marked != [data]:
            self.values.append(Value(f"{_ECN}.priorities", marked, "QUEUE: wred_profile"))
        # What `ecn` says is the first of the colours that there are: green, if frames of it do not all pass.
        first, colour = next((each, of) for each, of in zip(chosen, COLOURS, strict=True) if each is not None)
        for field, value in _plan_thresholds(first).items():
            self.values.append(Value(f"{_ECN}.{field}", value, profile.name(f"{colour}_{_NAMES[field]}")))
        if _needs_colours(chosen):
            colours = {of: _plan_colour(each, first) for of, each in zip(COLOURS, chosen, strict=True)}
            self.values.append(Value(f"{_ECN}.wred", colours, f"{profile.table}|{profile.key}"))
        for each, of in zip(chosen, COLOURS, strict=True):
            if each is not None and not each.percent and (each != chosen[0] or of == colour):
                where = profile.name(f"{of}_drop_probability")
                self.warnings.append(f"{where}: 0 per cent, which is 1 ppm here")
        speeds = {port.name: port.speed_bps for port in self.sonic.ports}
        if len(counts) > 1 and _go_by_speed(thresholds, speeds):
            rate = speeds[name] or 0
            self.values.append(
                Value(f"{_ECN}.reference_rate", units.format_rate(rate), f"PORT|{name}: speed")
            )
            return
        others: dict[str, list[str]] = {}
        for port in self.sonic.ports:
            values = thresholds.get(port.name)
            if values != chosen:
                text = "nothing" if values is None else _told(values)
                others.setdefault(text, []).append(port.name)
        self._tell_others(_ECN, f"{_told(chosen)} of {counts[chosen]}", others)

    def _high_classes(self) -> Iterator[str]:
        """Yield the traffic classes from 8 on, with the DSCPs, queues and groups of them."""
        told: dict[str, None] = {}
        for port in self.sonic.ports:
            for each, dscps in _high_classes_of(port).items():
                where = f"queue {port.queue_of(each)}, priority group {port.group_of(each)}"
                text = f"DSCP_TO_TC_MAP: traffic class {each} (DSCP {_list(set(dscps))}, {where})"
                told[f"{text}, which carries nothing in the plan"] = None
        yield from told

    def _marks_alike(self, traffic_class: int, curves: _Curves) -> bool:
        profiles = [wred_of(self.sonic, port, traffic_class) for port in self.sonic.ports]
        return any(each is not None and curves_of(each) == curves for each in profiles)

    def _idle_headroom(self) -> Iterator[str]:
        """Yield the priority groups with headroom for which a port does not enable PFC."""
        found: dict[int, list[str]] = {}
        ports_with: Counter[int] = Counter()
        for port in self.sonic.ports:
            paused = {port.group_of(each) for each in range(PRIORITIES) if port.is_lossless(each)}
            for group, profile in port.groups.items():
                if profile is not None and profile.get("xoff"):
                    ports_with[group] += 1
                    if group not in paused:
                        found.setdefault(group, []).append(port.name)
        everywhere = {group for group, names in found.items() if len(names) == ports_with[group]}
        if everywhere:
            yield f"BUFFER_PG: headroom of priority group {_list(everywhere)}, which PFC is not enabled for"
        for group in sorted(found.keys() - everywhere):
            where = f"at {names_text(found[group])}, where PFC is not enabled for it"
            yield f"BUFFER_PG: headroom of priority group {group} {where}"

    def _paused_at(self, priorities: Iterable[int]) -> dict[str, set[int]]:
        """Return priorities by the ports that pause them, in words; empty where all that pause any do."""
        pausing = [port for port in self.sonic.ports if port.paused]
        found: dict[str, set[int]] = {}
        for priority in sorted(priorities):
            names = [port.name for port in pausing if port.is_lossless(priority)]
            where = "" if len(names) == len(pausing) else f" at {names_text(names)}"
            found.setdefault(where, set()).add(priority)
        return found

    def _about_priorities(self, data: int) -> Iterator[str]:
        """Yield what holds for priorities that the plan does not use."""
        used = {data} | self.carried.others
        unused = {
            each for port in self.sonic.ports for each in range(PRIORITIES) if port.is_lossless(each)
        } - used
        for where, priorities in self._paused_at(unused).items():
            what = f"priority {_list(priorities)}{where}"
            yield f"PORT_QOS_MAP: pfc_enable: {what}, which carries nothing in the plan"
        yield from self._high_classes()
        yield from self._idle_headroom()
        marked = {
            each
            for each in set(range(PRIORITIES)) - used
            if any(wred_of(self.sonic, port, each) is not None for port in self.sonic.ports)
        }
        if marked:
            yield f"QUEUE: wred_profile: priority {_list(marked)}, which carries nothing in the plan"


def _high_classes_of(port: Port) -> dict[int, list[int]]:
    """Return the DSCPs of each traffic class that is no priority of a plan."""
    found: dict[int, list[int]] = {}
    for dscp, traffic_class in port.maps.get("dscp_to_tc_map", {}).items():
        if traffic_class >= PRIORITIES:
            found.setdefault(traffic_class, []).append(dscp)
    return found


def _needs_colours(curves: _Curves) -> bool:
    """Tell whether WRED does anything but mark frames of all colours alike."""
    return any(each is None or not each.marks or each != curves[0] for each in curves)


def _plan_thresholds(curve: Curve) -> dict[str, Any]:
    return {
        "kmin": units.format_size(curve.low) if curve.low else 0,
        "kmax": units.format_size(curve.high),
        "pmax": f"{curve.percent}%" if curve.percent else "1ppm",
    }


def _plan_colour(curve: Curve | None, base: Curve) -> Any:
    """Return a colour as a plan has it, whose thresholds are those of `base` unless it has its own."""
    if curve is None:
        return "off"
    of_base = _plan_thresholds(base)
    own = {name: value for name, value in _plan_thresholds(curve).items() if value != of_base[name]}
    return {**own, "ecn": "on" if curve.marks else "off"}


def _told(curves: _Curves) -> str:
    """Write the curves of a profile: that of green, where no other differs."""
    named = [(of, each) for of, each in zip(COLOURS, curves, strict=True) if each is not None]
    alike = len({each for _, each in named}) == 1 and named[0][0] == "green"
    return str(named[0][1]) if alike else "; ".join(f"{of} {each}" for of, each in named)


def _go_by_speed(thresholds: dict[str, _Curves], speeds: dict[str, int | None]) -> bool:
    """Tell whether thresholds of all ports are in the ratio of their speeds."""
    if set(thresholds) != set(speeds) or not all(speeds.values()):
        return False
    first = next(iter(thresholds))
    base = speeds[first] or 1

    def times(curves: _Curves, factor: int) -> list[Curve | None]:
        return [
            each and Curve(each.low * factor, each.high * factor, each.percent, each.marks) for each in curves
        ]

    expected = thresholds[first]
    return all(
        times(values, base) == times(expected, speeds[name] or 0) for name, values in thresholds.items()
    )


def _list(numbers: set[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def values_of(fragment: Fragment) -> dict[str, Any]:
    """Return the values of a fragment by their fields."""
    return {each.field: each.value for each in fragment.values}
