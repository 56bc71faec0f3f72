"""Builds rows of tables and figures: one for each job of each trial of a run, with unique labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.ratios import Deviation
from fabricbench.analysis.comparison.verdict import Judgement
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.results.job_reports import ComparisonTrials, JobReport, stored_reports
from fabricbench.results.result_source import made
from fabricbench.results.solo_trials import Alone
from fabricbench.store import Trial
from fabricbench.words import data_size


@dataclass(frozen=True)
class ResultRow:
    """One job of one trial.

    Attributes:
        report: The job.
        series: Label that the rows of one curve have in common: swept values, variant and job, as far as
            there are several.
        iteration: The iteration, if there are several; otherwise empty.
        is_focus: Whether figures of one trial show this trial.
        of_trial: The part of `series` for the trial, without the job.
        unswept_series: The part of `series` without swept values.
    """

    report: JobReport
    series: str
    iteration: str
    is_focus: bool
    of_trial: str = ""
    unswept_series: str = ""

    @property
    def trial(self) -> Trial:
        """The trial."""
        return self.report.trial

    @property
    def summary(self) -> Summary:
        """The metrics of the job."""
        return self.report.summary

    @property
    def alone(self) -> Alone | None:
        """Result of the job without other jobs, if that was run."""
        return self.report.alone

    @property
    def judgements(self) -> Sequence[Judgement]:
        """Results of the plan's criteria."""
        return self.report.judgements

    @property
    def missing(self) -> str:
        """Why the job is complete and has no time; empty if it has one."""
        return self.report.missing

    @property
    def published(self) -> Mapping[str, Deviation]:
        """Published values and the deviations from them, by metric."""
        return {entry.metric: entry for entry in self.report.deviations}

    @property
    def label(self) -> str:
        """Size, swept values, series and iteration, the latter two if there are several."""
        return ", ".join(part for part in (self.size, self.axes, self.part) if part)

    @property
    def size(self) -> str:
        """Data size or message size, whichever the plan sweeps."""
        return self.report.size

    @property
    def axes(self) -> str:
        """The values of swept fields, as text; empty if none is swept."""
        return self.report.axes

    @property
    def published_metrics(self) -> Collection[str]:
        """Metrics with a published value."""
        return self.report.published_metrics

    @property
    def job_spec(self) -> Mapping[str, Any]:
        """The job in the run spec; empty for a measured one without."""
        return next((job for job in self.trial.facts.run_spec["jobs"] if job["name"] == self.summary.job), {})

    @property
    def part(self) -> str:
        """Label of the row among others of its size and swept values; empty if it is the only one."""
        return ", ".join(part for part in (self.unswept_series, self.iteration) if part)


def trial_label(rows: Sequence[ResultRow]) -> str:
    """Return the label of a trial of several jobs: size, and variant and iteration if there are several.

    The size is that of the sweep if jobs have their own sizes.
    """
    first = rows[0]
    has_own = len({row.size for row in rows}) > 1
    size = data_size(first.trial.facts.data_size_bytes) if has_own else first.size
    return ", ".join(part for part in (size, first.of_trial, first.iteration) if part)


def result_rows(trials: Sequence[Trial], focus: Trial, others: Sequence[Trial] = ()) -> list[ResultRow]:
    """Return one row for each job of each trial of the run, in the order of the plan, and of other runs.

    A trial of a job alone is shown with the others and has no row, unless it is `focus`.
    """
    shown = [
        trial
        for trial in trials
        if trial.id == focus.id
        or (trial.facts.suite == focus.facts.suite and not is_solo(trial.facts.variant))
    ]
    return rows_of([*shown, *others], focus, ComparisonTrials(trials))


def rows_of(trials: Sequence[Trial], focus: Trial, comparisons: ComparisonTrials) -> list[ResultRow]:
    """Return one row for each job of each trial, of any plans."""
    many_plans = len({trial.facts.plan for trial in trials}) > 1
    many_kinds = len({made(trial) for trial in trials}) > 1
    many_variants = len({trial.facts.variant for trial in trials}) > 1
    many_iterations = len({trial.facts.iteration for trial in trials}) > 1
    rows = []
    for trial in trials:
        kind = made(trial)
        has_name = many_variants and not (many_kinds and trial.facts.variant == "base")
        words = ((trial.facts.plan, many_plans), (kind, many_kinds), (trial.facts.variant, has_name))
        of_trial = [word for word, is_included in words if is_included]
        iteration = f"iteration {trial.facts.iteration}" if many_iterations else ""
        reports = stored_reports(trial, comparisons)
        for report in reports:
            labels = [*of_trial, *([report.summary.job] if len(reports) > 1 else [])]
            parts = [*([report.axes] if report.axes else []), *labels]
            rows.append(
                ResultRow(
                    report,
                    series=", ".join(parts) or kind,
                    iteration=iteration,
                    is_focus=trial.id == focus.id,
                    of_trial=", ".join(part for part in (report.axes, *of_trial) if part),
                    unswept_series=", ".join(labels),
                )
            )
    return rows
