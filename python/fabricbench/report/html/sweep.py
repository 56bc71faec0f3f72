"""The section with the results of a run over the swept fields of its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabricbench.figures.figure import SWEEP
from fabricbench.figures.registry import figures_of
from fabricbench.figures.subject import Subject
from fabricbench.report.html.figures import plot_parts
from fabricbench.report.html.model import Part, Section
from fabricbench.results.rows import ResultRow
from fabricbench.results.sweep import sweeps
from fabricbench.store import Trial

_JOBS_MAX = 4


def sweep_section(rows: Sequence[ResultRow], focus: Trial) -> Section | None:
    """Return the figures of each job, or `None` if no field is swept over several values."""
    subject = Subject(focus, lambda: rows)
    suite_reports = [row.report for row in rows if row.trial.facts.suite == focus.facts.suite]
    parts: list[Part] = [
        replace(part, name=f"{part.name}-{index}")
        for index, sweep in enumerate(sweeps(suite_reports)[:_JOBS_MAX])
        for part in plot_parts(figures_of(SWEEP), subject.of_job(sweep.job))
    ]
    return Section(SWEEP.key, SWEEP.title, parts) if parts else None
