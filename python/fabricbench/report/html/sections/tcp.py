"""Builds the section on TCP traffic in parallel with the jobs, and on its single connections."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.report.documents.tcp import (
    CAPTION,
    CONNECTION_CAPTION,
    CONNECTION_HEADS,
    MAX_CONNECTIONS,
    TEXTS,
    cells,
    connection_cells,
    connections_of,
    heads_of,
    results_of,
)
from fabricbench.report.html.page_parts import Cell, Column, Row, Section, TablePart
from fabricbench.results.result_rows import ResultRow
from fabricbench.store import Trial

_UNITS = ("Gb/s", "%", "us", "1/s")


def tcp_section(rows: Sequence[ResultRow]) -> Section | None:
    """Return one line for each TCP traffic of each trial, or `None` without TCP."""
    trials = {row.trial.attempt: row for row in rows}.values()
    results = [(row, result) for row in trials for result in results_of(row.trial)]
    if not results:
        return None
    heads = heads_of(result for _, result in results)
    lines = [
        Row([Cell(text) for text in (row.label, *cells(result, len(heads)))], row.is_focus)
        for row, result in results
    ]
    columns = [Column("trial", numeric=False)]
    columns += [_column(head, is_text=index < TEXTS) for index, head in enumerate(heads)]
    focus = next((row.trial for row in rows if row.is_focus), None)
    connections = [_connections(focus)] if focus else []
    return Section("tcp", "TCP traffic", [TablePart(columns, lines, CAPTION), *filter(None, connections)])


def _connections(focus: Trial) -> TablePart | None:
    """Return the first TCP connections of the focus trial, or `None` without a table of them."""
    connections = connections_of(focus)
    if not connections:
        return None
    columns = [_column(head, is_text=index == 0) for index, head in enumerate(CONNECTION_HEADS)]
    rows = [
        Row([Cell(text) for text in connection_cells(connection)])
        for connection in connections[:MAX_CONNECTIONS]
    ]
    caption = CONNECTION_CAPTION
    if len(rows) < len(connections):
        caption += (
            f" Reduced: {len(rows)} of {len(connections):,}; "
            "`fabricbench export --table connections` has all."
        )
    return TablePart(columns, rows, caption)


def _column(head: tuple[str, str], *, is_text: bool) -> Column:
    first, second = head
    if second in _UNITS:
        return Column(first, second, numeric=not is_text)
    return Column(" ".join(part for part in head if part), numeric=not is_text)
