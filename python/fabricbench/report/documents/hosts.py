"""Builds the tables of a trial's real hosts and their counters, for terminal and page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.results.hosts import clock_error_ms, hosts_of
from fabricbench.store import Trial

_FACTS: Final = ("kernel", "interface", "driver", "firmware", "mtu_bytes")
_HEADS: Final = ("host", *_FACTS, "settings", "clock offset us", "drift us", "known to us", "late us")
_TEXTS: Final = frozenset({"host", *_FACTS, "settings"}) - {"mtu_bytes"}
_COUNTED: Final = "vendor's name: what it counts"
_COUNTER_HEADS: Final = ("host", "device", "counter", "change", "unit", "source", _COUNTED)
_COUNTERS: Final = (
    "Known counters that changed while the trial ran. Vendors mean alike by one name and need not count "
    "alike: a burst of losses at one is a packet at another. Table `counters` has all, also those without a "
    "name."
)


def _clock_text(trial: Trial) -> str:
    """Describe how accurately times of two hosts of a trial compare, and which are from adapters."""
    error_ms = clock_error_ms(trial)
    between = (
        f"Times of two hosts are known to each other to {1000 * error_ms:,.1f} us."
        if error_ms is not None
        else ""
    )
    texts = [between, *(_stamps_text(host) for host in trial.engine.get("hosts") or ())]
    return " ".join(text for text in texts if text)


def _stamps_text(host: Mapping[str, Any]) -> str:
    """Describe the accuracy and use of completion time stamps from a host's adapter."""
    endpoint = host["endpoint"]
    if "completion_stamps" not in endpoint:
        return ""
    used, refused = endpoint["completion_stamps"], endpoint["completion_stamps_refused"]
    error_us = endpoint["completion_clock_error_ns"] / 1e3
    text = f"Chunks of {host['host']} end when its adapter says, on its host's clock to {error_us:,.1f} us"
    if refused:
        text += f", but for {refused:,} of {used + refused:,} whose time stamps could not be right"
    return text + "."


def host_tables(trial: Trial) -> list[Table]:
    """Return tables of the hosts of a trial and of the known counters that changed; empty without hosts.

    Raises:
        StoreError: A table cannot be read.
    """
    hosts = hosts_of(trial)
    counters = [cells for host in hosts for counter in host["counters"] if (cells := _counter(host, counter))]
    if not hosts:
        return []
    columns = [Column(name, is_text=name in _TEXTS) for name in _HEADS]
    tables = [Table(columns, [Row(_cells(host)) for host in hosts], _clock_text(trial))]
    if counters:
        columns = [Column(name, is_text=name != "change") for name in _COUNTER_HEADS]
        tables.append(Table(columns, [Row(cells) for cells in counters], _COUNTERS))
    return tables


def _cells(host: Mapping[str, Any]) -> list[str]:
    facts = [host["facts"].get(name, "-") for name in _FACTS]
    settings = ", ".join(
        f"{name} {value}" for name, value in sorted(host["settings"].items()) if name != "address"
    )
    late_ns = host["endpoint"].get("start_skew_ns")
    clock = [host.get(f"clock_{name}_ns") for name in ("offset", "drift", "error")]
    times = ("-" if duration_ns is None else f"{duration_ns / 1e3:,.1f}" for duration_ns in (*clock, late_ns))
    return [host["host"], *facts, settings or "-", *times]


def _counter(host: Mapping[str, Any], counter: Mapping[str, Any]) -> list[str]:
    """Return the cells of a counter; empty for one without a neutral name."""
    if counter["counter"] is None:
        return []
    meaning = f"{counter['vendor_name']}: {counter['meaning']}"
    change = f"{counter['after'] - counter['before']:,}"
    return [
        host["host"],
        counter["device"],
        counter["counter"],
        change,
        counter["unit"],
        counter.get("source", "-"),
        meaning,
    ]
