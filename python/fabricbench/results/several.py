"""Several jobs of one trial: their ranks together, and which fares worst against its run alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.words import counted

if TYPE_CHECKING:
    from fabricbench.results.jobs import JobReport
    from fabricbench.store import Trial


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


def worst_text(job: JobReport) -> str:
    """Say how the job that fares worst does against its run alone."""
    if job.summary.status != "complete":
        return f"job {job.summary.job} is {job.summary.status}, and completes alone"
    return f"job {job.summary.job} keeps {kept_of(job) or 0.0:.1f} % of its bus bandwidth alone"


def jobs_text(jobs: Sequence[JobReport]) -> str:
    """Say how many jobs and ranks a trial has, and which fares worst alone; empty for a single job."""
    if len(jobs) < 2:
        return ""
    worst = worst_job(jobs)
    text = f"{counted(len(jobs), 'job')}, {counted(total_ranks(jobs[0].trial), 'rank')} in all"
    return f"{text}; worst: {worst_text(worst)}" if worst else text
