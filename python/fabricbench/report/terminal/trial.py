"""Formats one trial in full, a list of trials, and a trial's real hosts: facts, clocks, counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType

from fabricbench.analysis.comparison.ratios import Deviation
from fabricbench.metrics import METRICS, Metric, Scope, View, in_views
from fabricbench.report.documents.columns import shares_fabric, with_short_units
from fabricbench.report.documents.criteria import judgement_text
from fabricbench.report.documents.fabric_metrics import fabric_values
from fabricbench.report.documents.hosts import host_tables
from fabricbench.report.documents.measured import NO_CHUNKS, printed_table
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import deviation_text, exact_text, heading, sized, value_text
from fabricbench.report.documents.tcp import connection_table, tcp_table
from fabricbench.report.documents.tenants import tenants_tables
from fabricbench.report.documents.trial_facts import tags_text, trial_facts
from fabricbench.report.terminal.text_table import Style, facts_text, joined, render, styled
from fabricbench.results.axes import axes_label
from fabricbench.results.job_ranking import by_concern, kept_of, total_ranks, worst_job
from fabricbench.results.job_reports import JobReport
from fabricbench.store import Trial
from fabricbench.words import data_size


def trial_text(jobs: Sequence[JobReport], tags: Sequence[str] = (), *, colour: bool = False) -> str:
    """Return one trial in full: plan, backend, and every metric of each job.

    Args:
        jobs: The jobs of the trial.
        tags: All its tags; that of its plan if there are none.
        colour: Use the styles of a terminal.
    """
    trial = jobs[0].trial
    facts = "\n".join([facts_text(trial_facts(jobs, tags)), *(f"note: {note}" for note in trial.notes)])
    jobs = by_concern(jobs)
    if trial.is_printed:
        return "\n\n".join([facts, *(_job_text(job, colour=colour) for job in jobs), *_printed(trial)])
    tables = [
        fabric_values(jobs),
        *tenants_tables(jobs),
        tcp_table([trial]),
        connection_table(trial),
    ]
    parts = [
        facts,
        *(_job_text(job, colour=colour) for job in jobs),
        joined(tables, colour=colour),
        joined(host_tables(trial), colour=colour, with_captions=True),
    ]
    return "\n\n".join(part for part in parts if part)


def _printed(trial: Trial) -> list[str]:
    """Return the table of the benchmark's printed values, and the limits of a measured trial."""
    table = printed_table(trial)
    return [*([render(table, colour=False)] if table else []), NO_CHUNKS]


def _job_text(job: JobReport, *, colour: bool) -> str:
    summary = job.summary
    parts = [heading(job), sized(job)]
    if job.trial.has("chunks"):
        parts.append(f"{summary.chunks_complete} of {summary.chunks} chunks complete")
    lines = [styled(", ".join(parts), Style.BOLD, colour=colour)]
    if summary.reason:
        lines.append(styled(f"{summary.status}: {summary.reason}", Style.RED, colour=colour))
    lines += [job.missing] if job.missing else []
    by_metric = {deviation.metric: deviation for deviation in job.deviations}
    rows = [
        _metric_row(job, metric, by_metric.get(metric.name)) for metric in METRICS if _is_shown(job, metric)
    ]
    heads = [Column(name, is_text=name in ("metric", "unit")) for name in ("metric", "value", "unit")]
    if by_metric:
        heads += [Column("published"), Column("deviation")]
    else:
        rows = [Row(row.cells[:3]) for row in rows]
    table = [render(Table(heads, rows), colour=colour)] if rows else []
    return "\n".join([*lines, *table, *_criteria_lines(job, colour=colour)])


def _is_shown(job: JobReport, metric: Metric) -> bool:
    """Return whether to show a metric: it has a value, or lacks it because the job is incomplete."""
    if metric.is_on_demand or ((metric.scope is Scope.RUN) and shares_fabric(job.trial)):
        return False
    if View.SHARED in metric.views and not shares_fabric(job.trial):
        return False
    if job.summary.value(metric.name) is not None:
        return True
    is_ended_early = job.summary.status != "complete" and job.trial.has("chunks")
    return is_ended_early and metric.concerns(job.summary.kind)


