"""Tables of jobs among others and the same jobs alone, and of the spread of their ratio over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import PAUSES, Metric, Scope, View, in_views
from fabricbench.report.documents.columns import with_short_units
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import label, metric_columns, metric_text
from fabricbench.results.isolation_by_seed import KeptRow, kept_spreads
from fabricbench.results.job_ranking import total_ranks, worst_job, worst_text
from fabricbench.results.job_reports import JobReport
from fabricbench.words import counted

_OF_ROUNDS = [metric for metric in in_views(View.TENANTS) if View.SIZES in metric.views]
_OF_CHUNKS = [
    metric
    for metric in in_views(View.TENANTS, View.SHARED)
    if View.SIZES not in metric.views and metric.scope is Scope.JOB
]
"""Metrics that compare a job among others with itself alone, on both sides of the bandwidth ratio."""
_CAPTION = (
    "Each job beside the others and below it alone, on the same fabric, with the same seed and paths. Kept "
    "is the share of its bus bandwidth alone that it has beside the others."
)
_SPREAD_COLUMNS = [
    Column("job", is_text=True),
    *(Column(title) for title in ("seeds", "least", "P25", "median", "P75", "largest")),
]
_PLACEMENT_COLUMNS = [
    Column("job", is_text=True),
    Column("iteration", head=("#",)),
    Column("kept", "%"),
    *metric_columns([PAUSES]),
    Column("others beside it", "time-weighted mean", head=("others", "beside")),
    Column("placement", is_text=True, head=("queue pairs of others on the link of each of its own",)),
]
_PLACEMENT_CAPTION = (
    "Placement: for each rank pair that crosses the fabric, how many queue pairs of other jobs are on the "
    "same link as each of its queue pairs, in order of steps (on the link where most are). Beside: chunks of "
    "other jobs under way on the same first link at the same time, three at most."
)


def tenants_tables(jobs: Sequence[JobReport], focus: str = "", most: int | None = None) -> list[Table]:
    """Return a table for each run: a line for each job among others and one for the same job alone.

    Args:
        jobs: Jobs; those without results of themselves alone are left out.
        focus: Id of the trial that is shown in detail.
        most: Maximum number of jobs of a table.
    """
    ordered = sorted((job for job in jobs if job.alone), key=lambda job: job.trial.facts.position)
    first = {_run(job): job.trial.facts.position for job in reversed(ordered)}
    ordered.sort(key=lambda job: first[_run(job)])
    return [_table(list(group), focus, most) for _, group in groupby(ordered, key=_run)]


def _run(job: JobReport) -> tuple[str, str, str]:
    facts = job.trial.facts
    return facts.plan, facts.tag, facts.variant


def _table(jobs: Sequence[JobReport], focus: str, most: int | None) -> Table:
    repeats = any(job.trial.facts.iteration for job in jobs)
    summaries = [each for job in jobs if job.alone for each in (job.summary, job.alone.summary)]
    of_rounds, of_chunks = (with_short_units(part, summaries) for part in (_OF_ROUNDS, _OF_CHUNKS))
    columns = [
        *(Column(title, is_text=True) for title in ("size", "job", "beside")),
        *metric_columns(of_rounds),
        Column("kept", "%"),
        *metric_columns(of_chunks),
    ]
    rows = [
        row for job in jobs[:most] for row in _rows(job, focus, of_rounds, of_chunks, with_iteration=repeats)
    ]
    facts = jobs[0].trial.facts
    tag = f" [{facts.tag}]" if facts.tag else ""
    variant = "" if facts.variant in ("", "base") else f", {facts.variant}"
    title = f"{facts.plan}{tag}{variant}, each job beside the others and alone"
    notes = [f"the first {most} of {len(jobs):,} results"] if most and most < len(jobs) else []
    return Table(columns, rows, _CAPTION, title, [*notes, *_worst_note(jobs, with_iteration=repeats)])


def _worst_note(jobs: Sequence[JobReport], *, with_iteration: bool) -> list[str]:
    """Name the job with the worst ratio in all these trials, and the total number of ranks."""
    worst = worst_job(jobs)
    if worst is None:
        return []
    worst_label = label(worst, with_iteration=with_iteration)
    return [
        f"{counted(total_ranks(worst.trial), 'rank')} in all; worst: {worst_text(worst)}, at {worst_label}"
    ]


def _rows(
    job: JobReport,
    focus: str,
    of_rounds: Sequence[Metric],
    of_chunks: Sequence[Metric],
    *,
    with_iteration: bool,
) -> Iterator[Row]:
    if job.alone is None:
        return
    for summary, company, ratio in (
        (job.summary, "others", fixed(job.alone.kept_percent, 1)),
        (job.alone.summary, "nobody", ""),
    ):
        before, after = ([_cell(summary, metric) for metric in metrics] for metrics in (of_rounds, of_chunks))
        is_first = summary is job.summary
        size = ", ".join(part for part in (label(job, with_iteration=with_iteration), job.axes) if part)
        head = [size, job.summary.job] if is_first else ["", ""]
        tone: Tone = "" if summary.status == "complete" else "bad"
        is_focus = is_first and job.trial.id == focus
        yield Row([*head, company, *before, ratio, *after], tone, is_focus)


def _cell(summary: Summary, metric: Metric) -> Cell:
    value = summary.value(metric.name)
    return Cell(metric_text(metric, value), tone="" if value else "muted")


def seed_tables(ratios: Sequence[KeptRow], most: int | None = None) -> list[Table]:
    """Return the spread of each job's ratio over the seeds, and its placement in each; empty for one seed.

    Args:
        ratios: Each job in each iteration.
        most: Maximum number of placements.
    """
    if not ratios:
        return []
    spreads = [
        Row([name, str(spread.count), *(fixed(value, 1) for value in spread.quartiles)])
        for name, spread in kept_spreads(ratios).items()
    ]
    title = "busbw kept beside the others, in % of alone, over the seeds"
    tables = [Table(_SPREAD_COLUMNS, spreads, "P25 and P75 by nearest rank.", title)]
    placed = sorted((row for row in ratios if row.placement), key=lambda row: (row.name, row.kept_percent))
    if not placed:
        return tables
    placements = [
        Row(
            [
                row.name,
                str(row.iteration),
                fixed(row.kept_percent, 1),
                Cell(metric_text(PAUSES, row.pauses), tone="" if row.pauses else "muted"),
                fixed(row.mean_overlap, 2),
                row.placement,
            ]
        )
        for row in placed[:most]
    ]
    notes = [f"the first {most} of {len(placed):,}"] if most and most < len(placed) else []
    title = "which placement keeps how much"
    return [*tables, Table(_PLACEMENT_COLUMNS, placements, _PLACEMENT_CAPTION, title, notes)]
