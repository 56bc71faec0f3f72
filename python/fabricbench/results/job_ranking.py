"""Ranks the jobs of a trial, failed ones first; finds the job that others slow most; formats both as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricbench.metrics import IDEAL_SHARE
from fabricbench.results.job_reports import JobReport
from fabricbench.store import Trial
from fabricbench.words import counted

_KEPT_ALL = 99.5
"""Bus bandwidth relative to alone [%] from which a job lost nothing to the others."""


def total_ranks(trial: Trial) -> int:
    """Return the total number of ranks of a trial; for a measured one, as its benchmark reports it."""
    jobs = trial.facts.run_spec.get("jobs", ())
    return sum(len(job.get("hosts", ())) for job in jobs) or sum(row["ranks"] or 0 for row in trial.results)


def worst_job(jobs: Sequence[JobReport]) -> JobReport | None:
    """Return the job of one trial with the smallest bus bandwidth relative to alone; none if unknown.

    A job that does not complete next to the others, and does alone, has 0.
    """
    percentages = [(percentage, job) for job in jobs if (percentage := kept_of(job)) is not None]
    return min(percentages, key=lambda pair: pair[0])[1] if percentages else None


def kept_of(job: JobReport) -> float | None:
    """Return the bus bandwidth of a job relative to alone [%]; none if unknown."""
    if job.alone is None:
        return None
    is_broken = job.summary.status != "complete" and job.alone.summary.status == "complete"
    return 0.0 if is_broken else job.alone.kept_percent


def concern(job: JobReport) -> tuple[bool, bool, float]:
    """Return the sort key of a job: failed ones first, then the smallest percentage of the ideal.

    A job that is not complete is before one that misses a criterion. Jobs without an ideal are last.
    """
    ideal = job.summary.value(IDEAL_SHARE.name)
    is_complete = job.summary.status == "complete"
    return is_complete, not job.is_rejected, float("inf") if ideal is None else ideal


def by_concern(jobs: Iterable[JobReport]) -> list[JobReport]:
    """Return jobs in the order of output: failed ones first, then the smallest percentage of the ideal."""
    return sorted(jobs, key=concern)


def leading_job(jobs: Sequence[JobReport]) -> JobReport | None:
    """Return the job whose figures represent a trial; none without jobs."""
    return min(jobs, key=concern, default=None)


def leading_text(job: JobReport, jobs: Sequence[JobReport]) -> str:
    """Return why a job represents its trial, such as `does not meet busbw_gb_per_s`.

    Args:
        job: The leading job.
        jobs: All jobs of the trial.
    """
    if job.summary.status != "complete":
        alone = job.alone is not None and job.alone.summary.status == "complete"
        return f"is {job.summary.status}{', and completes alone' if alone else ''}"
    if job.is_rejected:
        missed = dict.fromkeys(judgement.metric for judgement in job.judgements if not judgement.passed)
        return f"does not meet {', '.join(missed)}"
    ideal = job.summary.value(IDEAL_SHARE.name)
    if ideal is None:
        return "is the first"
    return f"reaches {ideal:.1f} % of its ideal" + (", the least" if len(jobs) > 1 else "")


def worst_text(job: JobReport) -> str:
    """Return a text that compares the worst job with its run alone."""
    if job.summary.status != "complete":
        return f"job {job.summary.job} is {job.summary.status}, and completes alone"
    return f"job {job.summary.job} keeps {kept_of(job) or 0.0:.1f} % of its bus bandwidth alone"


def jobs_text(jobs: Sequence[JobReport]) -> str:
    """Return the numbers of jobs and ranks of a trial and its worst job, as text; empty for a single job.

    The worst job is one that failed, or else, if jobs ran alone, the one with the smallest percentage of its
    ideal. The one with the smallest bandwidth relative to alone is named as well.
    """
    if len(jobs) < 2:
        return ""
    text = f"{counted(len(jobs), 'job')}, {counted(total_ranks(jobs[0].trial), 'rank')} in all"
    worst = worst_of(jobs)
    return f"{text}; worst: {worst}" if worst else text


def worst_of(jobs: Sequence[JobReport]) -> str:
    """Return the worst job of a trial, and the one that lost most bandwidth to others; may be empty."""
    leading, slowed_most = leading_job(jobs), worst_job(jobs)
    if leading is None:
        return ""
    is_complete, is_met, _ = concern(leading)
    if slowed_most is None and is_complete and is_met:
        return ""
    is_loser = slowed_most is not None and (kept_of(slowed_most) or 0.0) < _KEPT_ALL
    if slowed_most is leading and is_loser and is_complete and is_met:
        return worst_text(slowed_most)
    sentences = [f"job {leading.summary.job} {leading_text(leading, jobs)}"]
    if slowed_most is not None and is_loser and (slowed_most is not leading or is_complete):
        sentences.append(worst_text(slowed_most))
    return "; ".join(sentences)
