"""Builds the section that compares jobs among others with the same jobs alone, also over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.figures.figure import TENANTS
from fabricbench.figures.results.tenants import KEPT_FIGURE, SHARED_FIGURES
from fabricbench.figures.trial_data import Subject
from fabricbench.report.documents.table import Note
from fabricbench.report.documents.tenants import seed_tables, tenants_tables
from fabricbench.report.html.figure_sections import plot_parts
from fabricbench.report.html.page_parts import Part, Section
from fabricbench.results.result_rows import ResultRow
from fabricbench.store import Trial

MAX_TENANT_ROWS = 200
MAX_PLACEMENT_ROWS = 100


def tenants_section(rows: Sequence[ResultRow], focus: Trial) -> Section | None:
    """Compare each job among others with itself alone, or return `None` if no job was run alone.

    Raises:
        StoreError: A table of a trial cannot be read.
    """
    shared_rows = [row for row in rows if row.alone]
    if not shared_rows:
        return None
    subject = Subject(focus, lambda: shared_rows)
    parts: list[Part] = [*tenants_tables([row.report for row in shared_rows], focus.id, MAX_TENANT_ROWS)]
    parts += plot_parts(SHARED_FIGURES, subject, half=True)
    if subject.kept:
        parts += [*seed_tables(subject.kept, MAX_PLACEMENT_ROWS), *plot_parts([KEPT_FIGURE], subject)]
        if not any(row.placement for row in subject.kept):
            text = "Queue pairs have no path of their own here, so there are no placements to tell apart."
            parts.append(Note(text))
    return Section(TENANTS.key, TENANTS.title, parts)
