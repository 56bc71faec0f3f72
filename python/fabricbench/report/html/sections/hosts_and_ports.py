"""Builds the sections on a trial's real hosts and on its port map.

The port map has for each rank its port, switch port, addresses and queue pairs.
"""

from __future__ import annotations

from typing import Final

from fabricbench.report.documents.hosts import COUNTER_HEADS, COUNTERS, HEADS, TEXTS, clock_text, rows_of
from fabricbench.report.documents.port_map import ABOUT, cells_of, columns_of, is_number, ports_of
from fabricbench.report.html.page_parts import Cell, Column, NotePart, Part, Row, Section, TablePart
from fabricbench.store import Trial
from fabricbench.words import counted

_ROWS_MAX: Final = 512


def ports_section(focus: Trial) -> Section | None:
    """Return a row for each rank and port, or `None` for a result without a run spec."""
    rows = ports_of(focus)
    if not rows:
        return None
    heads = columns_of(rows)
    columns = [
        Column(" ".join(head).replace("- ", ""), numeric=is_number(name)) for name, head in heads.items()
    ]
    shown = [cells_of(row) for row in rows[:_ROWS_MAX]]
    table = TablePart(columns, [Row([Cell(cells[name]) for name in heads]) for cells in shown], ABOUT)
    parts: list[Part] = [table]
    if len(rows) > _ROWS_MAX:
        note = f"{counted(len(rows), 'row')}; the first {_ROWS_MAX} are shown. "
        parts.append(
            NotePart(note + f"`fabricbench export {focus.id} --table port_map -o port_map.csv` writes all.")
        )
    return Section("port-map", "Port map", parts)


def hosts_section(focus: Trial) -> Section | None:
    """Return the facts of each host, its clock error, and the changed counters, or `None` without hosts.

    Raises:
        StoreError: A table cannot be read.
    """
    hosts, counters = rows_of(focus)
    if not hosts:
        return None
    columns = [Column(name, numeric=name not in TEXTS) for name in HEADS]
    rows = [Row([Cell(text) for text in cells]) for cells in hosts]
    parts: list[Part] = [TablePart(columns, rows, clock_text(focus))]
    if counters:
        columns = [Column(name, numeric=name == "change") for name in COUNTER_HEADS]
        parts.append(
            TablePart(columns, [Row([Cell(text) for text in cells]) for cells in counters], COUNTERS)
        )
    return Section("hosts", "Hosts", parts)
