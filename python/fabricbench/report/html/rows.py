"""The trials of a run as rows: their jobs, and labels that tell them apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.isolation import is_solo
from fabricbench.figures.sizes import shown_size
from fabricbench.report.made_by import made
from fabricbench.report.tenants import Alone
from fabricbench.report.trials import Beside, stored_reports
from fabricbench.words import data_size

if TYPE_CHECKING:
    from fabricbench.analysis.compare import Deviation
    from fabricbench.analysis.summary import Summary
    from fabricbench.analysis.verdict import Judgement
    from fabricbench.store import Trial


@dataclass(frozen=True)
class ResultRow:
    """One job of one trial.

    Attributes:
        trial: The trial.
        summary: Its metrics.
        published: Metric name -> published value and deviation.
        series: What rows of one curve have in common: variant and job, as far as there are several.
        iteration: Which iteration, where there are several; otherwise empty.
        is_focus: Whether the detailed plots show this trial.
        alone: How the job did without its neighbours, if that was run.
        judgements: What came of the plan's criteria.
        is_only_series: Whether there is no other series.
        is_fixed: Whether the job has a size of its own while the plan sweeps several.
        missing: Why the job is complete and has no time; empty if it has one.
        of_trial: What `series` has of the trial, without the job.
    """

    trial: Trial
    summary: Summary
    published: Mapping[str, Deviation]
    series: str
    iteration: str
    is_focus: bool
    alone: Alone | None = None
    judgements: Sequence[Judgement] = ()
    is_only_series: bool = False
    is_fixed: bool = False
    missing: str = ""
    of_trial: str = ""

    @property
    def label(self) -> str:
        """Size, series and iteration, the latter two where there are several."""
        return ", ".join(part for part in (self.size, self.part) if part)

    @property
    def size(self) -> str:
        """Data size or message size, as the plan swept them."""
        return shown_size(self.trial, self.summary, with_sweep=self.is_fixed)

    @property
    def published_metrics(self) -> Collection[str]:
        """Metrics with a published value next to ours."""
        return self.published.keys()

    @property
    def job_spec(self) -> Mapping[str, Any]:
        """The job as its run spec has it; empty for a measured one without."""
        return next((job for job in self.trial.facts.run_spec["jobs"] if job["name"] == self.summary.job), {})

    @property
    def part(self) -> str:
        """What tells the row from others of its size; empty if nothing does."""
        series = "" if self.is_only_series else self.series
        return ", ".join(part for part in (series, self.iteration) if part)


def trial_label(rows: Sequence[ResultRow]) -> str:
    """Return what tells a trial of several jobs from others: size, and variant and iteration if needed.

    The size is that of the sweep where jobs have sizes of their own.
    """
    first = rows[0]
    has_own = len({row.size for row in rows}) > 1
    size = data_size(first.trial.facts.data_size_bytes) if has_own else first.size
    return ", ".join(part for part in (size, first.of_trial, first.iteration) if part)


def result_rows(trials: Sequence[Trial], focus: Trial, others: Sequence[Trial] = ()) -> list[ResultRow]:
    """Return one row for each job of each trial of the run, in the order of the plan, and of other runs.

    A trial of a job alone is shown with the others and has no row, unless it is the one to be shown.
    """
    shown = [
        trial
        for trial in trials
        if trial.id == focus.id
        or (trial.facts.suite == focus.facts.suite and not is_solo(trial.facts.variant))
    ]
    return rows_of([*shown, *others], focus, Beside(trials))


def rows_of(trials: Sequence[Trial], focus: Trial, beside: Beside) -> list[ResultRow]:
    """Return one row for each job of each trial, of whatever plans."""
    many_plans = len({trial.facts.plan for trial in trials}) > 1
    many_kinds = len({made(trial) for trial in trials}) > 1
    many_variants = len({trial.facts.variant for trial in trials}) > 1
    many_iterations = len({trial.facts.iteration for trial in trials}) > 1
    rows = []
    for trial in trials:
        reports = stored_reports(trial, beside)
        for report in reports:
            kind = made(trial)
            parts = [trial.facts.plan] if many_plans else []
            parts += [kind] if many_kinds else []
            has_name = many_variants and not (many_kinds and trial.facts.variant == "base")
            parts += [trial.facts.variant] if has_name else []
            of_trial = ", ".join(parts)
            parts += [report.summary.job] if len(reports) > 1 else []
            published = {entry.metric: entry for entry in report.deviations}
            series = ", ".join(parts) or kind
            iteration = f"iteration {trial.facts.iteration}" if many_iterations else ""
            is_focus = trial.id == focus.id
            told = (
                series,
                iteration,
                is_focus,
                report.alone,
                report.judgements,
                not parts,
                report.is_fixed,
                report.missing,
                of_trial,
            )
            rows.append(ResultRow(trial, report.summary, published, *told))
    return rows
