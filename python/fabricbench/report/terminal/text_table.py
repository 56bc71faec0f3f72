"""Formats tables as aligned plain text, with styles if a terminal supports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from fabricbench.report.documents.table import Column, Fact, Note, Row, Table, Tone

_RESET = "\x1b[0m"
_GAP = "  "


class Style(StrEnum):
    """Style of a line."""

    PLAIN = ""
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"
    RED = "\x1b[31m"


_STYLES: Final[Mapping[Tone, Style]] = {"strong": Style.BOLD, "muted": Style.DIM, "bad": Style.RED}


def render(table: Table, *, colour: bool) -> str:
    """Return title, lines and notes of a table; columns are as wide as their widest cell, nothing is cut."""
    shown = [index for index, column in enumerate(table.columns) if not column.is_detail]
    columns = [table.columns[index] for index in shown]
    heads = [column.lines if any(column.lines) else () for column in columns]
    depth = max(map(len, heads), default=0)
    lines = [([_head_line(head, line, depth) for head in heads], Style.BOLD) for line in range(depth)]
    for row in table.rows:
        cells = row.filled
        lines.append(([cells[index].text for index in shown], _STYLES.get(row.tone, Style.PLAIN)))
    widths = [max(len(cells[index]) for cells, _ in lines) for index in range(len(heads))]
    title = [styled(table.title, Style.BOLD, colour=colour)] if table.title else []
    texts = [styled(_line(columns, widths, cells), style, colour=colour) for cells, style in lines]
    return "\n".join([*title, *texts, *note_lines(table.lines, colour=colour)])


def facts_text(facts: Iterable[Fact]) -> str:
    """Return a line for each fact, without the details."""
    rows = [Row([fact.name, fact.text]) for fact in facts if not fact.is_detail]
    return render(Table([Column("", is_text=True)] * 2, rows), colour=False)


def note_lines(notes: Iterable[Note], *, colour: bool) -> list[str]:
    """Return a line for each note."""
    return [styled(note.text, _STYLES.get(note.tone, Style.PLAIN), colour=colour) for note in notes]


def joined(tables: Iterable[Table | None], *, colour: bool, with_captions: bool = False) -> str:
    """Return tables, optionally with their captions, with empty lines between them; `None` is left out."""
    texts = (
        (render(table, colour=colour), table.caption if with_captions else "") for table in tables if table
    )
    return "\n\n".join(text for pair in texts for text in pair if text)


def _head_line(head: Sequence[str], line: int, depth: int) -> str:
    """Return one line of a head; short heads are aligned at the bottom."""
    index = line - (depth - len(head))
    return head[index] if index >= 0 else ""


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    texts = (
        cell.ljust(width) if column.is_text else cell.rjust(width)
        for column, width, cell in zip(columns, widths, cells, strict=True)
    )
    return _GAP.join(texts).rstrip()


def styled(text: str, style: Style, *, colour: bool) -> str:
    """Return text in a style, or unchanged without colour."""
    return f"{style}{text}{_RESET}" if colour and style else text
