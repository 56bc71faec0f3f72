"""Outcomes of runs from the jobs of their trials: the worst verdict, and the worst job next to others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabricbench.results.jobs import Beside, stored_reports
from fabricbench.results.several import kept_of, worst_job
from fabricbench.store import Trial, Workspace
from fabricbench.store.catalog import is_deleted
from fabricbench.store.catalog_schema import FINISHED
from fabricbench.store.listing import beside
from fabricbench.store.memberships import places
from fabricbench.store.sql.statement import select

TRIALS_MAX: Final = 1_000
"""Largest number of trials whose jobs are read; runs beyond have no verdict in a list."""


@dataclass(frozen=True)
class RunOutcome:
    """Outcome of a run by its jobs.

    Attributes:
        verdict: `fail` if a job of one of its trials fails the plan's criteria, otherwise `pass`; none
            without criteria.
        worst: The job with the smallest bus bandwidth relative to alone, and that percentage; none if no job
            ran alone.
    """

    verdict: str | None = None
    worst: tuple[str, float] | None = None


def outcomes_of(workspace: Workspace, suites: Sequence[str]) -> dict[str, RunOutcome]:
    """Return the outcomes of some runs; runs without criteria and without jobs alone are left out.

    Raises:
        StoreError: The catalog cannot be read.
    """
    found = _trials(workspace, suites)
    others = Beside(beside(workspace, found))
    outcomes: dict[str, RunOutcome] = {}
    for trial in found:
        known = outcomes.get(trial.facts.suite, RunOutcome())
        outcomes[trial.facts.suite] = _joined(known, trial, others)
    return outcomes


def verdicts_of(workspace: Workspace, ids: Collection[str]) -> dict[str, str]:
    """Return `pass` or `fail` of finished trials with criteria, for at most `TRIALS_MAX` trials.

    Raises:
        StoreError: The catalog cannot be read.
    """
    chosen = list(ids)[:TRIALS_MAX]
    condition = places.c.id.in_(chosen) & places.c.status.in_(FINISHED) & ~is_deleted(places)
    condition &= places.c.criteria != "[]"
    with workspace.database.reading() as connection:
        found = workspace.catalog.where(connection, condition) if chosen else []
    others = Beside(beside(workspace, found))
    outcomes = {trial.id: _joined(RunOutcome(), trial, others) for trial in found}
    return {trial_id: outcome.verdict for trial_id, outcome in outcomes.items() if outcome.verdict}


def _trials(workspace: Workspace, suites: Sequence[str]) -> list[Trial]:
    """Return the trials of some runs that have criteria, or whose jobs may have run alone, by whole runs."""
    of_runs = places.c.suite.in_(suites) & places.c.status.in_(FINISHED) & ~is_deleted(places)
    plans = select(places.c.plan).where(places.c.variant.contains("solo/"))
    condition = of_runs & ((places.c.criteria != "[]") | places.c.plan.in_(plans))
    with workspace.database.reading() as connection:
        counted = connection.execute(select(places.c.suite).where(condition)).scalars()
        sizes: dict[str, int] = {}
        for suite in counted:
            sizes[suite] = sizes.get(suite, 0) + 1
        chosen = _within(sizes, suites)
        return workspace.catalog.where(connection, condition & places.c.suite.in_(chosen)) if chosen else []


def _within(sizes: Mapping[str, int], suites: Sequence[str]) -> list[str]:
    """Return the first runs that together have at most `TRIALS_MAX` trials."""
    chosen, trials = [], 0
    for suite in suites:
        if 0 < sizes.get(suite, 0) <= TRIALS_MAX - trials:
            chosen.append(suite)
            trials += sizes[suite]
    return chosen


def _joined(known: RunOutcome, trial: Trial, others: Beside) -> RunOutcome:
    jobs = stored_reports(trial, others)
    verdicts = {known.verdict, *(job.verdict for job in jobs)}
    verdict = next((each for each in ("fail", "pass") if each in verdicts), None)
    job = worst_job(jobs)
    if job is None or (kept := kept_of(job)) is None:
        return RunOutcome(verdict, known.worst)
    is_worse = known.worst is None or kept < known.worst[1]
    return RunOutcome(verdict, (job.summary.job, kept) if is_worse else known.worst)