def _criteria_lines(job: JobReport, *, colour: bool) -> list[str]:
    """Format every criterion of a job, and whether it is met."""
    return [
        styled(
            f"criterion: {judgement_text(judgement)}",
            Style.PLAIN if judgement.passed else Style.RED,
            colour=colour,
        )
        for judgement in job.judgements
    ]


def _metric_row(job: JobReport, metric: Metric, deviation: Deviation | None) -> Row:
    published = "" if deviation is None else f"{deviation.published:.10g}"
    return Row([metric.title, exact_text(job, metric), metric.unit, published, deviation_text(deviation)])


_OF_ALONE = Column("of alone", "%")
_RANKS = Column("ranks", "of all")
_LIST_COLUMNS = [
    Column("trial", is_text=True),
    Column("plan", is_text=True),
    Column("backend", is_text=True),
    Column("job", is_text=True),
    Column("", "size"),
    Column("#"),
    Column("tag", is_text=True),
    Column("status", is_text=True),
]


def trial_list(
    trials: Sequence[Trial],
    jobs: Sequence[JobReport],
    tags: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    colour: bool = False,
) -> str:
    """Return a list of trials, including unfinished ones: one line for each job.

    Args:
        trials: The trials.
        jobs: The jobs of those that have finished.
        tags: All tags of trials by their ids; the plan's tag for trials that are missing here.
        colour: Use the styles of a terminal.
    """
    jobs_of = {attempt: list(group) for attempt, group in groupby(jobs, key=lambda job: job.trial.attempt)}
    has_several_jobs = any(len(group) > 1 for group in jobs_of.values())
    metrics = with_short_units(in_views(View.TRIALS), [job.summary for job in jobs])
    columns = [*_LIST_COLUMNS[:4], *([_RANKS, _OF_ALONE] if has_several_jobs else []), *_LIST_COLUMNS[4:]]
    columns += [Column(metric.label, metric.unit, head=metric.lines) for metric in metrics]
    columns.append(Column("started", "(UTC)", is_text=True))
    rows: list[Row] = []
    for trial in trials:
        tagged = tags_text(trial, tags.get(trial.id, ()))
        finished: Sequence[JobReport | None] = by_concern(jobs_of.get(trial.attempt, ())) or [None]
        worst = worst_job(jobs_of.get(trial.attempt, []))
        for job in finished:
            row = _list_row(trial, job, tagged, metrics)
            shared_cells = _shared_cells(trial, job, is_worst=job is worst) if has_several_jobs else []
            rows.append(replace(row, cells=[*row.cells[:4], *shared_cells, *row.cells[4:]]))
    return render(Table(columns, rows), colour=colour)


def _shared_cells(trial: Trial, job: JobReport | None, *, is_worst: bool) -> list[str]:
    """Format the ranks of a job and of all, and its bandwidth relative to itself alone; marks the worst."""
    ranks = total_ranks(trial)
    if job is None:
        return [f"{ranks}", ""]
    percent = kept_of(job)
    mark = "worst " if is_worst and percent is not None else ""
    return [f"{job.summary.ranks}/{ranks}", "" if percent is None else f"{mark}{percent:.1f}"]


def _list_row(trial: Trial, job: JobReport | None, tagged: str, metrics: Sequence[Metric]) -> Row:
    facts = trial.facts
    values = [value_text(trial, job.summary, metric) if job else "-" for metric in metrics]
    started = trial.started_at[:16].replace("T", " ")
    size = job.size if job else data_size(facts.data_size_bytes)
    status = status_text(job) if job else trial.status
    variant = "" if facts.variant in ("", "base") else facts.variant
    labels = ", ".join(part for part in (variant, axes_label(trial)) if part)
    plan = f"{facts.plan} ({labels})" if labels else facts.plan
    cells = [
        facts.id,
        plan,
        facts.backend,
        job.summary.job if job else "-",
        size,
        str(facts.iteration),
        tagged,
        status,
    ]
    return Row([*cells, *values, started], "" if status == "complete" else "bad")


def status_text(job: JobReport) -> str:
    """Return the status of a job, or "not met" if it is complete but fails a criterion."""
    is_not_met = job.summary.status == "complete" and job.is_rejected
    return "not met" if is_not_met else job.summary.status
