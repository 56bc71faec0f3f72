"""Model of a table: columns, rows of cells, caption and notes. Terminal and page render the same table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "good", "bad", "muted", "strong"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its title.
        unit: The unit below the title; may be empty.
        is_text: Whether it holds text, set flush left, rather than numbers.
        head: Shorter lines of its head in a terminal; title and unit if empty.
        is_detail: Whether a terminal leaves it out, which has less room than a page.
    """

    title: str
    unit: str = ""
    is_text: bool = False
    head: tuple[str, ...] = ()
    is_detail: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of its head in a terminal."""
        return self.head or ((self.title, self.unit) if self.unit else (self.title,))


@dataclass(frozen=True)
class Cell:
    """A cell: its text, smaller lines below it, tone, and link target in the page."""

    text: str
    below: Sequence[str] = ()
    tone: Tone = ""
    href: str = ""


@dataclass(frozen=True)
class Row:
    """A row: its cells, the tone of cells without their own, and whether it is the trial of the plots."""

    cells: Sequence[Cell | str]
    tone: Tone = ""
    focus: bool = False

    @property
    def filled(self) -> list[Cell]:
        """Its cells, plain texts included."""
        return [cell if isinstance(cell, Cell) else Cell(cell, tone=self.tone) for cell in self.cells]


@dataclass(frozen=True)
class Fact:
    """A named value, such as a seed; a detail is left out in a terminal."""

    name: str
    text: str
    is_detail: bool = False


@dataclass(frozen=True)
class Note:
    """A paragraph, or a line below a table."""

    text: str
    tone: Tone = ""
    kind: Literal["note"] = "note"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        columns: Its columns.
        rows: Its rows.
        caption: Explanation of the columns, which a page has below the table.
        title: Line above it in a terminal; in a page it is in a section with a title.
        notes: Lines below it.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    title: str = ""
    notes: Sequence[Note | str] = ()
    kind: Literal["table"] = "table"

    @property
    def lines(self) -> list[Note]:
        """Its notes, plain texts included."""
        return [note if isinstance(note, Note) else Note(note) for note in self.notes]
