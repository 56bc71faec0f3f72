"""Figures of the registry: of trials of a run, and as sections of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.figures.registry import figures_of
from fabricbench.figures.subject import Subject
from fabricbench.report.html.model import NotePart, Part, PlotPart
from fabricbench.report.html.model import Section as PageSection

if TYPE_CHECKING:
    from fabricbench.figures.figure import Section
    from fabricbench.figures.plot import Plot


def figure_section(section: Section, subject: Subject, *, half: bool = False) -> PageSection:
    """Return a section with its figures, or with the reason why there are none.

    In a section about the run, those of the run include what a trial has by itself.

    Raises:
        StoreError: A table cannot be read.
    """
    figures = figures_of(section)
    of_run = any(figure.of_run for figure in figures)
    plots = [figure.draw(subject) for figure in figures if figure.of_run == of_run]
    return plot_section(section, plots, half=half)


def plot_section(section: Section, plots: Sequence[Plot | None], *, half: bool = False) -> PageSection:
    """Return a section with plots, or with the reason why there are none."""
    parts: list[Part] = [PlotPart(plot, half=half) for plot in plots if plot is not None]
    reason = NotePart(f"{section.missing[0].upper()}{section.missing[1:]}.")
    return PageSection(section.key, section.title, parts or [reason])
