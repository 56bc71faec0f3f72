"""Builds the input of every report: each job of a trial with its metrics, comparisons and verdict.

Also computes table `trials` of a record (the result tables of a trial).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabricbench import __version__
from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.ratios import Deviation, deviations
from fabricbench.analysis.comparison.verdict import FAIL, Judgement, judge, verdict
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import COMPLETE, Summary, result_table, summary_of
from fabricbench.results.axes import axes_label
from fabricbench.results.reference_trials import Against, References
from fabricbench.results.sizes import shown_bytes, shown_size
from fabricbench.results.solo_trials import Alone, Solos
from fabricbench.store import Trial, TrialFacts
from fabricbench.store.record.tables import TableFolder
from fabricbench.work import collective_of

if TYPE_CHECKING:
    import pyarrow as pa


NO_ROUND = "no round was complete when the other jobs had ended"


@dataclass(frozen=True)
class JobReport:
    """One job of a trial.

    Attributes:
        trial: The trial.
        summary: The job's metrics.
        deviations: Published values and the deviations from them; empty if there are none.
        alone: Result of the job without other jobs, if that was run.
        against: The same job of the reference variant, if the plan has variants and that was run.
        judgements: Results of the plan's criteria; empty if none applies to the job.
        is_fixed: Whether the job has its own size while the plan sweeps several.
    """

    trial: Trial
    summary: Summary
    deviations: Sequence[Deviation]
    alone: Alone | None = None
    against: Against | None = None
    judgements: Sequence[Judgement] = ()
    is_fixed: bool = False

    @property
    def size(self) -> str:
        """The size of the job, with that of the sweep if the job has its own."""
        return shown_size(self.trial, self.summary, with_sweep=self.is_fixed)

    @property
    def axes(self) -> str:
        """The values of the fields that the plan sweeps, as text; empty if it sweeps none."""
        return axes_label(self.trial)

    @property
    def job_spec(self) -> Mapping[str, Any]:
        """The job of the RunSpec."""
        specs: Sequence[Mapping[str, Any]] = self.trial.facts.run_spec["jobs"]
        return next(spec for spec in specs if spec["name"] == self.summary.job)

    @property
    def has_sizes(self) -> bool:
        """Whether the rounds of the job have several data sizes; this report is of one of them."""
        return "round_bytes" in collective_of(self.job_spec)

    @property
    def sized_job(self) -> tuple[str, int]:
        """Key of the same job in another trial: its name, and its data size if it has several."""
        return self.summary.job, self.summary.data_size_bytes if self.has_sizes else 0

    @property
    def job_name(self) -> str:
        """The name of the job, with its size if it has several."""
        return f"{self.summary.job} {self.size}" if self.has_sizes else self.summary.job

    @property
    def missing(self) -> str:
        """Why a complete job has no time: others ended before a round of it did; empty if it has a time."""
        has_none = self.summary.rounds == 0 and self.summary.status == "complete"
        return NO_ROUND if has_none and self.trial.has("chunks") else ""

    @property
    def published_metrics(self) -> Collection[str]:
        """Metrics with a published value."""
        return {deviation.metric for deviation in self.deviations}

    @property
    def verdict(self) -> str | None:
        """`pass` or `fail`; none if there is no criterion."""
        return verdict(self.judgements)

    @property
    def is_complete(self) -> bool:
        """Whether the job ran to its end."""
        return self.summary.status == COMPLETE

    @property
    def is_rejected(self) -> bool:
        """Whether a criterion is not met."""
        return self.verdict == FAIL


class ComparisonTrials:
    """Trials that the jobs of a trial are compared with: jobs alone, and the reference variant."""

    def __init__(self, trials: Sequence[Trial] = ()) -> None:
        """Index the trials of one run or of several."""
        self.solos = Solos(trials)
        self.references = References(trials)
        self._sizes: dict[str, set[int]] = {}
        for trial in trials:
            if not is_solo(trial.facts.variant):
                self._sizes.setdefault(trial.facts.suite, set()).add(trial.facts.data_size_bytes)

    def is_fixed(self, trial: Trial, summary: Summary) -> bool:
        """Return whether a job has its own size while its plan sweeps several."""
        facts = trial.facts
        is_own = shown_bytes(trial, summary) != facts.data_size_bytes
        return is_own and trial.has("chunks") and len(self._sizes.get(facts.suite, ())) > 1


_NO_COMPARISONS: Final = ComparisonTrials()


def stored_reports(trial: Trial, comparisons: ComparisonTrials = _NO_COMPARISONS) -> list[JobReport]:
    """Return the jobs of a finished trial with the summaries stored when it ran, with comparisons."""
    return _reports(trial, [summary_of(row, trial.facts.run_spec) for row in trial.results], comparisons)


def current_reports(trial: Trial, comparisons: ComparisonTrials = _NO_COMPARISONS) -> list[JobReport]:
    """Return the jobs of a finished trial, summarised by this version, with comparisons.

    The stored summaries are used if this version wrote them; a record of another version is summarised again.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    if trial.facts.engine_version == __version__:
        return stored_reports(trial, comparisons)
    return measured_reports(trial, comparisons)


