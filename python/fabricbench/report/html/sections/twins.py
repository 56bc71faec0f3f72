"""Builds the section that compares a measured run with the simulator's predictions (its twins)."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.figures.figure import TWIN
from fabricbench.figures.trial_data import subject_of
from fabricbench.report.documents.twins import NoTwinError, twin_tables, twins_of
from fabricbench.report.html.figure_sections import figure_section
from fabricbench.report.html.page_parts import Section
from fabricbench.store import Trial


def twins_section(run: Sequence[Trial], focus: Trial, twins: Sequence[Trial]) -> Section | None:
    """Return table, causes and figure, or `None` if no trial of the run has a twin.

    Raises:
        StoreError: A table cannot be read.
    """
    suite_trials = [trial for trial in run if trial.facts.suite == focus.facts.suite]
    if not twins or focus.is_printed:
        return None
    try:
        groups = twins_of(suite_trials, twins)
    except NoTwinError:
        return None
    shown = [*suite_trials, *twins]
    figures = figure_section(TWIN, subject_of(focus, shown))
    return Section(TWIN.key, TWIN.title, [*twin_tables(groups), *figures.parts])
