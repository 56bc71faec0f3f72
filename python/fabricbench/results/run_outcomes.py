"""Computes the outcome of each run from its trials: pass or fail, and the job that others slow most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabricbench.results.job_ranking import kept_of, worst_job
from fabricbench.results.job_reports import ComparisonTrials, stored_reports
from fabricbench.store import Trial, Workspace
from fabricbench.store.catalog.memberships import ENTRIES
from fabricbench.store.catalog.schema import IS_FINISHED, NOT_IN_TRASH
from fabricbench.store.catalog.sql import all_of, any_of, contains, joined, one_of
from fabricbench.store.queries.listing import comparable_trials

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
    trials = _trials(workspace, suites)
    comparisons = ComparisonTrials(comparable_trials(workspace, trials))
    outcomes: dict[str, RunOutcome] = {}
    for trial in trials:
        outcome = outcomes.get(trial.facts.suite, RunOutcome())
        outcomes[trial.facts.suite] = _joined(outcome, trial, comparisons)
    return outcomes


def verdicts_of(workspace: Workspace, ids: Collection[str]) -> dict[str, str]:
    """Return `pass` or `fail` of finished trials with criteria, for at most `TRIALS_MAX` trials.

    Raises:
        StoreError: The catalog cannot be read.
    """
    chosen = list(ids)[:TRIALS_MAX]
    condition = all_of(one_of("id", chosen), IS_FINISHED, NOT_IN_TRASH, "criteria <> '[]'")
    with workspace.database.reading() as connection:
        trials = workspace.catalog.where(connection, condition) if chosen else []
    comparisons = ComparisonTrials(comparable_trials(workspace, trials))
    outcomes = {trial.id: _joined(RunOutcome(), trial, comparisons) for trial in trials}
    return {trial_id: outcome.verdict for trial_id, outcome in outcomes.items() if outcome.verdict}


def _trials(workspace: Workspace, suites: Sequence[str]) -> list[Trial]:
    """Return the trials of some runs that have criteria, or whose jobs may have run alone, by whole runs."""
    of_plans = joined(f"plan IN (SELECT plan FROM {ENTRIES} WHERE", contains("variant", "solo/"), ")")
    has_outcome = any_of("criteria <> '[]'", of_plans)
    condition = all_of(one_of("suite", suites), IS_FINISHED, NOT_IN_TRASH, has_outcome)
    with workspace.database.reading() as connection:
        sizes = Counter(connection.execute(f"SELECT suite FROM {ENTRIES} WHERE", condition).scalars())
        chosen = _within(sizes, suites)
        if not chosen:
            return []
        return workspace.catalog.where(connection, all_of(condition, one_of("suite", chosen)))


def _within(sizes: Mapping[str, int], suites: Sequence[str]) -> list[str]:
    """Return the first runs that together have at most `TRIALS_MAX` trials."""
    chosen, trials = [], 0
    for suite in suites:
        if 0 < sizes.get(suite, 0) <= TRIALS_MAX - trials:
            chosen.append(suite)
            trials += sizes[suite]
    return chosen


def _joined(outcome: RunOutcome, trial: Trial, comparisons: ComparisonTrials) -> RunOutcome:
    jobs = stored_reports(trial, comparisons)
    verdicts = {outcome.verdict, *(job.verdict for job in jobs)}
    verdict = next((candidate for candidate in ("fail", "pass") if candidate in verdicts), None)
    job = worst_job(jobs)
    if job is None or (percentage := kept_of(job)) is None:
        return RunOutcome(verdict, outcome.worst)
    is_worse = outcome.worst is None or percentage < outcome.worst[1]
    return RunOutcome(verdict, (job.summary.job, percentage) if is_worse else outcome.worst)
