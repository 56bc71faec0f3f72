"""Builds the section that compares a measured run with the simulator's predictions (its twins)."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.figures.figure import TWIN
from fabricbench.figures.trial_data import subject_of
from fabricbench.metrics import BY_NAME
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text, value_text
from fabricbench.report.documents.twins import METRICS, NoTwinError, TwinGroup, TwinRow, trend_text, twins_of
from fabricbench.report.html.figure_sections import figure_section
from fabricbench.report.html.page_parts import NotePart, Part, Section
from fabricbench.store import Trial

_MAX_CAUSES = 3


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
    tables = [part for group in groups for part in _parts(group)]
    return Section(TWIN.key, TWIN.title, [*tables, *figures.parts])


def _parts(group: TwinGroup) -> list[Part]:
    metrics = [BY_NAME[name] for name in METRICS]
    columns = [Column("size")]
    columns += [
        Column(f"{side} {metric.label}", metric.unit)
        for side in ("measured", "predicted")
        for metric in metrics
    ]
    columns += [Column("deviation", "%"), Column("likely causes", is_text=True)]
    table = Table(columns, [_row(row) for row in group.rows], group.title)
    return [table, NotePart(f"Trend: {trend_text(group.trend)}.")] if group.trend else [table]


def _row(row: TwinRow) -> Row:
    deviation = row.twin.deviation_percent
    causes = [row.missing] if row.missing else [cause.text for cause in row.twin.causes[:_MAX_CAUSES]]
    measured = [Cell(value_text(row.measured, row.twin.measured, BY_NAME[name])) for name in METRICS]
    cells = [Cell(row.size), *measured, *_predicted(row.twin.predicted)]
    cells.append(Cell("-" if deviation is None else f"{deviation:+.2f}"))
    return Row([*cells, Cell(causes[0] if causes else "", causes[1:])])


def _predicted(summary: Summary | None) -> list[Cell]:
    return [Cell(metric_text(BY_NAME[name], summary.value(name) if summary else None)) for name in METRICS]
