"""Builds the tables of a run: its jobs by kind, with their variants, published values and criteria."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fabricbench.report.documents.columns import result_columns
from fabricbench.report.documents.criteria import ALL_MET, judgement_text
from fabricbench.report.documents.table import Cell, Column, Note, Row, Table
from fabricbench.report.documents.table_cells import (
    TRIAL_COLUMN,
    axis_columns,
    full_label,
    heading,
    label,
    metric_cell,
    metric_columns,
    published_rows,
    round_text,
    size_column,
    trial_cell,
)
from fabricbench.report.documents.variants import variant_table
from fabricbench.results.axes import axis_names, axis_values
from fabricbench.results.job_ranking import concern
from fabricbench.results.job_reports import JobReport, attempts_alone
from fabricbench.results.variants import is_compared
from fabricbench.work import NCCL_HEAD, nccl_text

_NOTES_MAX = 20
"""Maximum lines of one kind below a table."""

Group = tuple[str, str, str, str]
"""Plan, tag, variant unless variants are compared, and name of a job."""


def result_tables(jobs: Sequence[JobReport], focus: str = "", most: int | None = None) -> list[Table]:
    """Return the tables of a run: a line for each job and trial, published values and deviations below.

    Args:
        jobs: Jobs of the trials, in order. Those of one plan and kind share a table, with their variants in
            adjacent lines. A job that ran alone for comparison is left out, unless it is of `focus`.
        focus: Id of the trial that is shown in detail.
        most: Maximum number of jobs.
    """
    alone = attempts_alone(jobs)
    together = [job for job in jobs if job.trial.attempt not in alone or job.trial.id == focus]
    kinds = _kinds(together)
    tables: dict[object, list[JobReport]] = {}
    for job in _in_order(together, kinds)[:most]:
        tables.setdefault((_group(job)[:3], kinds[_group(job)]), []).append(job)
    return [_table(of_table, focus) for of_table in tables.values()]


def _group(job: JobReport) -> Group:
    facts = job.trial.facts
    return facts.plan, facts.tag, "" if is_compared(job) else facts.variant, job.summary.job


def _kinds(jobs: Sequence[JobReport]) -> dict[Group, tuple[str, ...]]:
    """Return for each group the kinds of its job, which a sweep may change; equal kinds share a table.

    Jobs whose variants are compared have tables of their own.
    """
    kinds: dict[Group, set[str]] = {}
    for job in jobs:
        summary = job.summary
        own = job.summary.job if is_compared(job) else ""
        kind = (summary.collective, summary.algorithm, summary.ranks, *round_text(job), own)
        kinds.setdefault(_group(job), set()).add(str(kind))
    return {group: tuple(sorted(found)) for group, found in kinds.items()}


def _in_order(jobs: Sequence[JobReport], kinds: Mapping[Group, tuple[str, ...]]) -> list[JobReport]:
    """Group the jobs of each table; tables of one plan are in the order of their first trials.

    Jobs of a plan with a failed trial are first, then those with the smallest percentage of their ideal.
    """
    first: dict[tuple[str, str, str], int] = {}
    worst: dict[Group, tuple[bool, bool, float]] = {}
    for job in sorted(jobs, key=_position):
        group = _group(job)
        first.setdefault(group[:3], _position(job))
        worst[group] = min(worst.get(group, concern(job)), concern(job))

    worst_of_kinds: dict[tuple[object, ...], tuple[bool, bool, float]] = {}
    for group, its_worst in worst.items():
        key = group[:3], kinds[group]
        worst_of_kinds[key] = min(worst_of_kinds.get(key, its_worst), its_worst)

    def order(job: JobReport) -> tuple[object, ...]:
        plan, tag, variant, name = group = _group(job)
        key = group[:3], kinds[group]
        return (
            *(plan, tag, first[plan, tag, variant], variant),
            *(worst_of_kinds[key], kinds[group], worst[group], name, _position(job)),
        )

    return sorted(jobs, key=order)


def _position(job: JobReport) -> int:
    return job.trial.facts.position


def _table(jobs: Sequence[JobReport], focus: str) -> Table:
    table = variant_table(jobs, focus) if is_compared(jobs[0]) else _job_table(jobs, focus)
    return replace(table, notes=_notes(jobs))


def _job_table(jobs: Sequence[JobReport], focus: str) -> Table:
    """Return jobs of one kind, without variants, with a column for whatever differs between them."""
    metrics, axes = result_columns(jobs), axis_names([job.trial for job in jobs])
    has_names, repeats = _has_several(jobs), _has_iterations(jobs)
    has_nccl = any(nccl_text(job.job_spec) for job in jobs)
    columns = [
        *axis_columns(axes),
        *([Column("job", is_text=True)] if has_names else []),
        size_column([job.trial for job in jobs]),
        *([Column(*NCCL_HEAD, is_text=True)] if has_nccl else []),
        *metric_columns(metrics),
        TRIAL_COLUMN,
    ]

    def rows(job: JobReport) -> Iterator[Row]:
        first = [*axis_values(job.trial, axes), *([job.summary.job] if has_names else [])]
        nccl = [nccl_text(job.job_spec)] if has_nccl else []
        cells: list[Cell | str] = [*first, label(job, with_iteration=repeats), *nccl]
        cells += [*(metric_cell(job, metric) for metric in metrics), trial_cell(job)]
        yield Row(cells, "" if job.is_complete else "bad", job.trial.id == focus)
        for row in published_rows(job, metrics):
            head, *published = row.cells
            yield Row([*[""] * len(first), head, *[""] * len(nccl), *published, ""], row.tone)

    return Table(columns, [row for job in jobs for row in rows(job)], title=heading(jobs[0], jobs))


def _has_several(jobs: Sequence[JobReport]) -> bool:
    return len({job.summary.job for job in jobs}) > 1


def _has_iterations(jobs: Sequence[JobReport]) -> bool:
    return any(job.trial.facts.iteration for job in jobs)


def _notes(jobs: Sequence[JobReport]) -> list[Note]:
    """Return the jobs without a result, the criteria, and the sources of published values."""
    named = list(zip(_labels(jobs), jobs, strict=True))
    incomplete = [
        Note(f"{name} is {job.summary.status}: {job.summary.reason}", "bad")
        for name, job in named
        if not job.is_complete
    ]
    missing = [Note(f"{name}: {job.missing}") for name, job in named if job.is_complete and job.missing]
    failed = [
        Note(f"{name}: {judgement_text(judgement)}", "bad")
        for name, job in named
        for judgement in job.judgements
        if not judgement.passed
    ]
    met = [Note(ALL_MET)] if any(job.judgements for job in jobs) and not failed else []
    published = [job.trial.facts.published for job in jobs if job.deviations]
    sources = sorted({f"published: {table['table']}" for table in published if table})
    remarks = dict.fromkeys(f"note: {table['note']}" for table in published if table and table.get("note"))
    return [
        *_first(incomplete, "not complete"),
        *_first(missing, "without a time"),
        *_first(failed, "not met"),
        *met,
        *map(Note, [*sources, *remarks]),
    ]


def _first(notes: Sequence[Note], what: str) -> list[Note]:
    omitted = len(notes) - _NOTES_MAX
    return [*notes[:_NOTES_MAX], *([Note(f"and {omitted:,} more {what}", "bad")] if omitted > 0 else [])]


def _labels(jobs: Sequence[JobReport]) -> list[str]:
    """Return a name for each job: its size and swept values, and the job's name if there are several."""
    repeats, has_several = _has_iterations(jobs), _has_several(jobs)
    labels = [full_label(job, with_iteration=repeats) for job in jobs]
    return [
        f"job {job.summary.job}, {text}" if has_several else text
        for job, text in zip(jobs, labels, strict=True)
    ]
