"""The parts of a page: sections that hold plots, tables, facts and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fabricbench.figures.plot import Plot

Tone = Literal["", "good", "bad", "muted"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, the unit below it, and whether it holds numbers (set flush right)."""

    title: str
    unit: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """A cell: its text, the small lines below it, its tone, and where in the page it leads."""

    text: str
    below: Sequence[str] = ()
    tone: Tone = ""
    href: str = ""


@dataclass(frozen=True)
class Row:
    """A row; `focus` marks the trial that the detailed plots show."""

    cells: Sequence[Cell]
    focus: bool = False


@dataclass(frozen=True)
class TablePart:
    """A table with a caption; columns without any content have been left out by whoever made it."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class FactsPart:
    """Names and values, such as seed and version."""

    facts: Sequence[tuple[str, str]]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True)
class TextPart:
    """A text shown as it is, such as the plan; `folded` hides it until the reader opens it."""

    text: str
    title: str = ""
    folded: bool = False
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class PlotPart:
    """A plot; two of `half` width stand side by side where there is room.

    Attributes:
        name: That of its figure, unique in the page.
        plot: What is drawn.
        half: Whether it takes half of the width.
    """

    name: str
    plot: Plot
    half: bool = False
    kind: Literal["plot"] = "plot"


@dataclass(frozen=True)
class NotePart:
    """A sentence, such as why a plot is missing."""

    text: str
    kind: Literal["note"] = "note"


Part = TablePart | FactsPart | TextPart | PlotPart | NotePart


@dataclass(frozen=True)
class Answer:
    """One of the things that the first screen tells.

    Attributes:
        question: What a reader asks.
        text: The answer in a few words.
        about: What it is of, and its evidence.
        tone: How it is coloured.
        section: Key of the section that has more; empty if none has.
    """

    question: str
    text: str
    about: str = ""
    tone: Tone = ""
    section: str = ""


@dataclass(frozen=True)
class Section:
    """A titled section of the page.

    Attributes:
        key: Its anchor.
        title: Its title.
        parts: What is in it; pictures come first.
        about: Which trial it shows, if not all.
        in_contents: Whether the list of sections at the top leads to it.
    """

    key: str
    title: str
    parts: Sequence[Part]
    about: str = ""
    in_contents: bool = True

    @property
    def plots(self) -> list[PlotPart]:
        """Its pictures."""
        return [part for part in self.parts if isinstance(part, PlotPart)]

    @property
    def rest(self) -> list[Part]:
        """What is told besides."""
        return [part for part in self.parts if not isinstance(part, PlotPart)]


@dataclass(frozen=True)
class Page:
    """A whole report.

    Attributes:
        name: Name of the plan.
        title: Its title.
        verdict: One line: how the run ended.
        tone: `good` if every criterion of the plan is met, `bad` if one is not or a trial did not complete;
            otherwise neither: that a trial completed is no verdict.
        focus: Which trial the detailed plots show, in words.
        answers: What the first screen tells.
        sections: From top to bottom.
        footer: Program and version.
    """

    name: str
    title: str
    verdict: str
    tone: Tone
    focus: str
    sections: Sequence[Section] = field(default_factory=list)
    footer: str = ""
    answers: Sequence[Answer] = ()
