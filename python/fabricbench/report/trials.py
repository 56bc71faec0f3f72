"""A trial with its summaries: what every report starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.compare import Change, Deviation, compare, deviations
from fabricbench.analysis.results import result_table, summary_of
from fabricbench.analysis.summary import Summary, summarise
from fabricbench.analysis.verdict import FAIL, Judgement, judge, verdict
from fabricbench.report.tenants import Alone, Solos

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.store import Trial, TrialFacts
    from fabricbench.store.tables import TableFolder


@dataclass(frozen=True)
class JobReport:
    """One job of a trial.

    Attributes:
        trial: The trial.
        summary: The job's metrics.
        deviations: Published values and how far ours are from them; empty if there are none.
        alone: How the job did without its neighbours, if that was run.
        judgements: What came of the plan's criteria; empty if none concerns the job.
    """

    trial: Trial
    summary: Summary
    deviations: Sequence[Deviation]
    alone: Alone | None = None
    judgements: Sequence[Judgement] = ()

    @property
    def verdict(self) -> str | None:
        """`pass` or `fail`; none if there is no criterion."""
        return verdict(self.judgements)

    @property
    def is_rejected(self) -> bool:
        """Whether a criterion is not met."""
        return self.verdict == FAIL


def stored_reports(trial: Trial, solos: Solos | None = None) -> list[JobReport]:
    """Return the jobs of a finished trial as they were summarised when it ran, beside themselves alone."""
    return _reports(trial, [summary_of(row) for row in trial.results], solos)


def measured_reports(trial: Trial, solos: Solos | None = None) -> list[JobReport]:
    """Return the jobs of a finished trial, summarised from its record now, beside themselves alone.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    return _reports(trial, summarise(trial.facts.run_spec, trial.summary or {}, trial.tables), solos)


def reports_of_run(trials: Sequence[Trial]) -> list[JobReport]:
    """Return the jobs of every trial of a run, as they were summarised when it ran."""
    solos = Solos(trials)
    return [report for trial in trials for report in stored_reports(trial, solos)]


def _reports(trial: Trial, summaries: Sequence[Summary], solos: Solos | None) -> list[JobReport]:
    """Set the published row beside the first job: it is the one under test."""
    published = trial.facts.published
    values = published["values"] if published else {}
    alone = solos.beside(trial, summaries) if solos else {}
    return [
        JobReport(
            trial,
            summary,
            deviations(summary, values) if index == 0 else (),
            alone.get(summary.job),
            judge(summary, trial.facts.criteria),
        )
        for index, summary in enumerate(summaries)
    ]


def result_rows(facts: TrialFacts, summary: Mapping[str, Any], tables: TableFolder) -> pa.Table:
    """Compute the table `trials` of a record: one row for each job.

    Args:
        facts: What was run.
        summary: The backend's summary.
        tables: The record's other tables.
    """
    identity = {"id": facts.id, "plan": facts.plan, "variant": facts.variant, "iteration": facts.iteration}
    return result_table(identity, summarise(facts.run_spec, summary, tables))


@dataclass(frozen=True)
class JobPair:
    """A job of one trial and the same job of another, with every metric of both."""

    first: JobReport
    second: JobReport
    changes: Sequence[Change]


def compared(first: Sequence[JobReport], second: Sequence[JobReport]) -> list[JobPair]:
    """Compare the jobs of two trials that have the same name, or the only job of each whatever its name."""
    if len(first) == len(second) == 1:
        pairs = [(first[0], second[0])]
    else:
        named = {job.summary.job: job for job in second}
        pairs = [(job, named[job.summary.job]) for job in first if job.summary.job in named]
    return [JobPair(one, other, compare(one.summary, other.summary)) for one, other in pairs]
