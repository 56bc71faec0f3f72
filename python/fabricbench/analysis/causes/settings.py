"""Reads the settings of a trial that causes depend on: load balancing, rate control, PFC, ECN, recovery.

They are fields of its RunSpec (the parameters of one trial for the backends); missing ones are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricbench.plan.jobs import data_priorities

_PER_PACKET = ("spray-random", "spray-round-robin", "adaptive")
LINE_RATE = "line-rate"


def load_balancing(run_spec: Mapping[str, Any]) -> str:
    """Return the kind of load balancing."""
    return str(run_spec["fabric"].get("load_balancing", {}).get("kind", "unknown"))


def is_per_packet(run_spec: Mapping[str, Any]) -> bool:
    """Return whether frames of one queue pair may use several paths at a time."""
    return load_balancing(run_spec) in _PER_PACKET


def rate_control(run_spec: Mapping[str, Any]) -> str:
    """Return the rate control of senders."""
    return str(run_spec["transport"].get("rate_control", {}).get("kind", "unknown"))


def is_go_back_n(run_spec: Mapping[str, Any]) -> bool:
    """Return whether everything from the first missing frame is sent again."""
    return bool(run_spec["transport"].get("recovery", "go_back_n") == "go_back_n")


def is_lossy(run_spec: Mapping[str, Any]) -> bool:
    """Return whether switches drop data when their buffer is full: Ethernet without PFC for that priority."""
    fabric = run_spec["fabric"]
    switch = fabric.get("switch")
    if switch is None or switch.get("scheduled") or fabric.get("link_layer", {}).get("kind") == "infiniband":
        return False
    return not _holds_for_data(switch.get("pfc"), run_spec)


def reacts_to_ecn(run_spec: Mapping[str, Any]) -> bool:
    """Return whether data are marked and senders slow down in response."""
    ecn = run_spec["fabric"].get("switch", {}).get("ecn")
    return _holds_for_data(ecn, run_spec) and rate_control(run_spec) == "dcqcn"


def lossy_setting(run_spec: Mapping[str, Any]) -> str:
    """Return the setting, as text, that lets full buffers lose data; empty if none does."""
    if not is_lossy(run_spec):
        return ""
    switch = run_spec["fabric"]["switch"]
    pfc, ecn = switch.get("pfc"), switch.get("ecn")
    if pfc:
        priorities = ", ".join(map(str, pfc["priorities"]))
        lossy = sorted(data_priorities(run_spec).difference(pfc["priorities"]))
        return f"PFC is on for priority {priorities} and data have priority {', '.join(map(str, lossy))}"
    if ecn is None:
        return "PFC and ECN are both off"
    return "PFC is off" if reacts_to_ecn(run_spec) else "PFC is off, senders do not react to ECN"


def data_classes(run_spec: Mapping[str, Any]) -> str:
    """Return the priorities of the data of all jobs, as text."""
    return ", ".join(map(str, sorted(data_priorities(run_spec))))


def _holds_for_data(setting: Mapping[str, Any] | None, run_spec: Mapping[str, Any]) -> bool:
    return setting is not None and data_priorities(run_spec).issubset(setting["priorities"])
