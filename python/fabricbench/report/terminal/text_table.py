"""Formats tables as aligned plain text, with styles if a terminal supports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from fabricbench.report.documents.table import Column, Table, Tone

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
    heads = [column.lines if any(column.lines) else () for column in table.columns]
    depth = max(map(len, heads))
    lines = [([_head_line(head, line, depth) for head in heads], Style.BOLD) for line in range(depth)]
    lines += [([cell.text for cell in row.filled], _STYLES.get(row.tone, Style.PLAIN)) for row in table.rows]
    widths = [max(len(cells[index]) for cells, _ in lines) for index in range(len(heads))]
    title = [styled(table.title, Style.BOLD, colour=colour)] if table.title else []
    texts = [styled(_line(table.columns, widths, cells), style, colour=colour) for cells, style in lines]
    return "\n".join([*title, *texts, *table.notes])


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
