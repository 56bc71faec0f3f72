"""A small configuration of SONiC, to be changed by tests."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.json_text import json_of
from fabricbench.plan.devices.sonic_config.config_db import Sonic
from fabricbench.plan.devices.sonic_config.conversion import TrafficPriorities, fragment_of, values_of
from fabricbench.plan.errors import PlanError

PORTS = ("Ethernet0", "Ethernet8")
SMALL: dict[str, Any] = {
    "PORT": {name: {"speed": "400000", "mtu": "9100", "admin_status": "up"} for name in PORTS},
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"size": "26284032", "xoff": "6291456", "type": "ingress", "mode": "dynamic"}
    },
    "BUFFER_PROFILE": {
        "pg": {
            "pool": "[BUFFER_POOL|ingress_lossless_pool]",
            "size": "1248",
            "xoff": "177632",
            "xon": "2288",
            "xon_offset": "2288",
            "dynamic_th": "-3",
        }
    },
    "BUFFER_PG": {f"{','.join(PORTS)}|3-4": {"profile": "[BUFFER_PROFILE|pg]"}},
    "WRED_PROFILE": {
        "lossless": {
            "ecn": "ecn_all",
            "wred_green_enable": "true",
            "green_min_threshold": "250000",
            "green_max_threshold": "1048576",
            "green_drop_probability": "5",
        }
    },
    "QUEUE": {f"{name}|3-4": {"wred_profile": "lossless"} for name in PORTS},
    "PORT_QOS_MAP": {name: {"pfc_enable": "3,4"} for name in PORTS},
}
"""Two ports with two lossless priorities each."""


def changed(*changes: tuple[str, Any]) -> dict[str, Any]:
    """Return the small configuration with fields set, each by `TABLE/key/field`; none removes one."""
    tables = deepcopy(SMALL)
    for path, value in changes:
        *around, name = path.split("/")
        node = tables
        for part in around:
            node = node.setdefault(part, {})
        if value is None:
            node.pop(name)
        else:
            node[name] = value
    return tables


def sonic_of(tables: dict[str, Any]) -> Sonic:
    """Read tables."""
    return Sonic(json_of(json.dumps(tables, indent=1).encode(), "leaf.json"))


def made(*changes: tuple[str, Any], carried: TrafficPriorities | None = None) -> Fragment:
    """Return what the changed small configuration gives."""
    return fragment_of(sonic_of(changed(*changes)), carried or TrafficPriorities())


def values(*changes: tuple[str, Any], carried: TrafficPriorities | None = None) -> dict[str, Any]:
    """Return the values of it by their fields."""
    return values_of(made(*changes, carried=carried))


def errors(*changes: tuple[str, Any], carried: TrafficPriorities | None = None) -> str:
    """Return what a user reads about it."""
    try:
        made(*changes, carried=carried)
    except PlanError as error:
        return str(error)
    raise AssertionError("no error")


def write(folder: Path, tables: dict[str, Any], name: str = "leaf.json") -> Path:
    """Write a configuration beside a plan."""
    path = folder / name
    path.write_text(json.dumps(tables, indent=1))
    return path


def with_pools(*changes: tuple[str, Any]) -> dict[str, Any]:
    """Return the configuration with pools of both sides, of the structure that SONiC's documentation has."""
    every = ",".join(PORTS)
    both = [
        ("BUFFER_POOL/egress_lossless_pool", {"size": "32575488", "type": "egress", "mode": "static"}),
        ("BUFFER_POOL/egress_lossy_pool", {"size": "20000000", "type": "egress", "mode": "dynamic"}),
        (
            "BUFFER_PROFILE/in_lossy",
            {"pool": "ingress_lossless_pool", "size": "0", "static_th": "4000000"},
        ),
        ("BUFFER_PROFILE/out_lossless", {"pool": "egress_lossless_pool", "size": "0", "static_th": "0"}),
        ("BUFFER_PROFILE/out_lossy", {"pool": "egress_lossy_pool", "size": "1664", "dynamic_th": "-1"}),
        (f"BUFFER_PG/{every}|0", {"profile": "in_lossy"}),
        (f"BUFFER_PG/{every}|6", {"profile": "in_lossy"}),
        (f"BUFFER_QUEUE/{every}|3-4", {"profile": "[BUFFER_PROFILE|out_lossless]"}),
        (f"BUFFER_QUEUE/{every}|0-2", {"profile": "out_lossy"}),
        (f"BUFFER_QUEUE/{every}|6", {"profile": "out_lossy"}),
    ]
    return changed(*both, *changes)
