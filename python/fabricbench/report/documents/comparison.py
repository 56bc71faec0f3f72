"""Compares trials, runs by size, or variants of a run: differing parameters, metrics of paired jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.analysis.comparison.ratios import Change, compare
from fabricbench.analysis.comparison.run_spec_differences import Difference, differences
from fabricbench.report.documents.measured import MEASURED_AND_SIMULATED, job_parameters, measured_parameters
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.results.job_reports import (
    JobReport,
    current_reports,
    reports_of_run,
    stored_reports,
)
from fabricbench.results.result_source import made, made_by
from fabricbench.store import Trial


@dataclass(frozen=True)
class JobPair:
    """A job of one trial and the same job of another, with every metric of both."""

    first: JobReport
    second: JobReport
    changes: Sequence[Change]


@dataclass(frozen=True)
class Comparison:
    """Trials compared with a reference.

    Attributes:
        labels: Labels of the compared trials, the reference first: ids, or names of variants.
        parameters: The parameters that differ between them, with a value for each label.
        pairs: Each job of the reference with the same job of another.
        focus: The pairs that are shown in full: all, or those of one size and iteration.
        jobs: Every job of every compared trial, for variants of a run.
        note: Parameters that were not compared; may be empty.
    """

    labels: Sequence[str]
    parameters: Sequence[Difference]
    pairs: Sequence[JobPair]
    focus: Sequence[JobPair]
    jobs: Sequence[JobReport] = ()
    note: str = ""


def parameters_table(comparison: Comparison, most: int, width: int | None = None) -> Table | None:
    """Return the parameters that differ, or `None` if none does.

    Args:
        comparison: The comparison.
        most: Maximum number of parameters.
        width: Maximum length of a value; unlimited by default.
    """
    parameters = comparison.parameters
    if not parameters:
        return None
    columns = [Column("parameter", is_text=True, head=("",))]
    columns += [Column(label, is_text=True) for label in comparison.labels]
    rows = [
        Row([parameter.field, *(_truncated(value, width) for value in parameter.values)])
        for parameter in parameters[:most]
    ]
    omitted = len(parameters) - most
    notes = [f"... and {omitted} more"] if omitted > 0 else []
    return Table(columns, rows, title="parameters that differ", notes=notes)


def _truncated(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else f"{text[: width - 3]}..."


class UnknownReferenceError(Exception):
    """A run has no such variant; the text lists its variants."""


def of_trials(trials: Sequence[Trial]) -> Comparison:
    """Compare trials with the first of them, measured from their records.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    first, *others = [current_reports(trial) for trial in trials]
    pairs = [pair for other in others for pair in compared(first, other)]
    parameters, note = _parameters(trials)
    backends = tuple(made_by(trial) for trial in trials)
    if len(set(backends)) > 1:
        parameters.insert(0, Difference("backend", backends))
    return Comparison([trial.id for trial in trials], parameters, pairs, pairs, note=note)


def _parameters(trials: Sequence[Trial]) -> tuple[list[Difference], str]:
    """Return the differing parameters that all trials have, and a note about the others."""
    if not any(trial.is_printed for trial in trials):
        return differences([trial.facts.run_spec for trial in trials]), ""
    if all(trial.is_printed for trial in trials):
        return differences([measured_parameters(trial) for trial in trials]), ""
    return differences([job_parameters(trial) for trial in trials]), MEASURED_AND_SIMULATED


def of_sizes(first: Sequence[Trial], second: Sequence[Trial]) -> Comparison:
    """Compare the trials of two runs at every common size, from the summaries of the runs."""
    pairs = [
        pair
        for one, other in matched(first, second)
        for pair in compared(stored_reports(one), stored_reports(other))
    ]
    is_mixed = {trial.is_printed for trial in (*first, *second)} == {True, False}
    return Comparison(
        [_run_label(first), _run_label(second)],
        [],
        pairs,
        (),
        note=MEASURED_AND_SIMULATED if is_mixed else "",
    )


