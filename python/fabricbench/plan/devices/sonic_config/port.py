"""Settings of a port of a SONiC switch: traffic classes, PFC and buffers; table entries, WRED curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """An entry of a table.

    Attributes:
        table: The table.
        key: Its key.
        values: Its fields that are read, with their types.
    """

    table: str
    key: str
    values: Mapping[str, Any] = field(compare=False, hash=False)

    def get(self, name: str) -> Any:
        """Return a field, or none."""
        return self.values.get(name)

    def name(self, field_name: str) -> str:
        """Return the name of a field as in SONiC's tools."""
        return f"{self.table}|{self.key}: {field_name}"


@dataclass(frozen=True)
class Port:
    """Settings of one port.

    Attributes:
        name: Its name.
        speed_bps: Its rate [bit/s]; none if it is not in the file.
        mtu: Largest IP packet [bytes]; none if it is not in the file.
        paused: PFC priorities that it pauses and obeys (`pfc_enable`).
        groups: Profile of each priority group; none if SONiC computes it (`NULL`).
        queues: Entry of QUEUE of each queue.
        buffers: Profile of each queue.
        maps: Entry of each map by the field of PORT_QOS_MAP that names it, as numbers.
        watchdog: Entry of PFC_WD.
        watched: PFC priorities that the watchdog watches (`pfcwd_sw_enable`); none for all that are paused.
    """

    name: str
    speed_bps: int | None = None
    mtu: int | None = None
    paused: tuple[int, ...] = ()
    groups: Mapping[int, Entry | None] = field(default_factory=dict)
    queues: Mapping[int, Entry] = field(default_factory=dict)
    buffers: Mapping[int, Entry | None] = field(default_factory=dict)
    maps: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    watchdog: Entry | None = None
    watched: tuple[int, ...] | None = None

    def class_of(self, dscp: int) -> int | None:
        """Return the traffic class of a DSCP; none if the port has no map for it."""
        return self.maps.get("dscp_to_tc_map", {}).get(dscp)

    def group_of(self, traffic_class: int) -> int:
        """Return the priority group of a traffic class; the same number without a map."""
        return self.maps.get("tc_to_pg_map", {}).get(traffic_class, traffic_class)

    def queue_of(self, traffic_class: int) -> int:
        """Return the queue of a traffic class; the same number without a map."""
        return self.maps.get("tc_to_queue_map", {}).get(traffic_class, traffic_class)

    def pausing(self, traffic_class: int) -> tuple[int, ...]:
        """Return the PFC priorities that pause a traffic class."""
        group, groups = self.group_of(traffic_class), self.maps.get("pfc_to_pg_map", {})
        return tuple(priority for priority in self.paused if groups.get(priority, priority) == group)

    def stopped_by(self, priority: int) -> int:
        """Return the queue that a pause of a PFC priority stops."""
        return self.maps.get("pfc_to_queue_map", {}).get(priority, priority)

    def is_lossless(self, traffic_class: int) -> bool:
        """Whether frames of a traffic class are paused rather than lost."""
        return bool(self.pausing(traffic_class))


def has_worked_out_headroom(profile: Entry) -> bool:
    """Whether SONiC computes the headroom of a profile, which has only a threshold."""
    return profile.get("headroom_type") == "dynamic" and "xoff" not in profile.values


@dataclass(frozen=True)
class Curve:
    """Curve of a WRED profile for frames of a colour.

    Attributes:
        low: Least queue at which frames are marked or dropped [bytes].
        high: Queue above which all are [bytes].
        percent: Probability at `high` [%].
        marks: ECN-capable frames are marked, not dropped.
    """

    low: int
    high: int
    percent: int
    marks: bool

    def __str__(self) -> str:
        return f"{self.low}, {self.high} bytes, {self.percent} %{'' if self.marks else ', drops'}"


def marks(profile: Entry, colour: str) -> bool:
    """Whether ECN of a WRED profile covers a colour that is not switched off."""
    ecn = profile.get("ecn") or "ecn_none"
    return profile.get(f"wred_{colour}_enable") != "false" and (ecn == "ecn_all" or colour in ecn.split("_"))


def curve_of(profile: Entry, colour: str) -> Curve | None:
    """Return the curve of a WRED profile for a colour; none if all its frames pass.

    One that is neither switched on nor covered by ECN is off, and its probability is 100 %, as in SAI.
    """
    low, high = (profile.get(f"{colour}_{bound}_threshold") for bound in ("min", "max"))
    is_on = marks(profile, colour) or profile.get(f"wred_{colour}_enable") == "true"
    if not is_on or low is None or high is None:
        return None
    percent = profile.get(f"{colour}_drop_probability")
    return Curve(low, high, 100 if percent is None else percent, marks(profile, colour))
