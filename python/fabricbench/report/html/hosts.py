"""The section about the real hosts that measured a trial."""

from __future__ import annotations

from fabricbench.report.hosts import COUNTER_HEADS, COUNTERS, HEADS, TEXTS, clock_text, rows_of
from fabricbench.report.html.model import Cell, Column, Part, Row, Section, TablePart
from fabricbench.store import Trial


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
