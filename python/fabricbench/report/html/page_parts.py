"""Data classes of a page: answers on the first screen; sections with plots, tables, facts and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from fabricbench.figures.plot import Plot
from fabricbench.report.documents.table import Fact, Note, Table, Tone


@dataclass(frozen=True)
class FactsPart:
    """Names and values, such as seed and version."""

    facts: Sequence[Fact]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True)
class TextPart:
    """Preformatted text, such as the plan; `folded` hides it until the reader opens it."""

    text: str
    title: str = ""
    folded: bool = False
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class PlotPart:
    """A plot; two of `half` width are side by side if there is space.

    Attributes:
        name: Name of its figure, unique in the page.
        plot: The plot.
        half: Whether it takes half of the width.
    """

    name: str
    plot: Plot
    half: bool = False
    kind: Literal["plot"] = "plot"


Part = Table | FactsPart | TextPart | PlotPart | Note


@dataclass(frozen=True)
class Answer:
    """An answer on the first screen.

    Attributes:
        question: The reader's question.
        text: The answer in a few words.
        about: Its subject and evidence.
        tone: Its colour.
        section: Key of the section with more details; empty if none.
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
        parts: Its parts; plots are first.
        about: The trial that it shows, if not all.
        in_contents: Whether the list of sections at the top has it.
    """

    key: str
    title: str
    parts: Sequence[Part]
    about: str = ""
    in_contents: bool = True

    @property
    def plots(self) -> list[PlotPart]:
        """Its plots."""
        return [part for part in self.parts if isinstance(part, PlotPart)]

    @property
    def rest(self) -> list[Part]:
        """Its other parts."""
        return [part for part in self.parts if not isinstance(part, PlotPart)]


@dataclass(frozen=True)
class Page:
    """A complete report.

    Attributes:
        name: Name of the plan.
        title: Its title.
        verdict: How the run ended, in one line.
        tone: `good` if every criterion of the plan is met, `bad` if one is not or a trial did not complete;
            neutral otherwise, because completion is no verdict.
        focus: Description of the trial in the detailed plots.
        answers: Answers of the first screen.
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
