"""Declares the tables of SONiC's `config_db.json` that affect the modelled traffic.

Each field has a kind (its allowed values and its parser), no effect on traffic, or a reason why it is not
modelled. Kinds and limits are those of SONiC's YANG models (`sonic-buffer-pool`, `sonic-buffer-profile`,
`sonic-wred-profile`, `sonic-port-qos-map`, `sonic-pfcwd`, `sonic-scheduler`, `sonic-port`) and of SAI
(`saibuffer.h`, `saiwred.h`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

BYTES_MAX: Final = 2**40
"""Largest valid buffer or threshold [bytes]."""
PRIORITIES: Final = 8
TRAFFIC_CLASSES: Final = 16
"""Traffic classes of SAI; SONiC's own maps of dual ToR use 8. Those from 8 on are no priority of a plan."""
QUEUES_MAX: Final = 32
"""Queues of a port, those of multicast included."""
DSCP_MAX: Final = 63
COLOURS: Final = ("green", "yellow", "red")
"""Drop precedences."""


@dataclass(frozen=True)
class Kind:
    """Kind of a field's text: its allowed values and its parser.

    Attributes:
        allowed: In words.
        read: Reads it; ValueError if it is something else.
        table: The table that it names an entry of, if it does.
    """

    allowed: str
    read: Callable[[str], Any]
    table: str = ""


@dataclass(frozen=True)
class Field:
    """A field of a table.

    Attributes:
        kind: Its kind; none for text that is not used.
        left_out: Reason why it is not modelled; empty if it is read, or has no effect.
    """

    kind: Kind | None = None
    left_out: str = ""