def measured_reports(trial: Trial, comparisons: ComparisonTrials = _NO_COMPARISONS) -> list[JobReport]:
    """Return the jobs of a finished trial, summarised from its record now, with comparisons.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    return _reports(trial, summarise(trial.facts.run_spec, trial.summary or {}, trial.tables), comparisons)


def reports_of_run(trials: Sequence[Trial], others: Sequence[Trial] = ()) -> list[JobReport]:
    """Return the jobs of every trial of a run, with the summaries stored when it ran.

    Args:
        trials: The trials.
        others: Trials of the same run without a report, such as those of another variant.
    """
    comparisons = ComparisonTrials([*trials, *others])
    return [report for trial in trials for report in stored_reports(trial, comparisons)]


def attempts_alone(jobs: Iterable[JobReport]) -> set[int]:
    """Return the attempts of the trials in which a job ran alone for comparison with these."""
    return {job.alone.trial.attempt for job in jobs if job.alone}


def meets_criteria(trial: Trial) -> bool:
    """Return whether a finished trial meets the criteria of its plan; false without criteria."""
    verdicts = [job.verdict for job in stored_reports(trial)]
    return any(verdicts) and FAIL not in verdicts


def _reports(trial: Trial, summaries: Sequence[Summary], comparisons: ComparisonTrials) -> list[JobReport]:
    """Return the reports of a trial; published values are compared with the first job, the one under test."""
    published = trial.facts.published
    values = published["values"] if published else {}
    alone = comparisons.solos.alone_results(trial, summaries)
    against = comparisons.references.reference_results(trial, summaries)
    return [
        JobReport(
            trial,
            summary,
            deviations(summary, values) if index == 0 else (),
            alone.get(summary.key),
            against.get(summary.key),
            _judged(summary, trial, against.get(summary.key), alone.get(summary.key)),
            comparisons.is_fixed(trial, summary),
        )
        for index, summary in enumerate(summaries)
    ]


def _judged(summary: Summary, trial: Trial, against: Against | None, alone: Alone | None) -> list[Judgement]:
    ratios = {**(against.ratios if against else {}), **(alone.ratios if alone else {})}
    return judge(summary, trial.facts.criteria, ratios)


def result_rows(facts: TrialFacts, summary: Mapping[str, Any], tables: TableFolder) -> pa.Table:
    """Compute the table `trials` of a record: one row for each job.

    Args:
        facts: Parameters of the trial.
        summary: The backend's summary.
        tables: The record's other tables.
    """
    identity = {"id": facts.id, "plan": facts.plan, "variant": facts.variant, "iteration": facts.iteration}
    return result_table(identity, summarise(facts.run_spec, summary, tables))
