"""Builds the section that compares jobs among others with the same jobs alone, also over seeds."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.figures.figure import TENANTS
from fabricbench.figures.results.tenants import KEPT_FIGURE, SHARED_FIGURES
from fabricbench.figures.trial_data import Subject
from fabricbench.metrics import PAUSES, Scope, View, in_views
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.report.documents.table_cells import metric_columns, metric_text, size_column
from fabricbench.report.html.figure_sections import plot_parts
from fabricbench.report.html.page_parts import NotePart, Part, Section
from fabricbench.results.isolation_by_seed import KeptRow, kept_spreads
from fabricbench.results.result_rows import ResultRow
from fabricbench.store import Trial

MAX_TENANT_ROWS = 200
MAX_PLACEMENT_ROWS = 100
_METRICS = [metric for metric in in_views(View.TENANTS, View.SHARED) if metric.scope is Scope.JOB]


def tenants_section(rows: Sequence[ResultRow], focus: Trial) -> Section | None:
    """Compare each job among others with itself alone, or return `None` if no job was run alone.

    Raises:
        StoreError: A table of a trial cannot be read.
    """
    shared_rows = [row for row in rows if row.alone]
    if not shared_rows:
        return None
    subject = Subject(focus, lambda: shared_rows)
    parts: list[Part] = [_table(shared_rows), *plot_parts(SHARED_FIGURES, subject, half=True)]
    return Section(TENANTS.key, TENANTS.title, [*parts, *_seeds(subject)])


def _table(rows: Sequence[ResultRow]) -> Table:
    columns = [
        size_column([row.trial for row in rows]),
        Column("job", is_text=True),
        Column("", is_text=True),
        Column("kept", "%"),
    ]
    columns += metric_columns(_METRICS)
    caption = (
        "Each job beside the others and below it alone, on the same fabric, with the same seed and paths. "
        "Kept is the share of its bus bandwidth alone that it has beside the others."
    )
    if len(rows) > MAX_TENANT_ROWS:
        caption += f" Reduced: the first {MAX_TENANT_ROWS} of {len(rows):,} results."
    lines = [line for row in rows[:MAX_TENANT_ROWS] for line in _lines(row)]
    return Table(columns, lines, caption)


def _lines(row: ResultRow) -> list[Row]:
    if row.alone is None:
        return []
    variant = row.trial.facts.variant if row.trial.facts.reference else ""
    size = ", ".join(part for part in (row.size, row.axes, variant, row.iteration) if part)
    ratio = Cell(fixed(row.alone.kept_percent, 1))
    return [
        Row(
            [Cell(size), Cell(row.summary.job), Cell("beside"), ratio, *_values(row.summary)],
            focus=row.is_focus,
        ),
        Row([Cell(""), Cell(""), Cell("alone", tone="muted"), Cell(""), *_values(row.alone.summary)]),
    ]


def _values(summary: Summary) -> list[Cell]:
    values = [(metric, summary.value(metric.name)) for metric in _METRICS]
    return [
        Cell(metric_text(metric, value), tone="muted" if value in (None, 0) else "")
        for metric, value in values
    ]


def _seeds(subject: Subject) -> list[Part]:
    """Return the spread of the ratio over iterations, and effects of placement; empty for one iteration."""
    if not subject.kept:
        return []
    plots = plot_parts([KEPT_FIGURE], subject)
    return [_spread_table(subject.kept), *plots, *_placement_parts(subject.kept)]


def _spread_table(ratios: Sequence[KeptRow]) -> Table:
    titles = ("iterations", "least", "P25", "median", "P75", "largest")
    rows = [
        Row(
            [
                Cell(name),
                Cell(str(spread.count)),
                *(Cell(fixed(value, 1)) for value in spread.quartiles),
            ]
        )
        for name, spread in kept_spreads(ratios).items()
    ]
    columns = [Column("busbw kept (%)", is_text=True), *(Column(title) for title in titles)]
    return Table(
        columns, rows, "Over the iterations, each with a seed of its own; P25 and P75 by nearest rank."
    )


def _placement_parts(ratios: Sequence[KeptRow]) -> list[Part]:
    placed = [row for row in ratios if row.placement]
    if not placed:
        return [
            NotePart("Queue pairs have no path of their own here, so there are no placements to tell apart.")
        ]
    columns = [
        Column("job", is_text=True),
        Column("iteration"),
        Column("kept", "%"),
        Column(PAUSES.label, PAUSES.unit),
    ]
    columns += [Column("others beside it", "time-weighted mean"), Column("placement", is_text=True)]
    ordered = sorted(placed, key=lambda row: (row.name, row.kept_percent))
    rows = [
        Row(
            [
                Cell(row.name),
                Cell(str(row.iteration)),
                Cell(fixed(row.kept_percent, 1)),
                Cell(metric_text(PAUSES, row.pauses), tone="" if row.pauses else "muted"),
                Cell(fixed(row.mean_overlap, 2)),
                Cell(row.placement),
            ]
        )
        for row in ordered[:MAX_PLACEMENT_ROWS]
    ]
    caption = (
        "Placement: for each rank pair that crosses the fabric, how many queue pairs of other jobs are on "
        "the same link as each of its queue pairs, in order of steps (on the link where most are). Beside: "
        "chunks of other jobs under way on the same first link at the same time, three at most."
    )
    if len(ordered) > MAX_PLACEMENT_ROWS:
        caption += f" Reduced: the first {MAX_PLACEMENT_ROWS} of {len(ordered):,}."
    return [Table(columns, rows, caption)]