def number(least: int, most: int, unit: str = "") -> Kind:
    """Return the kind of a whole number."""

    def read(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 24:
            raise ValueError(text)
        value = int(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Kind(f"a whole number from {least} to {most}{f' {unit}' if unit else ''}", read)


def choice(*names: str) -> Kind:
    """Return the kind of one of some names."""

    def read(text: str) -> str:
        if text.lower() not in names:
            raise ValueError(text)
        return text.lower()

    return Kind(", ".join(names), read)


def reference(*tables: str) -> Kind:
    """Return the kind of the name of an entry, also in the older form `[TABLE|name]`."""

    def read(text: str) -> str:
        name = text.removeprefix("[").removesuffix("]") if text.startswith("[") else text
        for table in tables:
            name = name.removeprefix(f"{table}|")
        if not name or "|" in name:
            raise ValueError(text)
        return name

    return Kind(f"the name of an entry of {tables[0]}", read, tables[0])


def _priorities(text: str) -> tuple[int, ...]:
    values = [part.strip() for part in text.split(",")] if text.strip() else []
    if any(len(part) != 1 or part not in "01234567" for part in values):
        raise ValueError(text)
    return tuple(sorted({int(part) for part in values}))


PRIORITY_LIST: Final = Kind('priorities 0 to 7, such as "3,4"', _priorities)
SIZE: Final = number(0, BYTES_MAX, "bytes")
PERCENT: Final = number(0, 100, "per cent")
SWITCHED: Final = choice("true", "false")
_ANY: Final = Field()


def _read(kind: Kind) -> Field:
    return Field(kind)


def _not(reason: str, kind: Kind | None = None) -> Field:
    return Field(kind, reason)


TABLES: Final[Mapping[str, Mapping[str, Field]]] = {
    "PORT": {
        "speed": _read(number(10, 3_200_000, "Mb/s")),
        "mtu": _read(number(68, 9216, "bytes")),
        "admin_status": _read(choice("up", "down")),
        "pfc_asym": _not("asymmetric PFC", choice("on", "off")),
    }
    | dict.fromkeys(
        (
            *("alias", "index", "lanes", "description", "autoneg", "adv_speeds", "interface_type", "tpid"),
            *("adv_interface_types", "link_training", "laser_freq", "tx_power", "core_id", "core_port_id"),
            *("num_voq", "asic_port_name", "role", "subport", "dom_polling", "macsec", "hwsku", "fec"),
        ),
        _ANY,
    ),
    "BUFFER_POOL": {
        "size": _read(SIZE),
        "xoff": _read(SIZE),
        "type": _read(choice("ingress", "egress", "both")),
        "mode": _read(choice("dynamic", "static")),
        "percentage": _not("a pool sized by its share of what is left", PERCENT),
    },
    "BUFFER_PROFILE": {
        "pool": _read(reference("BUFFER_POOL", "BUFFER_POOL_TABLE")),
        "size": _read(SIZE),
        "xon": _read(SIZE),
        "xon_offset": _read(SIZE),
        "xoff": _read(SIZE),
        "dynamic_th": _read(number(-8, 8)),
        "static_th": _read(SIZE),
        "headroom_type": _not("headroom that SONiC works out by itself", choice("static", "dynamic")),
        "mode": _ANY,
        "packet_discard_action": _not("trimming in place of dropping", choice("drop", "trim")),
    },
    "BUFFER_PG": {"profile": _read(reference("BUFFER_PROFILE", "BUFFER_PROFILE_TABLE"))},
    "BUFFER_QUEUE": {"profile": _read(reference("BUFFER_PROFILE", "BUFFER_PROFILE_TABLE"))},
    "WRED_PROFILE": {
        "ecn": _read(
            choice(
                *("ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red"),
                *("ecn_yellow_red", "ecn_all"),
            )
        ),
        "weight": _not("the average that WRED looks at; the model looks at the queue", number(0, 15)),
    }
    | {f"wred_{colour}_enable": _read(SWITCHED) for colour in COLOURS}
    | {f"{colour}_min_threshold": _read(SIZE) for colour in COLOURS}
    | {f"{colour}_max_threshold": _read(number(1, BYTES_MAX, "bytes")) for colour in COLOURS}
    | {f"{colour}_drop_probability": _read(PERCENT) for colour in COLOURS},
    "QUEUE": {
        "wred_profile": _read(reference("WRED_PROFILE")),
        "scheduler": _read(reference("SCHEDULER")),
    },
    "SCHEDULER": {
        "type": _read(choice("dwrr", "wrr", "strict")),
        "weight": _read(number(1, 100)),
        "priority": _ANY,
        "meter_type": _not("shaping", choice("packets", "bytes")),
    }
    | dict.fromkeys(("cir", "pir", "cbs", "pbs"), _not("shaping", number(0, 2**63))),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {
        "default_dynamic_th": _read(number(-8, 8)),
        "over_subscribe_ratio": _not("a headroom pool that ports share", number(0, 1_000)),
    },
    "PORT_QOS_MAP": {
        "pfc_enable": _read(PRIORITY_LIST),
        "dscp_to_tc_map": _read(reference("DSCP_TO_TC_MAP")),
        "tc_to_queue_map": _read(reference("TC_TO_QUEUE_MAP")),
        "tc_to_pg_map": _read(reference("TC_TO_PRIORITY_GROUP_MAP")),
        "pfc_to_pg_map": _read(reference("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")),
        "pfc_to_queue_map": _read(reference("MAP_PFC_PRIORITY_TO_QUEUE")),
        "pfcwd_sw_enable": _not(
            "priorities that the PFC watchdog watches; its times and action are those of PFC_WD",
            PRIORITY_LIST,
        ),
        "scheduler": _not("a scheduler of the whole port"),
        "dot1p_to_tc_map": _not("RoCEv2 is sorted by its DSCP"),
    }
    | dict.fromkeys(
        ("tc_to_dscp_map", "tc_to_dot1p_map", "dscp_to_fc_map", "exp_to_fc_map"), _not("rewritten headers")
    ),
    "PFC_WD": {
        "action": _read(choice("drop", "forward", "alert")),
        "detection_time": _read(number(100, 5_000, "ms")),
        "restoration_time": _read(number(100, 60_000, "ms")),
        "POLL_INTERVAL": _not("the watchdog's polling", number(100, 3_000, "ms")),
        "BIG_RED_SWITCH": _not("the watchdog's test of all ports", choice("enable", "disable")),
        "pfc_stat_history": _ANY,
    },
}
"""Every field of these tables."""

MAPS: Final[Mapping[str, tuple[str, int, int]]] = {
    "DSCP_TO_TC_MAP": ("DSCP", DSCP_MAX, TRAFFIC_CLASSES - 1),
    "TC_TO_QUEUE_MAP": ("traffic class", TRAFFIC_CLASSES - 1, QUEUES_MAX - 1),
    "TC_TO_PRIORITY_GROUP_MAP": ("traffic class", TRAFFIC_CLASSES - 1, PRIORITIES - 1),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": ("PFC priority", PRIORITIES - 1, PRIORITIES - 1),
    "MAP_PFC_PRIORITY_TO_QUEUE": ("PFC priority", PRIORITIES - 1, QUEUES_MAX - 1),
}
"""Tables whose entries map numbers to numbers: kind of the key, largest key, and largest value."""

NO_TRAFFIC: Final = frozenset(
    {
        *("DEVICE_METADATA", "DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA", "LOOPBACK_INTERFACE", "FEATURE"),
        *("MGMT_INTERFACE", "MGMT_PORT", "MGMT_VRF_CONFIG", "NTP", "NTP_SERVER", "SYSLOG_SERVER", "VERSIONS"),
        *("SNMP", "SNMP_COMMUNITY", "TELEMETRY", "GNMI", "AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE"),
        *("FLEX_COUNTER_TABLE", "CRM", "KDUMP", "CONSOLE_SWITCH", "BANNER_MESSAGE", "TACPLUS", "AAA"),
        *("PASSW_HARDENING", "SSH_SERVER", "SYSTEM_DEFAULTS", "LOGGER", "RESTAPI", "TACPLUS_SERVER", "LLDP"),
        *(
            "INTERFACE",
            "VLAN",
            "VLAN_MEMBER",
            "VLAN_INTERFACE",
            "BGP_NEIGHBOR",
            "BGP_PEER_RANGE",
            "COPP_GROUP",
        ),
        *("BGP_DEVICE_GLOBAL", "COPP_TRAP", "DHCP_SERVER", "BGP_MONITORS", "BGP_GLOBALS", "STATIC_ROUTE"),
    }
)
"""Tables of management and addresses, which change no frame of a test."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "CABLE_LENGTH": "lengths of cables are those of the plan's topology",
    "BUFFER_PORT_INGRESS_PROFILE_LIST": "limits of a whole port",
    "BUFFER_PORT_EGRESS_PROFILE_LIST": "limits of a whole port",
    "LOSSLESS_TRAFFIC_PATTERN": "headroom that SONiC works out; give `fabric.switch.pfc.headroom`",
    "DOT1P_TO_TC_MAP": "RoCEv2 is sorted by its DSCP",
    "ACL_TABLE": "access lists",
    "ACL_RULE": "access lists",
    "PORTCHANNEL": "link aggregation; several links of a plan are equal paths",
    "PORTCHANNEL_MEMBER": "link aggregation",
    "MIRROR_SESSION": "mirrored traffic",
    "PORT_STORM_CONTROL": "storm control",
    "POLICER": "policers and the colours that they give",
    "SWITCH_TRIMMING": "trimming",
    "SWITCH_HASH": "the hash; give `fabric.load_balancing`",
    "FG_NHG": "fine-grained ECMP",
}
"""Tables that change traffic and that are not modelled, with the reason."""
