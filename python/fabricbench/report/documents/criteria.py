"""Formats the acceptance criteria of a plan with their results: met or not, and the measured values."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.comparison.verdict import Judgement
from fabricbench.metrics import BY_NAME, Metric
from fabricbench.results.axes import axes_label
from fabricbench.results.job_reports import JobReport
from fabricbench.words import counted

_PLAIN = 1_000
"""Smallest value that is written as a whole number."""
ALL_MET = "criteria: all met"


def judgement_text(judgement: Judgement) -> str:
    """Format a judgement: the criterion, whether it is met, and the measured value."""
    limits = [f"{_number(judgement.min)} or more"] if judgement.min is not None else []
    limits += [f"{_number(judgement.max)} or less"] if judgement.max is not None else []
    criterion = f"{judgement.metric} of {' and '.join(limits)}"
    met = "met" if judgement.passed else "not met"
    if judgement.value is None:
        return f"{criterion}: {met}, it could not be measured"
    return f"{criterion}: {met}, it is {_number(judgement.value)}{_incomplete(judgement)}"


def not_met_text(jobs: Sequence[JobReport]) -> str:
    """Return the number of failed criteria, as a suffix of a status; empty if all are met."""
    judged = [judgement for job in jobs for judgement in job.judgements]
    failed = sum(not judgement.passed for judgement in judged)
    return f", {failed} of {len(judged)} criteria not met" if failed else ""


def verdict_line(jobs: Sequence[JobReport]) -> str:
    """Return the result of a run in one line: `6 of 6 criteria not met: busbw of moe 19.4 for 30 GB/s`.

    The size of the job follows in parentheses. Of several failed criteria, the one missed by most is named.
    Empty if there are no criteria and everything is complete: that is no verdict.
    """
    judged = [(job, judgement) for job in jobs for judgement in job.judgements]
    failed = [(job, judgement) for job, judgement in judged if not judgement.passed]
    incomplete_jobs = [job for job in jobs if job.summary.status != "complete"]
    if failed:
        job, worst = max(failed, key=lambda failure: _missed_by(failure[1]))
        failure_text = f"{missed_text(job, worst)} ({trial_label(job, jobs)})"
        return f"{len(failed)} of {len(judged)} criteria not met: {failure_text}"
    if incomplete_jobs:
        trials = {job.trial.attempt for job in jobs}
        incomplete_trials = {job.trial.attempt for job in incomplete_jobs}
        first = incomplete_jobs[0]
        state = f"job {first.summary.job} is {first.summary.status} ({trial_label(first, jobs)})"
        return f"{len(incomplete_trials)} of {counted(len(trials), 'trial')} not complete: {state}"
    return f"{len(judged)} of {len(judged)} criteria met" if judged else ""


def missed_text(job: JobReport, judgement: Judgement) -> str:
    """Format the value that fails a criterion: `busbw of moe 19.4 for 30 GB/s`."""
    metric = BY_NAME.get(judgement.metric)
    name = _name(metric) if metric else judgement.metric
    unit = f" {metric.unit}" if metric and metric.unit else ""
    limits = [judgement.min, judgement.max]
    limit_text = " to ".join(_number(limit) for limit in limits if limit is not None)
    if judgement.value is None:
        status = job.summary.status
        measured = "not measured" if status == "complete" else f"not measured, {status},"
    else:
        measured = _precise_number(judgement.value, limits) + (
            " incomplete" if _incomplete(judgement) else ""
        )
    return f"{name} of {job.summary.job} {measured} for {limit_text}{unit}"


def _name(metric: Metric) -> str:
    """Return a short name of a metric that the name of a job can follow."""
    has_short_name = metric.label and not metric.label.startswith("of ")
    return metric.label if has_short_name else metric.phrase


def trial_label(job: JobReport, jobs: Sequence[JobReport]) -> str:
    """Identify the trial of a job by its size, and by variant, swept values and iteration if needed."""
    facts = job.trial.facts
    variants = {run_job.trial.facts.variant for run_job in jobs}
    parts = [job.size, *([facts.variant] if len(variants) > 1 else []), axes_label(job.trial)]
    parts += [f"#{facts.iteration}"] if any(run_job.trial.facts.iteration for run_job in jobs) else []
    return ", ".join(part for part in parts if part)


def _missed_by(judgement: Judgement) -> float:
    """Return by which fraction of its limit a value misses it; infinity if it was not measured."""
    if judgement.value is None:
        return float("inf")
    limit = judgement.min if judgement.min is not None and judgement.value < judgement.min else judgement.max
    return abs(judgement.value - limit) / (abs(limit) or 1.0) if limit is not None else 0.0


def _precise_number(value: float, limits: Sequence[float | None]) -> str:
    """Format a value with three digits, or as many as needed to differ from a limit."""
    for digits in range(3, 10):
        text = f"{value:,.{digits}g}" if abs(value) < _PLAIN else f"{value:,.0f}"
        if float(text.replace(",", "")) not in limits:
            return text
    return _number(value)


def _incomplete(judgement: Judgement) -> str:
    """Explain why a value within the limits does not pass."""
    low, high, value = judgement.min, judgement.max, judgement.value
    if value is None or judgement.passed:
        return ""
    within = (low is None or value >= low) and (high is None or value <= high)
    return " of an incomplete job" if within else ""


def _number(value: float) -> str:
    """Format an integer in full, another number with enough digits to differ from a missed limit."""
    return str(value) if isinstance(value, int) else f"{value:.10g}"
