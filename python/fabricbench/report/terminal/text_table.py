"""Formats aligned plain-text tables, with styles if a terminal supports them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_RESET = "\x1b[0m"
_GAP = "  "
_COUNT_MAX = 99_999
"""Largest count written out; larger ones are rounded in tables and exact in JSON and CSV."""


class Style(StrEnum):
    """Style of a line."""

    PLAIN = ""
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"
    RED = "\x1b[31m"


@dataclass(frozen=True)
class Column:
    """A column: the lines of its head, and whether it is text (flush left) rather than numbers."""

    head: tuple[str, ...]
    is_text: bool = False


@dataclass(frozen=True)
class Row:
    """A row of cells and its style."""

    cells: Sequence[str]
    style: Style = Style.PLAIN


def render(columns: Sequence[Column], rows: Sequence[Row], *, colour: bool) -> str:
    """Return the lines of a table; columns are as wide as their widest cell, and nothing is cut."""
    depth = max(len(column.head) for column in columns)
    heads = [
        Row([_head_line(column, line, depth) for column in columns], Style.BOLD) for line in range(depth)
    ]
    table = [*heads, *rows]
    widths = [max(len(row.cells[index]) for row in table) for index in range(len(columns))]
    return "\n".join(_line(columns, widths, row, colour=colour) for row in table)


def _head_line(column: Column, line: int, depth: int) -> str:
    """Return one line of a head; short heads are aligned at the bottom."""
    index = line - (depth - len(column.head))
    return column.head[index] if index >= 0 else ""


def _line(columns: Sequence[Column], widths: Sequence[int], row: Row, *, colour: bool) -> str:
    cells = (
        cell.ljust(width) if column.is_text else cell.rjust(width)
        for column, width, cell in zip(columns, widths, row.cells, strict=True)
    )
    return styled(_GAP.join(cells).rstrip(), row.style, colour=colour)


def styled(text: str, style: Style, *, colour: bool) -> str:
    """Return text in a style, or unchanged without colour."""
    return f"{style}{text}{_RESET}" if colour and style else text


def number(value: float | None, digits: int) -> str:
    """Format a number with `digits` significant digits and no exponent; `-` for `None`."""
    if value is None:
        return "-"
    if not value:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, digits + 2)}f}"


def fixed(value: float | None, decimals: int) -> str:
    """Format a number with `decimals` decimals; `-` for `None`."""
    return "-" if value is None else f"{value:.{decimals}f}"


def count(value: int | None) -> str:
    """Format a count in at most six characters; `-` for `None`."""
    if value is None:
        return "-"
    if value <= _COUNT_MAX:
        return str(value)
    for suffix, scale in (("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)):
        if value < 999.5 * scale:
            return f"{value / scale:.3g}{suffix}"
    return f"{value:.2e}"


def split_head(title: str) -> tuple[str, ...]:
    """Split a title into a column head of two lines for a terminal's table."""
    first, _, second = title.partition(" ")
    return first, second
