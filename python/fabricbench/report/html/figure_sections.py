"""Builds sections of the page from registered figures, or notes why there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricbench.figures.figure import Figure, Section
from fabricbench.figures.registry import figures_of
from fabricbench.figures.trial_data import Subject
from fabricbench.report.documents.table import Note
from fabricbench.report.html.page_parts import PlotPart, Section as PageSection


def figure_section(section: Section, subject: Subject, *, half: bool = False) -> PageSection:
    """Return a section with its figures, or with the reason why there are none.

    If a section has figures of the run, only those are shown: they include the figures of a trial.

    Raises:
        StoreError: A table cannot be read.
    """
    figures = figures_of(section)
    of_run = any(figure.of_run for figure in figures)
    shown = [figure for figure in figures if figure.of_run == of_run]
    return plot_section(section, plot_parts(shown, subject, half=half))


def plot_parts(figures: Iterable[Figure], subject: Subject, *, half: bool = False) -> list[PlotPart]:
    """Draw figures, skipping empty ones.

    Raises:
        StoreError: A table cannot be read.
    """
    drawn = [(figure.name, figure.draw(subject)) for figure in figures]
    return [PlotPart(name, plot, half) for name, plot in drawn if plot is not None]


def plot_section(section: Section, plots: Sequence[PlotPart]) -> PageSection:
    """Return a section with plots, or with the reason why there are none."""
    reason = Note(f"{section.missing[0].upper()}{section.missing[1:]}.")
    return PageSection(section.key, section.title, plots or [reason])