def _run_label(trials: Sequence[Trial]) -> str:
    """Return the label of a run in a comparison: its plan and tag, and its backend."""
    facts = trials[0].facts
    return f"{facts.plan}{f' [{facts.tag}]' if facts.tag else ''}, {made(trials[0])}"


def matched(first: Sequence[Trial], second: Sequence[Trial]) -> list[tuple[Trial, Trial]]:
    """Pair the trials of two runs by collective, ranks and data size of their first job.

    Of several candidates, those with the same swept values are preferred, then the same iteration, then the
    same variant.
    """
    pairs = []
    for trial in first:
        candidates = [
            other for other in second if _work(other) == _work(trial) and not is_solo(other.facts.variant)
        ]
        if candidates and not is_solo(trial.facts.variant):
            pairs.append((trial, min(candidates, key=lambda other: _distance(trial, other))))
    return pairs


def _work(trial: Trial) -> tuple[object, ...]:
    row = trial.results[0]
    return row["collective"], row["ranks"], row["data_size_bytes"]


def _distance(trial: Trial, other: Trial) -> tuple[bool, bool, bool]:
    facts, other_facts = trial.facts, other.facts
    return (
        facts.axes != other_facts.axes,
        facts.iteration != other_facts.iteration,
        facts.variant != other_facts.variant,
    )


def of_variants(trials: Sequence[Trial], focus: Trial, reference: str | None = None) -> Comparison:
    """Compare the variants of a run with one of them, from the summaries of the run.

    Args:
        trials: The finished trials of the run, in the order of the plan.
        focus: The trial whose size and iteration are shown in full.
        reference: Name of the variant to compare with; the plan's own by default.

    Raises:
        UnknownReferenceError: The run has no trial of that variant.
    """
    reference_name = reference or focus.facts.reference or ""
    compared_trials = [
        replace(trial, facts=replace(trial.facts, reference=reference_name))
        for trial in trials
        if not is_solo(trial.facts.variant)
    ]
    names = dict.fromkeys(trial.facts.variant for trial in compared_trials)
    if reference_name not in names:
        raise UnknownReferenceError(f'no trial of variant "{reference_name}"; there are {", ".join(names)}')
    jobs = reports_of_run(compared_trials)
    labels = [reference_name, *(name for name in names if name != reference_name)]
    # A variant whose jobs have other sizes has no trial at this point; use the spec of its last trial.
    last = {trial.facts.variant: trial.facts.run_spec for trial in compared_trials}
    specs = last | {
        trial.facts.variant: trial.facts.run_spec for trial in compared_trials if same_point(trial, focus)
    }
    pairs = [pair for name in labels[1:] for pair in _pairs(jobs, reference_name, name)]
    in_full = [pair for pair in pairs if same_point(pair.first.trial, focus)]
    return Comparison(labels, differences([specs[name] for name in labels]), pairs, in_full, jobs)


def same_point(trial: Trial, other: Trial) -> bool:
    """Return whether two trials of a run have the same swept values, size and iteration."""
    return trial.facts.point == other.facts.point


def _pairs(jobs: Sequence[JobReport], reference: str, variant: str) -> list[JobPair]:
    """Return each job of a variant with that of the reference."""
    reference_jobs = {
        (job.trial.facts.point, job.sized_job): job for job in jobs if job.trial.facts.variant == reference
    }
    job_pairs = [
        (reference_jobs.get((job.trial.facts.point, job.sized_job)), job)
        for job in jobs
        if job.trial.facts.variant == variant
    ]
    return [
        JobPair(first, second, compare(first.summary, second.summary)) for first, second in job_pairs if first
    ]


def compared(first: Sequence[JobReport], second: Sequence[JobReport]) -> list[JobPair]:
    """Compare the jobs of two trials with equal names, or the only job of each under any name."""
    if len(first) == len(second) == 1:
        pairs = [(first[0], second[0])]
    else:
        named = {job.sized_job: job for job in second}
        pairs = [(job, named[job.sized_job]) for job in first if job.sized_job in named]
    return [JobPair(one, other, compare(one.summary, other.summary)) for one, other in pairs]
