"""Several jobs of one trial: their order, their ranks together, and which fares worst next to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fabricbench.metrics import IDEAL_SHARE
from fabricbench.words import counted

if TYPE_CHECKING:
    from fabricbench.results.jobs import JobReport
    from fabricbench.store import Trial


_KEPT_ALL = 99.5
"""A job that keeps so much of its bus bandwidth alone [%] lost nothing by the others."""


def total_ranks(trial: Trial) -> int:
    """Return the ranks of all jobs of a trial; those of a measured one as its benchmark says."""
    jobs = trial.facts.run_spec.get("jobs", ())
    return sum(len(job.get("hosts", ())) for job in jobs) or sum(row["ranks"] or 0 for row in trial.results)


def worst_job(jobs: Sequence[JobReport]) -> JobReport | None:
    """Return the job of one trial that keeps least of its bus bandwidth alone; none where that is unknown.

    One that does not complete beside the others, and does alone, keeps nothing.
    """
    known = [(kept, job) for job in jobs if (kept := kept_of(job)) is not None]
    return min(known, key=lambda one: one[0])[1] if known else None


def kept_of(job: JobReport) -> float | None:
    """Return what a job keeps of its bus bandwidth alone [%]; none where that is unknown."""
    if job.alone is None:
        return None
    is_broken = job.summary.status != "complete" and job.alone.summary.status == "complete"
    return 0.0 if is_broken else job.alone.kept_percent


def concern(job: JobReport) -> tuple[bool, bool, float]:
    """Return the place of a job among others: failed ones first, then the least share of the ideal.

    A job that is not complete comes before one that misses a criterion. Jobs without an ideal come last.
    """
    ideal = job.summary.value(IDEAL_SHARE.name)
    is_complete = job.summary.status == "complete"
    return is_complete, not job.is_rejected, float("inf") if ideal is None else ideal


def by_concern(jobs: Iterable[JobReport]) -> list[JobReport]:
    """Return jobs in the order in which they are shown: failed first, then the least share of the ideal."""
    return sorted(jobs, key=concern)


def leading_job(jobs: Sequence[JobReport]) -> JobReport | None:
    """Return the job whose figures stand for a trial; none without jobs."""
    return min(jobs, key=concern, default=None)


def leading_text(job: JobReport, jobs: Sequence[JobReport]) -> str:
    """Say why a job stands for its trial, such as `does not meet busbw_gb_per_s`.

    Args:
        job: The leading job.
        jobs: All jobs of the trial.
    """
    if job.summary.status != "complete":
        alone = job.alone is not None and job.alone.summary.status == "complete"
        return f"is {job.summary.status}{', and completes alone' if alone else ''}"
    if job.is_rejected:
        missed = dict.fromkeys(each.metric for each in job.judgements if not each.passed)
        return f"does not meet {', '.join(missed)}"
    ideal = job.summary.value(IDEAL_SHARE.name)
    if ideal is None:
        return "is the first"
    return f"reaches {ideal:.1f} % of its ideal" + (", the least" if len(jobs) > 1 else "")


def worst_text(job: JobReport) -> str:
    """Say how the job that fares worst does against its run alone."""
    if job.summary.status != "complete":
        return f"job {job.summary.job} is {job.summary.status}, and completes alone"
    return f"job {job.summary.job} keeps {kept_of(job) or 0.0:.1f} % of its bus bandwidth alone"


def jobs_text(jobs: Sequence[JobReport]) -> str:
    """Say how many jobs and ranks a trial has, and which fares worst; empty for a single job.

    That is one that failed, or else, where jobs ran alone, the one with the least share of its ideal; the one
    that keeps least of its bandwidth alone is named as well.
    """
    if len(jobs) < 2:
        return ""
    text = f"{counted(len(jobs), 'job')}, {counted(total_ranks(jobs[0].trial), 'rank')} in all"
    worst = worst_of(jobs)
    return f"{text}; worst: {worst}" if worst else text


def worst_of(jobs: Sequence[JobReport]) -> str:
    """Say which job of a trial fares worst, and which keeps least of its bandwidth alone; may be empty."""
    leading, kept = leading_job(jobs), worst_job(jobs)
    if leading is None:
        return ""
    is_complete, is_met, _ = concern(leading)
    if kept is None and is_complete and is_met:
        return ""
    is_loser = kept is not None and (kept_of(kept) or 0.0) < _KEPT_ALL
    if kept is leading and is_loser and is_complete and is_met:
        return worst_text(kept)
    told = [f"job {leading.summary.job} {leading_text(leading, jobs)}"]
    if kept is not None and is_loser and (kept is not leading or is_complete):
        told.append(worst_text(kept))
    return "; ".join(told)
