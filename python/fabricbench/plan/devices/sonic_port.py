"""What holds for one port of a switch of SONiC, and the entries of tables that say so."""

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
        values: Its fields that are read, as what they are.
    """

    table: str
    key: str
    values: Mapping[str, Any] = field(compare=False, hash=False)

    def get(self, name: str) -> Any:
        """Return a field, or none."""
        return self.values.get(name)

    def name(self, field_name: str) -> str:
        """Name a field as SONiC's tools do."""
        return f"{self.table}|{self.key}: {field_name}"


@dataclass(frozen=True)
class Port:
    """What holds for one port.

    Attributes:
        name: Its name.
        speed_bps: Its rate [bit/s]; none if the file does not say.
        mtu: Largest IP packet [bytes]; none if the file does not say.
        paused: PFC priorities that it pauses and obeys (`pfc_enable`).
        groups: Profile of each priority group; none where SONiC works it out (`NULL`).
        queues: Entry of QUEUE of each queue.
        buffers: Profile of each queue.
        maps: Entry of each map by the field of PORT_QOS_MAP that names it, as numbers.
        watchdog: Entry of PFC_WD.
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

    def class_of(self, dscp: int) -> int | None:
        """Return the traffic class of a DSCP; none where the port has no map for it."""
        return self.maps.get("dscp_to_tc_map", {}).get(dscp)

    def group_of(self, traffic_class: int) -> int:
        """Return the priority group of a traffic class; the same number where no map says."""
        return self.maps.get("tc_to_pg_map", {}).get(traffic_class, traffic_class)

    def queue_of(self, traffic_class: int) -> int:
        """Return the queue of a traffic class; the same number where no map says."""
        return self.maps.get("tc_to_queue_map", {}).get(traffic_class, traffic_class)

    def pausing(self, traffic_class: int) -> tuple[int, ...]:
        """Return the PFC priorities that pause a traffic class."""
        group, groups = self.group_of(traffic_class), self.maps.get("pfc_to_pg_map", {})
        return tuple(each for each in self.paused if groups.get(each, each) == group)

    def stopped_by(self, priority: int) -> int:
        """Return the queue that a pause of a PFC priority stops."""
        return self.maps.get("pfc_to_queue_map", {}).get(priority, priority)

    def is_lossless(self, traffic_class: int) -> bool:
        """Whether frames of a traffic class are paused rather than lost."""
        return bool(self.pausing(traffic_class))


def marks_green(profile: Entry) -> bool:
    """Whether a WRED profile marks green frames, as those of RDMA are."""
    ecn = profile.get("ecn") or "ecn_none"
    return profile.get("wred_green_enable") != "false" and (ecn == "ecn_all" or "green" in ecn)
