"""Trials compared: which parameters differ, and each job of each trial against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fabricbench.analysis.compare import Change, compare
from fabricbench.analysis.differences import Difference, differences
from fabricbench.analysis.isolation import is_solo
from fabricbench.report.trials import Beside, JobReport, measured_reports, reports_of_run

if TYPE_CHECKING:
    from fabricbench.store import Trial


@dataclass(frozen=True)
class JobPair:
    """A job of one trial and the same job of another, with every metric of both."""

    first: JobReport
    second: JobReport
    changes: Sequence[Change]


@dataclass(frozen=True)
class Comparison:
    """Trials against a reference.

    Attributes:
        labels: What tells the compared ones apart, the reference first: ids, or names of variants.
        parameters: The parameters that differ between them, with a value for each label.
        pairs: Each job of the reference beside the same job of another.
        focus: The pairs that are shown in full: all, or those of one size and iteration.
        jobs: Every job of every trial that is compared, where variants of a run are.
    """

    labels: Sequence[str]
    parameters: Sequence[Difference]
    pairs: Sequence[JobPair]
    focus: Sequence[JobPair]
    jobs: Sequence[JobReport] = ()


class UnknownReferenceError(Exception):
    """A run has no such variant; the text names those that it has."""


def of_trials(trials: Sequence[Trial]) -> Comparison:
    """Compare trials with the first of them, measured from their records.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    first, *others = [measured_reports(trial, Beside()) for trial in trials]
    pairs = [pair for other in others for pair in compared(first, other)]
    parameters = differences([trial.facts.run_spec for trial in trials])
    return Comparison([trial.id for trial in trials], parameters, pairs, pairs)


def of_variants(trials: Sequence[Trial], focus: Trial, reference: str | None = None) -> Comparison:
    """Compare the variants of a run with one of them, as they were summarised when they ran.

    Args:
        trials: The finished trials of the run, in the order of the plan.
        focus: The trial whose size and iteration are shown in full.
        reference: Name of the variant to compare with; the plan's own by default.

    Raises:
        UnknownReferenceError: The run has no trial of that variant.
    """
    wanted = reference or focus.facts.reference or ""
    told = [
        replace(trial, facts=replace(trial.facts, reference=wanted))
        for trial in trials
        if not is_solo(trial.facts.variant)
    ]
    names = dict.fromkeys(trial.facts.variant for trial in told)
    if wanted not in names:
        raise UnknownReferenceError(f'no trial of variant "{wanted}"; there are {", ".join(names)}')
    jobs = reports_of_run(told)
    labels = [wanted, *(name for name in names if name != wanted)]
    specs = {trial.facts.variant: trial.facts.run_spec for trial in told if same_point(trial, focus)}
    shown = [label for label in labels if label in specs]
    pairs = [pair for name in labels[1:] for pair in _pairs(jobs, wanted, name)]
    in_full = [pair for pair in pairs if same_point(pair.first.trial, focus)]
    return Comparison(labels, differences([specs[name] for name in shown]), pairs, in_full, jobs)


def same_point(trial: Trial, other: Trial) -> bool:
    """Tell whether two trials of a run have the same size and iteration."""
    return _point(trial) == _point(other)


def _point(trial: Trial) -> tuple[int, int]:
    return trial.facts.data_size_bytes, trial.facts.iteration


def _pairs(jobs: Sequence[JobReport], reference: str, variant: str) -> list[JobPair]:
    """Return each job of a variant beside that of the reference."""
    known = {
        (_point(job.trial), job.summary.job): job for job in jobs if job.trial.facts.variant == reference
    }
    found = [
        (known.get((_point(job.trial), job.summary.job)), job)
        for job in jobs
        if job.trial.facts.variant == variant
    ]
    return [JobPair(one, other, compare(one.summary, other.summary)) for one, other in found if one]


def compared(first: Sequence[JobReport], second: Sequence[JobReport]) -> list[JobPair]:
    """Compare the jobs of two trials that have the same name, or the only job of each whatever its name."""
    if len(first) == len(second) == 1:
        pairs = [(first[0], second[0])]
    else:
        named = {job.summary.job: job for job in second}
        pairs = [(job, named[job.summary.job]) for job in first if job.summary.job in named]
    return [JobPair(one, other, compare(one.summary, other.summary)) for one, other in pairs]
