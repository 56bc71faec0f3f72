"""The section about jobs beside others and alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.figures.chunks.times import fct_ps_of
from fabricbench.figures.results.tenants import (
    MAX_JOBS,
    KeptShare,
    TenantSample,
    kept_plot,
    tenant_bars,
    tenant_fct,
)
from fabricbench.metrics import BUS_BANDWIDTH, PAUSES, Scope, View, in_views
from fabricbench.report.html.model import Cell, Column, NotePart, Part, PlotPart, Row, Section, TablePart
from fabricbench.report.terminal import metric_text
from fabricbench.report.text_table import fixed
from fabricbench.results.seeds import KeptRow, kept_rows, kept_spreads
from fabricbench.results.sizes import size_title

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.analysis.summary import Summary
    from fabricbench.results.rows import ResultRow

MAX_TENANT_ROWS = 200
MAX_PLACEMENT_ROWS = 100
_METRICS = [metric for metric in in_views(View.TENANTS) if metric.scope is Scope.JOB]


def tenants_section(rows: Sequence[ResultRow]) -> Section | None:
    """Set each job beside the others next to itself alone; none where no job was run alone.

    Raises:
        StoreError: A table of a trial cannot be read.
    """
    beside = [row for row in rows if row.alone]
    if not beside:
        return None
    focus = [row for row in beside if row.is_focus] or [row for row in beside if row.trial is beside[0].trial]
    samples = _samples(focus[:MAX_JOBS])
    plots = [tenant_bars(samples), tenant_fct(samples)]
    parts: list[Part] = [_table(beside), *(PlotPart(plot, half=True) for plot in plots if plot)]
    return Section("tenants", "Beside the others and alone", [*parts, *_seeds(beside)])


def _table(rows: Sequence[ResultRow]) -> TablePart:
    columns = [
        Column(size_title([row.trial for row in rows])),
        Column("job", numeric=False),
        Column("", numeric=False),
        Column("kept", "%"),
    ]
    columns += [Column(metric.label, metric.unit) for metric in _METRICS]
    caption = (
        "Each job beside the others and below it alone, on the same fabric, with the same seed and paths. "
        "Kept is the share of its bus bandwidth alone that it has beside the others."
    )
    if len(rows) > MAX_TENANT_ROWS:
        caption += f" Reduced: the first {MAX_TENANT_ROWS} of {len(rows):,} results."
    lines = [line for row in rows[:MAX_TENANT_ROWS] for line in _lines(row)]
    return TablePart(columns, lines, caption)


def _lines(row: ResultRow) -> list[Row]:
    if row.alone is None:
        return []
    variant = row.trial.facts.variant if row.trial.facts.reference else ""
    size = ", ".join(part for part in (row.size, variant, row.iteration) if part)
    kept = Cell(fixed(row.alone.kept_percent, 1))
    return [
        Row(
            [Cell(size), Cell(row.summary.job), Cell("beside"), kept, *_values(row.summary)],
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


def _samples(rows: Sequence[ResultRow]) -> list[TenantSample]:
    """Return what is drawn of jobs of one trial, whose chunks are read once for all of them."""
    beside = fct_ps_of(rows[0].trial.tables, [row.summary.job for row in rows])
    return [_sample(row, beside[row.summary.job]) for row in rows]


def _sample(row: ResultRow, fct_ps: pl.Series) -> TenantSample:
    job, alone = row.summary.job, row.alone
    if alone is None:
        raise AssertionError("only jobs that were run alone are drawn")
    return TenantSample(
        job,
        row.summary.value(BUS_BANDWIDTH.name),
        alone.summary.value(BUS_BANDWIDTH.name),
        fct_ps.drop_nulls(),
        fct_ps_of(alone.trial.tables, [job])[job].drop_nulls(),
    )


def _seeds(rows: Sequence[ResultRow]) -> list[Part]:
    """Give how the kept share spreads over iterations, and which placement gives which; nothing for one."""
    kept = kept_rows((row.trial, row.summary, row.alone) for row in rows)
    if not kept:
        return []
    plot = kept_plot([KeptShare(row.name, row.kept_percent, row.label) for row in kept])
    return [_spread_table(kept), *([PlotPart(plot)] if plot else []), *_placement_parts(kept)]


def _spread_table(kept: Sequence[KeptRow]) -> TablePart:
    titles = ("iterations", "least", "P25", "median", "P75", "largest")
    rows = [
        Row(
            [
                Cell(name),
                Cell(str(spread.count)),
                *(Cell(fixed(value, 1)) for value in spread.quartiles),
            ]
        )
        for name, spread in kept_spreads(kept).items()
    ]
    columns = [Column("busbw kept (%)", numeric=False), *(Column(title) for title in titles)]
    return TablePart(
        columns, rows, "Over the iterations, each with a seed of its own; P25 and P75 by nearest rank."
    )


def _placement_parts(kept: Sequence[KeptRow]) -> list[Part]:
    known = [row for row in kept if row.placement]
    if not known:
        return [
            NotePart("Queue pairs have no path of their own here, so there are no placements to tell apart.")
        ]
    columns = [
        Column("job", numeric=False),
        Column("iteration"),
        Column("kept", "%"),
        Column(PAUSES.label, PAUSES.unit),
    ]
    columns += [Column("others beside it", "time-weighted mean"), Column("placement", numeric=False)]
    ordered = sorted(known, key=lambda row: (row.name, row.kept_percent))
    rows = [
        Row(
            [
                Cell(row.name),
                Cell(str(row.iteration)),
                Cell(fixed(row.kept_percent, 1)),
                Cell(metric_text(PAUSES, row.pauses), tone="" if row.pauses else "muted"),
                Cell(fixed(row.mean_beside, 2)),
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
    return [TablePart(columns, rows, caption)]
