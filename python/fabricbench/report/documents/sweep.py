"""Builds tables of a job's main metric over the first two plan fields that a run sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import metric_text
from fabricbench.results.job_reports import JobReport
from fabricbench.results.studies.sweep import MetricGrid, Sweep, sweeps
from fabricbench.words import counted

_GRIDS_MAX = 4
_COLUMNS_MAX = 12
_ROWS_MAX = 40


def sweep_tables(jobs: Sequence[JobReport]) -> list[Table]:
    """Return the main metric of each job over the first two swept fields, a table for each size.

    Empty if fewer than two fields have several values: then the table of the run is sufficient.
    """
    return [table for sweep in sweeps(jobs) if len(sweep.fields) > 1 for table in _tables(sweep)]


def _tables(sweep: Sweep) -> list[Table]:
    """Return the tables of one job, limited in number, and in size to a terminal."""
    grids = [grid for grid in sweep.grids() if _fits(grid)]
    tables = [_table(sweep, grid) for grid in grids[:_GRIDS_MAX]]
    omitted = len(grids) - _GRIDS_MAX
    if omitted > 0:
        omission = f"and {counted(omitted, 'more table')}: the report has maps of all of them"
        tables[-1] = replace(tables[-1], notes=[omission])
    return tables


def _fits(grid: MetricGrid) -> bool:
    return len(grid.columns.values) <= _COLUMNS_MAX and len(grid.rows.values) <= _ROWS_MAX


def _table(sweep: Sweep, grid: MetricGrid) -> Table:
    metric = sweep.metric
    unit = f" ({metric.unit})" if metric.unit else ""
    about = f", {grid.about}" if grid.about else ""
    title = f"{metric.title}{unit} of job {sweep.job}{about}: {grid.rows.name} by {grid.columns.name}"
    columns = [Column("", grid.rows.name, is_text=True)]
    columns += [
        Column("" if index else grid.columns.name, value) for index, value in enumerate(grid.columns.values)
    ]
    rows = [
        Row([row, *(metric_text(metric, grid.values.get((row, column))) for column in grid.columns.values)])
        for row in grid.rows.values
    ]
    return Table(columns, rows, title=title)
