"""Common parts of the terminal's tables: columns, headings, labels, and number formats."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from fabricbench.analysis.comparison.ratios import Deviation
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import Metric
from fabricbench.report.documents.numbers import count, fixed, number
from fabricbench.report.documents.table import Cell, Column, Row, Tone
from fabricbench.results.axes import axes_label, axis_heads
from fabricbench.results.hosts import is_time, known_above_ms
from fabricbench.results.job_reports import JobReport
from fabricbench.results.result_source import SIMULATED, made
from fabricbench.results.sizes import size_title
from fabricbench.store import Trial
from fabricbench.words import counted, data_size
from fabricbench.work import collective_of, nccl_text

TRIAL_COLUMN: Final = Column("trial id", is_text=True, is_detail=True)


def metric_columns(metrics: Sequence[Metric], details: Collection[Metric] = ()) -> list[Column]:
    """Return a column for each metric; its head lacks a first word that the column to its left has."""
    before, columns = "", []
    for metric in metrics:
        is_detail, (name, below) = metric in details, metric.lines
        head = (name.removeprefix(f"{before.partition(' ')[0]} "), below)
        before = before if is_detail else name
        title, unit = metric.label or metric.title, metric.unit or metric.group
        columns.append(Column(title, unit, head=head, is_detail=is_detail))
    return columns


def heading(job: JobReport, others: Sequence[JobReport] = (), *, with_variant: bool = True) -> str:
    """Format the heading of a job's table, with the backend unless it is the simulator.

    Args:
        job: The job.
        others: All jobs of the table; those at other swept values may differ in their collective and ranks.
            Of several names the heading has their number.
        with_variant: Whether the table is about one variant.
    """
    facts, summary = job.trial.facts, job.summary
    tag = f" [{facts.tag}]" if facts.tag else ""
    variant = f"{facts.variant}, " if with_variant and facts.variant not in ("", "base") else ""
    table_jobs = others if others and (facts.axes or nccl_text(job.job_spec)) else [job]
    names = {other.summary.job for other in others}
    subject = f"{len(names)} jobs" if len(names) > 1 else f"job {summary.job}"
    job_text = f"{variant}{subject}: {_collective_text([table_job.summary for table_job in table_jobs])}"
    other = [made(job.trial)] if made(job.trial) != SIMULATED else []
    return ", ".join([f"{facts.plan}{tag}", job_text, *round_text(job), *other])


def _collective_text(summaries: Sequence[Summary]) -> str:
    """Format collective and ranks of a job: all different collectives, and the range of ranks."""
    collectives = (
        " ".join(part for part in (summary.collective, summary.algorithm) if part) for summary in summaries
    )
    ranks = sorted({summary.ranks for summary in summaries})
    span = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
    return f"{' or '.join(dict.fromkeys(collectives))}, {span} ranks"


def round_text(job: JobReport) -> list[str]:
    """Format the options of a job's rounds: warm-up rounds, changing root, barriers."""
    spec = collective_of(job.job_spec)
    warm_up = spec.get("warm_up_rounds", 0)
    options = {
        f"{counted(warm_up, 'round')} to warm up": warm_up,
        "another root in each round": spec.get("root_shift"),
        "barriers between rounds": spec.get("barrier"),
    }
    return [text for text, applies in options.items() if applies]


def sized(job: JobReport) -> str:
    """Format the size of a job and its kind."""
    return f"{size_title([job.trial])} {job.size}"


def label(job: JobReport, *, with_iteration: bool) -> str:
    """Format the size of a job, and its iteration if there are several."""
    return f"{job.size} #{job.trial.facts.iteration}" if with_iteration else job.size


def full_label(job: JobReport, *, with_iteration: bool) -> str:
    """Format the label of a job with its swept values, and its variant if the plan has variants."""
    variant = job.trial.facts.variant if job.trial.facts.reference else ""
    parts = (label(job, with_iteration=with_iteration), job.axes, variant)
    return ", ".join(part for part in parts if part)


def axis_columns(names: Sequence[str]) -> list[Column]:
    """Return a column for each swept field."""
    return [Column(below, above, is_text=True, head=(above, below)) for above, below in axis_heads(names)]


def size_column(trials: Sequence[Trial]) -> Column:
    """Return the column of the sizes of trials."""
    title = size_title(trials)
    return Column(title, is_text=True, head=tuple(title.split(" ", 1)))


def published_rows(job: JobReport, metrics: Sequence[Metric]) -> Iterator[Row]:
    """Yield the rows of a job's published values and of their deviations, if there are any."""
    if job.deviations:
        by_metric = {deviation.metric: deviation for deviation in job.deviations}
        deviations = [by_metric.get(metric.name) for metric in metrics]
        values = (
            "" if deviation is None else f"{deviation.published * metric.scale:.10g}"
            for deviation, metric in zip(deviations, metrics, strict=True)
        )
        yield Row(["published", *values], "muted")
        yield Row(["deviation", *(deviation_text(deviation) for deviation in deviations)], "muted")


def deviation_text(deviation: Deviation | None) -> str:
    """Format the deviation of a value from the published one."""
    if deviation is None:
        return ""
    return "-" if deviation.deviation_percent is None else f"{deviation.deviation_percent:+.2f}%"


def metric_text(metric: Metric, value: float | int | None) -> str:
    """Format a metric's value as in tables, without its unit; `-` if it could not be measured."""
    if value is not None and metric.scale != 1:
        value *= metric.scale
    if metric.digits:
        return count(value) if isinstance(value, int) else number(value, metric.digits)
    if metric.decimals:
        return fixed(value, metric.decimals)
    return count(None if value is None else round(value))


def value_text(trial: Trial, summary: Summary | None, metric: Metric) -> str:
    """Format a metric of a job; for a time between hosts below their clock error, that error."""
    if summary is None:
        return metric_text(metric, None)
    error_ms = known_above_ms(trial, summary, metric.name)
    if error_ms is None:
        return metric_text(metric, summary.value(metric.name))
    return f"<{metric_text(metric, error_ms)}" if is_time(metric.name) else "-"


def exact_text(job: JobReport, metric: Metric) -> str:
    """Format a metric of a job, counts in full."""
    value = job.summary.value(metric.name)
    return f"{value:,}" if isinstance(value, int) else value_text(job.trial, job.summary, metric)


def metric_cell(job: JobReport, metric: Metric) -> Cell:
    """Return a metric of a job."""
    value = job.summary.value(metric.name)
    tone: Tone = "bad" if value and metric.is_trouble else "muted" if value in (None, 0) else ""
    return Cell(value_text(job.trial, job.summary, metric), tone=tone)


def trial_cell(job: JobReport) -> Cell:
    """Return the id of a job's trial, with the status of a job that is not complete."""
    status = [] if job.is_complete else [job.summary.status]
    return Cell(job.trial.id, status, "bad" if status else "muted")


def named_trials(trials: Sequence[Trial]) -> Iterator[tuple[str, Trial]]:
    """Yield each trial once, labelled by its data size, iteration, swept values and variant."""
    repeats = any(trial.facts.iteration for trial in trials)
    for trial in {trial.attempt: trial for trial in trials}.values():
        facts = trial.facts
        names = [data_size(facts.data_size_bytes)]
        names += [f"#{facts.iteration}"] if repeats else []
        names += [f"({axes})"] if (axes := axes_label(trial)) else []
        yield " ".join([*names, *([] if facts.variant in ("", "base") else [f"({facts.variant})"])]), trial
