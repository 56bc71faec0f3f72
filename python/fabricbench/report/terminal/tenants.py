"""Formats tables of jobs among others and the same jobs alone, and the spread of their ratio over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricbench.metrics import PAUSES, Scope, View, in_views
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import label, metric_columns, metric_text
from fabricbench.report.terminal.text_table import Style, render, styled
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
_COLUMNS = [
    Column("", "size", is_text=True),
    Column("job", is_text=True),
    Column("beside", is_text=True),
    *metric_columns(_OF_ROUNDS),
    Column("kept", "%"),
    *metric_columns(_OF_CHUNKS),
]


def tenants_table(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return a line for each job among others and one for the same job alone.

    Args:
        jobs: Jobs of one run with results of themselves alone.
        colour: Use the styles of a terminal.
    """
    repeats = any(job.trial.facts.iteration for job in jobs)
    rows = [row for job in jobs for row in _tenant_rows(job, with_iteration=repeats)]
    facts = jobs[0].trial.facts
    tag = f" [{facts.tag}]" if facts.tag else ""
    variant = "" if facts.variant in ("", "base") else f", {facts.variant}"
    title = styled(
        f"{facts.plan}{tag}{variant}, each job beside the others and alone", Style.BOLD, colour=colour
    )
    return "\n".join(
        [title, render(Table(_COLUMNS, rows), colour=colour), *_worst_lines(jobs, with_iteration=repeats)]
    )


def _worst_lines(jobs: Sequence[JobReport], *, with_iteration: bool) -> list[str]:
    """Name the job with the worst ratio in all these trials, and the total number of ranks."""
    worst = worst_job(jobs)
    if worst is None:
        return []
    worst_label = label(worst, with_iteration=with_iteration)
    return [
        f"{counted(total_ranks(worst.trial), 'rank')} in all; worst: {worst_text(worst)}, at {worst_label}"
    ]


_SPREAD_COLUMNS = [
    Column("job", is_text=True),
    *(Column(head) for head in ("seeds", "least", "P25", "median", "P75", "largest")),
]
_PLACEMENT_COLUMNS = [
    Column("job", is_text=True),
    Column("#"),
    Column("kept", "%"),
    Column(PAUSES.label, PAUSES.unit, head=PAUSES.lines),
    Column("others", "beside"),
    Column("queue pairs of others on the link of each of its own", is_text=True),
]


def seeds_text(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return the spread of each job's ratio over the seeds, and its placement in each; empty for one seed.

    Raises:
        StoreError: A table of a trial cannot be read.
    """
    from fabricbench.results.isolation_by_seed import kept_rows, kept_spreads

    ratios = kept_rows((job.trial, job.summary, job.alone) for job in jobs)
    if not ratios:
        return ""
    spreads = [
        Row([name, str(spread.count), *(fixed(value, 1) for value in spread.quartiles)])
        for name, spread in kept_spreads(ratios).items()
    ]
    placed = sorted((row for row in ratios if row.placement), key=lambda row: (row.name, row.kept_percent))
    placements = [
        Row(
            [
                row.name,
                str(row.iteration),
                fixed(row.kept_percent, 1),
                metric_text(PAUSES, row.pauses),
                fixed(row.mean_overlap, 2),
                row.placement,
            ]
        )
        for row in placed
    ]
    lines = [
        styled("busbw kept beside the others, in % of alone, over the seeds", Style.BOLD, colour=colour),
        render(Table(_SPREAD_COLUMNS, spreads), colour=colour),
    ]
    if placements:
        title = styled("which placement keeps how much", Style.BOLD, colour=colour)
        lines += ["", title, render(Table(_PLACEMENT_COLUMNS, placements), colour=colour)]
    return "\n".join(lines)


def _tenant_rows(job: JobReport, *, with_iteration: bool) -> Iterator[Row]:
    if job.alone is None:
        return
    for summary, company, ratio in (
        (job.summary, "others", fixed(job.alone.kept_percent, 1)),
        (job.alone.summary, "nobody", ""),
    ):
        of_rounds, of_chunks = (
            [metric_text(metric, summary.value(metric.name)) for metric in metrics]
            for metrics in (_OF_ROUNDS, _OF_CHUNKS)
        )
        is_first = summary is job.summary
        size = ", ".join(part for part in (label(job, with_iteration=with_iteration), job.axes) if part)
        head = [size, job.summary.job] if is_first else ["", ""]
        tone: Tone = "" if summary.status == "complete" else "bad"
        yield Row([*head, company, *of_rounds, ratio, *of_chunks], tone)
