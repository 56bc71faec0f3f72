"""Converts SONiC's `config_db.json` to fields of a plan, for the traffic class of RDMA data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import PLAN_HOLDS_ONE, Fragment, Value, names_text, value_text
from fabricbench.plan.devices.sonic_config.config_db import FORMAT, Sonic
from fabricbench.plan.devices.sonic_config.pools import Pools, overcommitted, pools_of
from fabricbench.plan.devices.sonic_config.port import Curve, Entry, Port
from fabricbench.plan.devices.sonic_config.rules import (
    PORT_RULES,
    SWITCH_RULES,
    DerivedValue,
    Subject,
    curves_of,
    left_out_of,
    wred_of,
)
from fabricbench.plan.devices.sonic_config.tables import COLOURS, PRIORITIES
from fabricbench.plan.errors import PlanError, Problem
from fabricbench.words import counted

USUAL_PRIORITY: Final = 3
"""The usual lossless priority of RoCEv2."""
_PFC: Final = "fabric.switch.pfc"
_ECN: Final = "fabric.switch.ecn"
POOLS: Final = "fabric.switch.buffer.pools"
LOSSY_ALPHA: Final = "fabric.switch.buffer.lossy_alpha"
"""Limit of lossy queues in a plan without pools."""
_SHOWN: Final = 3
_NAMES: Final = {"kmin": "min_threshold", "kmax": "max_threshold", "pmax": "drop_probability"}
"""Fields of `ecn`, and their names in SONiC after the prefix of a colour."""
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
class TrafficPriorities:
    """Priorities of a plan by their traffic: data, CNPs and other traffic.

    Attributes:
        data: Priority of data; none for the one that the file pauses.
        data_dscp: DSCP of data, from which the priority is derived; none if `data` is set.
        cnp_dscp: DSCP of CNPs, likewise.
        others: Priorities of other traffic of the plan.
    """

    data: int | None = None
    data_dscp: int | None = None
    cnp_dscp: int | None = None
    others: frozenset[int] = frozenset()


def fragment_of(sonic: Sonic, traffic: TrafficPriorities) -> Fragment:
    """Return the fields of a plan that a configuration sets.

    Raises:
        PlanError: It has no traffic class for a DSCP of `traffic`.
    """
    return _FragmentBuilder(sonic, traffic).fragment()


class _FragmentBuilder:
    """Collects the fields, warnings and omissions of a configuration for one traffic class."""

    def __init__(self, sonic: Sonic, traffic: TrafficPriorities) -> None:
        self.sonic, self.traffic = sonic, traffic
        self.values: list[Value] = []
        self.warnings: list[str] = []

    def fragment(self) -> Fragment:
        data = self._data()
        for field, find in SWITCH_RULES:
            if (rule_value := find(self.sonic)) is not None:
                self.values.append(Value(field, rule_value.value, rule_value.origin))
        lossless = self._lossless(data)
        self._packet_sizes()
        pools = self._pools(lossless)
        for field, rule in PORT_RULES:
            self._agreed(field, lambda port, rule=rule: rule(Subject(self.sonic, port, data)))  # type: ignore[misc]
        self._marking(data)
        # PFC with every default needs a field too, or a plan would leave it off.
        if lossless and not any(value.field.startswith(_PFC) for value in self.values):
            self.values.append(Value(f"{_PFC}.priorities", lossless, "PORT_QOS_MAP: pfc_enable"))
        has_pools = pools.value is not None
        left_out = (
            *self._about_priorities(data),
            *pools.left_out,
            *left_out_of(self.sonic, data, has_pools=has_pools),
            *self.sonic.left_out,
        )
        pool_replaced_fields = {LOSSY_ALPHA} if has_pools else set[str]()
        return Fragment(
            FORMAT,
            self.sonic.file.source,
            self.sonic.read,
            tuple(value for value in self.values if value.field not in pool_replaced_fields),
            tuple(self.warnings),
            left_out,
            tuple(value for value in self.values if value.field in pool_replaced_fields),
        )

    def _data(self) -> int:
        """Return the priority of data; add it with its origin to the values unless the plan has it."""
        traffic = self.traffic
        if traffic.cnp_dscp is not None:
            cnp = self._class_of(traffic.cnp_dscp, "cnp_dscp")
            self.values.append(Value("transport.priorities.cnp", cnp.value, cnp.origin))
        if traffic.data_dscp is not None:
            data = self._class_of(traffic.data_dscp, "data_dscp")
            self.values.append(Value("transport.priorities.data", data.value, data.origin))
            return int(data.value)
        if traffic.data is not None:
            return traffic.data
        lossless = {
            priority
            for port in self.sonic.ports
            for priority in range(PRIORITIES)
            if port.is_lossless(priority)
        }
        chosen = USUAL_PRIORITY if not lossless or USUAL_PRIORITY in lossless else min(lossless)
        origin = "PORT_QOS_MAP: pfc_enable" if lossless else "the usual priority, as the file pauses none"
        self.values.append(Value("transport.priorities.data", chosen, origin))
        return chosen

    def _class_of(self, dscp: int, name: str) -> DerivedValue:
        classes = Counter(port.class_of(dscp) for port in self.sonic.ports)
        traffic_class, count = classes.most_common(1)[0] if classes else (None, 0)
        if traffic_class is not None and traffic_class >= PRIORITIES:
            location = self.sonic.file.place(("DSCP_TO_TC_MAP",))
            allowed = (
                f"a DSCP of class 0 to {PRIORITIES - 1}, as classes from {PRIORITIES} on have no priority"
            )
            actual = f"DSCP {dscp}, which has traffic class {traffic_class}"
            raise PlanError([Problem(location, f"fabric.switch.config.{name}", actual, allowed)])
        if traffic_class is None:
            location = self.sonic.file.place(("DSCP_TO_TC_MAP",))
            allowed = "a DSCP that DSCP_TO_TC_MAP has, in a map that PORT_QOS_MAP names for the ports"
            raise PlanError([Problem(location, f"fabric.switch.config.{name}", f"DSCP {dscp}", allowed)])
        if count < len(self.sonic.ports):
            self.warnings.append(
                f"DSCP {dscp}: {count} of {len(self.sonic.ports)} ports give it class {traffic_class}"
            )
        return DerivedValue(traffic_class, f"DSCP_TO_TC_MAP: {dscp}")

    def _lossless(self, data: int) -> list[int]:
        """Return the lossless priorities that the plan uses; with unused ones it would be refused."""
        used = sorted({data} | self.traffic.others)
        counts = Counter(
            tuple(priority for priority in used if port.is_lossless(priority)) for port in self.sonic.ports
        )
        lossless = list(counts.most_common(1)[0][0]) if counts else []
        if len(counts) > 1:
            priority_counts = "; ".join(
                f"{list(priority)} at {count} ports" for priority, count in counts.most_common(_SHOWN)
            )
            self.warnings.append(f"lossless priorities: {priority_counts}; {PLAN_HOLDS_ONE}")
        if data not in lossless and any(port.paused for port in self.sonic.ports):
            paused = sorted({priority for port in self.sonic.ports for priority in port.paused})
            self.warnings.append(
                f"data is in priority {data}, which is lossy here; PFC is on for "
                f"{', '.join(map(str, paused))}: give `transport.priorities.data`, or `data_dscp`"
            )
        if lossless and lossless != [data]:
            self.values.append(Value(f"{_PFC}.priorities", lossless, "PORT_QOS_MAP: pfc_enable"))
        return lossless

    def _packet_sizes(self) -> None:
        """Warn if ports have different MTUs: the smallest is the limit."""
        sizes = Counter(port.mtu for port in self.sonic.ports if port.mtu is not None)
        if len(sizes) > 1:
            size_counts = "; ".join(
                f"{size} bytes at {counted(count, 'port')}" for size, count in sizes.most_common()
            )
            self.warnings.append(
                f"mtu of PORT: {size_counts}; packets of the plan have to fit {min(sizes)} bytes"
            )

    def _pools(self, lossless: list[int]) -> Pools:
        """Add the pools to the values, if the file has them."""
        pools = pools_of(self.sonic, lossless)
        self.warnings += overcommitted(self.sonic)
        if pools.value is not None:
            self.values.append(Value(POOLS, pools.value, pools.origin))
            self.warnings += pools.warnings
        return pools

    def _agreed(self, field: str, find: Callable[[Port], DerivedValue | None]) -> None:
        """Add the value that most ports have, and warn of ports with another."""
        port_values = [(port, find(port)) for port in self.sonic.ports]
        texts = Counter(
            value_text(port_value.value) for _, port_value in port_values if port_value is not None
        )
        if not texts:
            return
        chosen = texts.most_common(1)[0][0]
        first = next(
            port_value
            for _, port_value in port_values
            if port_value is not None and value_text(port_value.value) == chosen
        )
        self.values.append(Value(field, first.value, first.origin))
        ports_by_text: dict[str, list[str]] = {}
        for port, port_value in port_values:
            text = "nothing" if port_value is None else value_text(port_value.value)
            if text != chosen:
                ports_by_text.setdefault(text, []).append(port.name)
        self._warn_of_others(field, f"{chosen} of {texts[chosen]}", ports_by_text)

    def _warn_of_others(self, field: str, chosen: str, others: dict[str, list[str]]) -> None:
        if others:
            other_values = "; ".join(
                f"{text} at {names_text(names)}" for text, names in list(others.items())[:_SHOWN]
            )
            more = f" and {len(others) - _SHOWN} other values" if len(others) > _SHOWN else ""
            self.warnings.append(f"{field}: {other_values}{more}; {PLAN_HOLDS_ONE}: {chosen}")

    def _marking(self, data: int) -> None:
        """Add the WRED thresholds of most ports, with a reference rate if they are proportional to speed."""
        profile_by_port: dict[str, Entry | None] = {
            port.name: wred_of(self.sonic, port, data) for port in self.sonic.ports
        }
        thresholds = {name: curves_of(curve) for name, curve in profile_by_port.items() if curve is not None}
        if not thresholds:
            return
        counts = Counter(thresholds.values())
        chosen = counts.most_common(1)[0][0]
        name = next(curve for curve, values in thresholds.items() if values == chosen)
        profile = profile_by_port[name]
        assert profile is not None
        marked = [curve for curve in sorted({data} | self.traffic.others) if self._has_curves(curve, chosen)]
        if marked != [data]:
            self.values.append(Value(f"{_ECN}.priorities", marked, "QUEUE: wred_profile"))
        # `ecn` has the curve of the first colour with one: green, unless all green frames pass.
        first, colour = next(
            (curve, curve_colour)
            for curve, curve_colour in zip(chosen, COLOURS, strict=True)
            if curve is not None
        )
        for field, value in _plan_thresholds(first).items():
            self.values.append(Value(f"{_ECN}.{field}", value, profile.name(f"{colour}_{_NAMES[field]}")))
        if _needs_colours(chosen):
            colours = {
                curve_colour: _plan_colour(curve, first)
                for curve_colour, curve in zip(COLOURS, chosen, strict=True)
            }
            self.values.append(Value(f"{_ECN}.wred", colours, f"{profile.table}|{profile.key}"))
        for curve, curve_colour in zip(chosen, COLOURS, strict=True):
            if curve is not None and not curve.percent and (curve != chosen[0] or curve_colour == colour):
                field_name = profile.name(f"{curve_colour}_drop_probability")
                self.warnings.append(f"{field_name}: 0 per cent, which is 1 ppm here")
        speeds = {port.name: port.speed_bps for port in self.sonic.ports}
        if len(counts) > 1 and _go_by_speed(thresholds, speeds):
            rate = speeds[name] or 0
            self.values.append(
                Value(f"{_ECN}.reference_rate", units.format_rate(rate), f"PORT|{name}: speed")
            )
            return
        ports_by_text: dict[str, list[str]] = {}
        for port in self.sonic.ports:
            values = thresholds.get(port.name)
            if values != chosen:
                text = "nothing" if values is None else _curves_text(values)
                ports_by_text.setdefault(text, []).append(port.name)
        self._warn_of_others(_ECN, f"{_curves_text(chosen)} of {counts[chosen]}", ports_by_text)

    def _high_classes(self) -> Iterator[str]:
        """Yield the traffic classes from 8 on, with their DSCPs, queues and priority groups."""
        messages: dict[str, None] = {}
        for port in self.sonic.ports:
            for traffic_class, dscps in _high_classes_of(port).items():
                resources = (
                    f"queue {port.queue_of(traffic_class)}, priority group {port.group_of(traffic_class)}"
                )
                text = (
                    f"DSCP_TO_TC_MAP: traffic class {traffic_class} (DSCP {_list(set(dscps))}, {resources})"
                )
                messages[f"{text}, which carries nothing in the plan"] = None
        yield from messages

    def _has_curves(self, traffic_class: int, curves: _Curves) -> bool:
        profiles = [wred_of(self.sonic, port, traffic_class) for port in self.sonic.ports]
        return any(profile is not None and curves_of(profile) == curves for profile in profiles)

    def _idle_headroom(self) -> Iterator[str]:
        """Yield the priority groups with headroom for which a port does not enable PFC."""
        ports_by_group: dict[int, list[str]] = {}
        ports_with: Counter[int] = Counter()
        for port in self.sonic.ports:
            paused = {port.group_of(priority) for priority in range(PRIORITIES) if port.is_lossless(priority)}
            for group, profile in port.groups.items():
                if profile is not None and profile.get("xoff"):
                    ports_with[group] += 1
                    if group not in paused:
                        ports_by_group.setdefault(group, []).append(port.name)
        everywhere = {group for group, names in ports_by_group.items() if len(names) == ports_with[group]}
        if everywhere:
            yield f"BUFFER_PG: headroom of priority group {_list(everywhere)}, which PFC is not enabled for"
        for group in sorted(ports_by_group.keys() - everywhere):
            ports_text = f"at {names_text(ports_by_group[group])}, where PFC is not enabled for it"
            yield f"BUFFER_PG: headroom of priority group {group} {ports_text}"

    def _paused_at(self, priorities: Iterable[int]) -> dict[str, set[int]]:
        """Return priorities by the text of the ports that pause them; empty text for all pausing ports."""
        pausing = [port for port in self.sonic.ports if port.paused]
        priorities_by_ports: dict[str, set[int]] = {}
        for priority in sorted(priorities):
            names = [port.name for port in pausing if port.is_lossless(priority)]
            ports_text = "" if len(names) == len(pausing) else f" at {names_text(names)}"
            priorities_by_ports.setdefault(ports_text, set()).add(priority)
        return priorities_by_ports

    def _about_priorities(self, data: int) -> Iterator[str]:
        """Yield the settings of priorities that the plan does not use."""
        used = {data} | self.traffic.others
        unused = {
            priority
            for port in self.sonic.ports
            for priority in range(PRIORITIES)
            if port.is_lossless(priority)
        } - used
        for ports_text, priorities in self._paused_at(unused).items():
            priorities_text = f"priority {_list(priorities)}{ports_text}"
            yield f"PORT_QOS_MAP: pfc_enable: {priorities_text}, which carries nothing in the plan"
        yield from self._high_classes()
        yield from self._idle_headroom()
        marked = {
            priority
            for priority in set(range(PRIORITIES)) - used
            if any(wred_of(self.sonic, port, priority) is not None for port in self.sonic.ports)
        }
        if marked:
            yield f"QUEUE: wred_profile: priority {_list(marked)}, which carries nothing in the plan"


def _high_classes_of(port: Port) -> dict[int, list[int]]:
    """Return the DSCPs of each traffic class above the priorities of a plan."""
    dscps_by_class: dict[int, list[int]] = {}
    for dscp, traffic_class in port.maps.get("dscp_to_tc_map", {}).items():
        if traffic_class >= PRIORITIES:
            dscps_by_class.setdefault(traffic_class, []).append(dscp)
    return dscps_by_class


def _needs_colours(curves: _Curves) -> bool:
    """Whether WRED does anything but mark frames of all colours by the same curve."""
    return any(curve is None or not curve.marks or curve != curves[0] for curve in curves)


def _plan_thresholds(curve: Curve) -> dict[str, Any]:
    return {
        "kmin": units.format_size(curve.low) if curve.low else 0,
        "kmax": units.format_size(curve.high),
        "pmax": f"{curve.percent}%" if curve.percent else "1ppm",
    }


def _plan_colour(curve: Curve | None, base: Curve) -> Any:
    """Return a colour in the form of a plan, without the thresholds that are equal to those of `base`."""
    if curve is None:
        return "off"
    of_base = _plan_thresholds(base)
    own_fields = {name: value for name, value in _plan_thresholds(curve).items() if value != of_base[name]}
    return {**own_fields, "ecn": "on" if curve.marks else "off"}


def _curves_text(curves: _Curves) -> str:
    """Return the curves of a profile as text: only that of green if no other differs."""
    curves_by_colour = [
        (colour, curve) for colour, curve in zip(COLOURS, curves, strict=True) if curve is not None
    ]
    is_green_only = len({curve for _, curve in curves_by_colour}) == 1 and curves_by_colour[0][0] == "green"
    return (
        str(curves_by_colour[0][1])
        if is_green_only
        else "; ".join(f"{colour} {curve}" for colour, curve in curves_by_colour)
    )


def _go_by_speed(thresholds: dict[str, _Curves], speeds: dict[str, int | None]) -> bool:
    """Whether thresholds of all ports are in the ratio of their speeds."""
    if set(thresholds) != set(speeds) or not all(speeds.values()):
        return False
    first = next(iter(thresholds))
    base = speeds[first] or 1

    def times(curves: _Curves, factor: int) -> list[Curve | None]:
        return [
            curve and Curve(curve.low * factor, curve.high * factor, curve.percent, curve.marks)
            for curve in curves
        ]

    expected = thresholds[first]
    return all(
        times(values, base) == times(expected, speeds[name] or 0) for name, values in thresholds.items()
    )


def _list(numbers: set[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def values_of(fragment: Fragment) -> dict[str, Any]:
    """Return the values of a fragment by their fields."""
    return {value.field: value.value for value in fragment.values}
