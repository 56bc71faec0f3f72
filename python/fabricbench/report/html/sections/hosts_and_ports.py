"""Builds the sections on a trial's real hosts and on its port map.

The port map has for each rank its port, switch port, addresses and queue pairs.
"""

from __future__ import annotations

from typing import Final

from fabricbench.report.documents.hosts import host_tables
from fabricbench.report.documents.port_map import ports_of, ports_table
from fabricbench.report.documents.table import Note
from fabricbench.report.html.page_parts import Part, Section
from fabricbench.store import Trial
from fabricbench.words import counted

_ROWS_MAX: Final = 512


def ports_section(focus: Trial) -> Section | None:
    """Return a row for each rank and port, or `None` for a result without a run spec."""
    rows = ports_of(focus)
    if not rows:
        return None
    parts: list[Part] = [ports_table(rows, _ROWS_MAX)]
    if len(rows) > _ROWS_MAX:
        note = f"{counted(len(rows), 'row')}; the first {_ROWS_MAX} are shown. "
        parts.append(
            Note(note + f"`fabricbench export {focus.id} --table port_map -o port_map.csv` writes all.")
        )
    return Section("port-map", "Port map", parts)


def hosts_section(focus: Trial) -> Section | None:
    """Return the facts of each host, its clock error, and the changed counters, or `None` without hosts.

    Raises:
        StoreError: A table cannot be read.
    """
    tables = host_tables(focus)
    return Section("hosts", "Hosts", tables) if tables else None
