"""What a trial keeps of each real host: what it is, how sure its clock is, what its devices counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fabricbench.report.text_table import Column, Row, render
from fabricbench.results.hosts import hosts_of

if TYPE_CHECKING:
    from fabricbench.store import Trial

_FACTS = ("kernel", "interface", "driver", "firmware", "mtu_bytes")


def hosts_table(trial: Trial, *, colour: bool = False) -> str:
    """Return the hosts of a trial and the known counters that changed; empty of one without hosts.

    Raises:
        StoreError: A table cannot be read.
    """
    hosts = hosts_of(trial)
    if not hosts:
        return ""
    names = ("host", *_FACTS, "clock offset us", "known to us", "late us")
    heads = [Column((name,), is_text=name in ("host", *_FACTS)) for name in names]
    tables = [render(heads, [Row(_cells(host)) for host in hosts], colour=colour)]
    rows = [row for host in hosts for row in _counter_rows(host)]
    if rows:
        columns = ("host", "device", "counter", "change", "unit", "vendor's name: what it counts")
        heads = [Column((name,), is_text=name != "change") for name in columns]
        tables.append(render(heads, rows, colour=colour))
    return "\n\n".join(tables)


def _cells(host: Mapping[str, Any]) -> list[str]:
    facts = [host["facts"].get(name, "-") for name in _FACTS]
    late_ns = host["endpoint"].get("start_skew_ns")
    times_ns = (host["clock_offset_ns"], host["clock_error_ns"], late_ns)
    return [host["host"], *facts, *("-" if each is None else f"{each / 1e3:,.1f}" for each in times_ns)]


def _counter_rows(host: Mapping[str, Any]) -> Iterator[Row]:
    for each in host["counters"]:
        if each["counter"] is not None:
            told = f"{each['vendor_name']}: {each['meaning']}"
            change = f"{each['after'] - each['before']:,}"
            yield Row([host["host"], each["device"], each["counter"], change, each["unit"], told])
