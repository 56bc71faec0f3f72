"""Collects metrics of a run by case (job, variant, size, swept values): mean and range over iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.repeatability import Repeated, repeated
from fabricbench.metrics import ALONE_RATIOS, RATIOS
from fabricbench.results.job_reports import JobReport, reports_of_run
from fabricbench.store import Trial


@dataclass(frozen=True)
class KpiRow:
    """A case and its metrics.

    Attributes:
        jobs: The job in each iteration.
        values: Each requested metric, over the iterations that have it; none if none has.
    """

    jobs: Sequence[JobReport]
    values: Mapping[str, Repeated | None]

    @property
    def first(self) -> JobReport:
        """The job in the first iteration, for properties that all iterations have in common."""
        return self.jobs[0]

    @property
    def trial(self) -> Trial:
        """The trial of the first iteration."""
        return self.first.trial

    @property
    def incomplete(self) -> int:
        """Number of iterations in which the job is not complete."""
        return sum(job.summary.status != "complete" for job in self.jobs)

    @property
    def label(self) -> str:
        """Variant, job, size and swept values."""
        facts = self.trial.facts
        variant = facts.variant if facts.reference else ""
        return ", ".join(
            part for part in (variant, self.first.summary.job, self.first.size, self.first.axes) if part
        )


def kpi_rows(trials: Sequence[Trial], names: Sequence[str]) -> list[KpiRow]:
    """Return each case of a run, in the order of its trials; jobs that run alone are left out.

    Args:
        trials: The finished trials of a run, including those of jobs alone.
        names: Metrics, or ratios to the reference variant; unknown ones have no values.
    """
    shown = [trial for trial in trials if not is_solo(trial.facts.variant)]
    groups: dict[tuple[object, ...], list[JobReport]] = {}
    for job in reports_of_run(shown, trials):
        facts = job.trial.facts
        key = (facts.variant, str(facts.axes), facts.data_size_bytes, job.sized_job)
        groups.setdefault(key, []).append(job)
    return [KpiRow(jobs, {name: _repeated(jobs, name) for name in names}) for jobs in groups.values()]


def _repeated(jobs: Sequence[JobReport], name: str) -> Repeated | None:
    values = [value for job in jobs if (value := _value(job, name)) is not None]
    return repeated(values)


def _value(job: JobReport, name: str) -> float | int | None:
    if name in RATIOS:
        return job.against.ratios.get(name) if job.against else None
    if name in ALONE_RATIOS:
        return job.alone.ratios.get(name) if job.alone else None
    return job.summary.metrics.get(name)
