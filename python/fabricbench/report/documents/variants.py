"""Tables of a plan's variants: metrics and ratios to the reference variant, and their spread over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from fabricbench.analysis.comparison.ratios import ratio_verdict
from fabricbench.metrics import Metric
from fabricbench.report.documents.columns import detail_columns, result_columns
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import (
    TRIAL_COLUMN,
    axis_columns,
    heading,
    label,
    metric_cell,
    metric_columns,
    metric_text,
    published_rows,
    size_column,
    trial_cell,
)
from fabricbench.results.axes import axis_names, axis_values
from fabricbench.results.job_reports import JobReport
from fabricbench.results.variants import TOLERANCE, VariantResult, VersusRow

RATIO_DECIMALS = 3
TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad", "same": "", "": "muted"}
"""Tone of each verdict on a ratio."""
_CAPTION = (
    "The ratio to the reference variant, which is 1 by definition, and below it the value, or over several "
    "iterations the median and below it the least and the largest. Green is better and orange worse by more "
    f"than {100 * TOLERANCE:g} %. Incomplete runs give no ratio. A ratio leads to the plots of its variant."
)


def anchor(variant: str) -> str:
    """Return the anchor of the sections of a page that show one variant."""
    return f"variant-{variant}"


def variant_table(jobs: Sequence[JobReport], focus: str = "") -> Table:
    """Return all variants of one job for each point of the sweep and iteration.

    Args:
        jobs: The job under every variant, in the order of the plan.
        focus: Id of the trial that is shown in detail.
    """
    shown, details = result_columns(jobs), detail_columns(jobs)
    repeats = any(job.trial.facts.iteration for job in jobs)
    names = axis_names([job.trial for job in jobs])
    columns = [*axis_columns(names), size_column([job.trial for job in jobs])]
    columns.append(Column("variant", is_text=True))
    for metric, column in zip(shown, metric_columns(shown, details), strict=True):
        ratio = Column("ratio", is_detail=column.is_detail)
        columns += [column, ratio] if metric.ratio else [column]
    columns.append(TRIAL_COLUMN)
    groups = groupby(
        jobs, key=lambda job: [*axis_values(job.trial, names), label(job, with_iteration=repeats)]
    )
    rows = [row for texts, group in groups for row in _group_rows(texts, list(group), shown, focus)]
    title = f"{heading(jobs[0], jobs, with_variant=False)}; ratios to {jobs[0].trial.facts.reference}"
    return Table(columns, rows, title=title)


def _group_rows(
    texts: Sequence[str], jobs: Sequence[JobReport], shown: Sequence[Metric], focus: str
) -> Iterator[Row]:
    """Yield the rows of one point and iteration; only the first row has their labels."""
    for index, job in enumerate(jobs):
        tone: Tone = "" if job.summary.status == "complete" else "bad"
        head = [*("" if index else text for text in texts), job.trial.facts.variant]
        values = [cell for metric in shown for cell in _cells(job, metric)]
        yield Row([*head, *values, trial_cell(job)], tone, job.trial.id == focus)
        for row in published_rows(job, shown):
            cells = [
                cell
                for metric, value in zip(shown, row.cells[1:], strict=True)
                for cell in ([value, ""] if metric.ratio else [value])
            ]
            yield Row([*[""] * len(texts), row.cells[0], *cells, ""], row.tone)


def _cells(job: JobReport, metric: Metric) -> Iterator[Cell]:
    """Yield a metric and its ratio to the reference, if it has one."""
    yield metric_cell(job, metric)
    if metric.ratio:
        ratio = job.against.ratios[metric.ratio] if job.against else None
        is_reference = job.trial.facts.variant == job.trial.facts.reference
        tone = "" if is_reference else TONES[ratio_verdict(metric, ratio, TOLERANCE)]
        yield Cell(fixed(ratio, RATIO_DECIMALS), tone=tone)


def ratio_tables(rows: Sequence[VersusRow]) -> list[Table]:
    """Return a table for each ratio: a line for each size and job, a column for each variant."""
    return [_ratio_table(list(group)) for _, group in groupby(rows, key=_kind)]


def _kind(row: VersusRow) -> tuple[str, tuple[str, ...]]:
    return row.ratio, tuple(result.variant for result in row.results)


def _ratio_table(rows: Sequence[VersusRow]) -> Table:
    first = rows[0]
    columns = [Column(title, is_text=True) for title in ("size", "job")]
    columns += [Column(result.variant) for result in first.results]
    lines = [Row([row.size, row.job, *(_ratio_cell(row, result) for result in row.results)]) for row in rows]
    title = f"{first.metric.phrase} of each job, ratio to {first.reference}"
    return Table(columns, lines, _CAPTION, title)


def _ratio_cell(row: VersusRow, result: VariantResult) -> Cell:
    link = f"#{anchor(result.variant)}"
    if result.value is None:
        return Cell("-", ["incomplete"] if result.is_incomplete else [], "bad", link)
    tone = "" if result.variant == row.reference else TONES[row.verdict(result)]
    return Cell(fixed(result.value, RATIO_DECIMALS), _details(row, result), tone, link)


def _details(row: VersusRow, result: VariantResult) -> list[str]:
    """Return the value of the ratio, or its range over several seeds."""
    lines = []
    if len(result.jobs) == 1:
        value = result.jobs[0].summary.value(row.metric.name)
        lines.append(f"{metric_text(row.metric, value)} {row.metric.unit}".strip())
    elif result.ratios:
        low, high = fixed(result.ratios.least, RATIO_DECIMALS), fixed(result.ratios.largest, RATIO_DECIMALS)
        lines.append(low if low == high else f"{low} to {high}")
    return [*lines, *(["some incomplete"] if result.is_incomplete else [])]


def spread_table(rows: Sequence[VersusRow]) -> Table | None:
    """Return the spread of each ratio over the seeds, or `None` for one seed."""
    results = [(row, result) for row in rows for result in row.results]
    if not any(len(result.jobs) > 1 for _, result in results):
        return None
    columns = [Column(title, is_text=True) for title in ("size", "job", "variant", "ratio of")]
    columns += [Column(title) for title in ("seeds", "least", "P25", "median", "P75", "largest")]
    lines = [_spread_row(row, result) for row, result in results]
    return Table(columns, lines, title=f"ratios to {rows[0].reference} over the seeds")


def _spread_row(row: VersusRow, result: VariantResult) -> Row:
    values = result.ratios.quartiles if result.ratios else (None,) * 5
    count = str(result.ratios.count if result.ratios else 0)
    names = [row.size, row.job, result.variant, row.metric.phrase]
    return Row([*names, count, *(fixed(value, RATIO_DECIMALS) for value in values)])
