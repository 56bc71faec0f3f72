"""Formats tables of a plan's variants side by side, with their ratios to the reference variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fabricbench.metrics import Metric
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import (
    axis_columns,
    heading,
    label,
    metric_columns,
    published_rows,
    size_column,
    value_text,
)
from fabricbench.report.documents.variants import RATIO_DECIMALS, ratio_tables, spread_table
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.axes import axis_names, axis_values
from fabricbench.results.job_reports import JobReport
from fabricbench.results.variants import versus_rows


def variant_table(
    jobs: Sequence[JobReport], shown: Sequence[Metric], *, with_iteration: bool, colour: bool
) -> list[str]:
    """Return the title and the table of one job: all variants for each point of the sweep and iteration.

    Args:
        jobs: The job under every variant, in the order of the plan.
        shown: The metrics.
        with_iteration: Whether there are several iterations.
        colour: Use the styles of a terminal.
    """
    size_head = size_column([job.trial for job in jobs])
    names = axis_names([job.trial for job in jobs])
    columns = [*axis_columns(names), size_head, Column("variant", is_text=True)]
    for metric, column in zip(shown, metric_columns(shown), strict=True):
        columns.append(column)
        columns += [Column("ratio")] if metric.ratio else []
    groups = groupby(
        jobs,
        key=lambda job: [*axis_values(job.trial, names), label(job, with_iteration=with_iteration)],
    )
    rows = [row for texts, group in groups for row in _group_rows(texts, list(group), shown)]
    reference = jobs[0].trial.facts.reference
    title = styled(
        f"{heading(jobs[0], jobs, with_variant=False)}; ratios to {reference}", Style.BOLD, colour=colour
    )
    return [title, render(Table(columns, rows), colour=colour)]


def _group_rows(texts: Sequence[str], jobs: Sequence[JobReport], shown: Sequence[Metric]) -> Iterator[Row]:
    """Yield the rows of one point and iteration; only the first row has their labels."""
    for index, job in enumerate(jobs):
        tone: Tone = "" if job.summary.status == "complete" else "bad"
        head = [*("" if index else text for text in texts), job.trial.facts.variant]
        values = [cell for metric in shown for cell in _cells(job, metric)]
        yield Row([*head, *values], tone)
        for row in published_rows(job, shown):
            cells = [
                cell
                for metric, value in zip(shown, row.cells[1:], strict=True)
                for cell in ([value, ""] if metric.ratio else [value])
            ]
            yield Row([*[""] * len(texts), row.cells[0], *cells], row.tone)


def _cells(job: JobReport, metric: Metric) -> Iterator[str]:
    """Yield a metric and its ratio to the reference, if it has one."""
    yield value_text(job.trial, job.summary, metric)
    if metric.ratio:
        yield fixed(job.against.ratios[metric.ratio] if job.against else None, RATIO_DECIMALS)


def versus_text(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return the ratios only: all jobs with a column for each variant, and their spread over the seeds.

    Empty for one job and one seed, for which the other tables are sufficient.
    """
    rows = versus_rows(jobs)
    tables = ratio_tables(rows) if len({row.job for row in rows}) > 1 else []
    spread = spread_table(rows)
    return "\n\n".join(render(table, colour=colour) for table in [*tables, *([spread] if spread else [])])
