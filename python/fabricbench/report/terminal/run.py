"""Formats the table of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from fabricbench.metrics import Metric
from fabricbench.report.documents.columns import result_columns
from fabricbench.report.documents.criteria import ALL_MET, judgement_text
from fabricbench.report.documents.fabric_metrics import fabric_table, per_trial
from fabricbench.report.documents.table import Column, Row, Table, Tone
from fabricbench.report.documents.table_cells import (
    axis_columns,
    full_label,
    heading,
    label,
    metric_columns,
    published_rows,
    round_text,
    size_column,
    value_text,
)
from fabricbench.report.documents.tenants import seed_tables, tenants_tables
from fabricbench.report.documents.variants import ratio_tables, spread_table, variant_table
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.axes import axes_label, axis_names, axis_values
from fabricbench.results.isolation_by_seed import kept_rows
from fabricbench.results.job_ranking import concern
from fabricbench.results.job_reports import JobReport
from fabricbench.results.variants import is_compared, versus_rows
from fabricbench.store import Trial
from fabricbench.words import data_size
from fabricbench.work import NCCL_HEAD, nccl_text

_MAX_UNREACHED = 12
_FIELDS_OF_A_TABLE = 2

Group = tuple[str, str, str, str]
"""Plan, tag, variant unless variants are compared, and name of a job."""


def run_table(jobs: Sequence[JobReport], *, colour: bool = False) -> str:
    """Return the table of a run: one line per job and trial, published values and deviations below.

    Args:
        jobs: Jobs of the trials, in order. Those of one plan and job are grouped, with their variants in
            adjacent lines, and jobs of one kind in one table.
        colour: Use the styles of a terminal.
    """
    shared_jobs = [job for job in jobs if job.alone]
    alone_attempts = {job.alone.trial.attempt for job in shared_jobs if job.alone}
    together = [job for job in jobs if job.trial.attempt not in alone_attempts]
    kinds = _kinds(together)
    shown = _in_order(together, kinds)
    tables = [
        _group_table(list(group), colour=colour)
        for _, group in groupby(shown, key=lambda job: (_group(job)[:3], kinds[_group(job)]))
    ]
    tables += [_fabric_text(shown, colour=colour), _swept_text(jobs, colour=colour)]
    tables += [
        _versus_text(list(group), colour=colour) for _, group in groupby(sorted(jobs, key=_suite), key=_suite)
    ]
    tables += [render(table, colour=colour) for table in tenants_tables(jobs)]
    tables += [seeds_text(jobs, colour=colour)]
    tables.append(_tcp_text(jobs, colour=colour))
    tables.append(_unreached_text(jobs, colour=colour))
    return "\n\n".join(table for table in tables if table)


def _versus_text(jobs: Sequence[JobReport], *, colour: bool) -> str:
    """Return the ratios only: all jobs with a column for each variant, and their spread over the seeds.

    Empty for one job and one seed, for which the other tables are sufficient.
    """
    rows = versus_rows(jobs)
    tables = ratio_tables(rows) if len({row.job for row in rows}) > 1 else []
    spread = spread_table(rows)
    return "\n\n".join(render(table, colour=colour) for table in [*tables, *([spread] if spread else [])])


def seeds_text(jobs: Sequence[JobReport], *, colour: bool) -> str:
    """Format the spread of each job's ratio to itself alone over the seeds; empty for one seed."""
    ratios = kept_rows((job.trial, job.summary, job.alone) for job in jobs)
    return "\n\n".join(render(table, colour=colour) for table in seed_tables(ratios))


def _swept_text(jobs: Sequence[JobReport], *, colour: bool) -> str:
    """Format tables over two swept fields; empty if there are not two."""
    if len(axis_names(job.trial for job in jobs)) < _FIELDS_OF_A_TABLE:
        return ""
    from fabricbench.report.terminal.sweep import sweep_text

    return sweep_text(jobs, colour=colour)


def _fabric_text(jobs: Sequence[JobReport], *, colour: bool) -> str:
    """Format the metrics of the whole fabric, a line for each trial with a shared one; empty without any."""
    ordered = sorted(per_trial(jobs), key=_position)
    table = fabric_table(ordered, {trial.attempt: name for name, trial in _named_trials(ordered)})
    return render(table, colour=colour) if table else ""


def _tcp_text(jobs: Sequence[JobReport], *, colour: bool) -> str:
    """Format the table of TCP traffic; empty if there is none."""
    if not any(job.trial.facts.run_spec.get("tcp") for job in jobs):
        return ""
    from fabricbench.report.documents.tcp import tcp_table

    table = tcp_table(list(_named_trials(jobs)))
    return render(table, colour=colour) if table else ""


def _unreached_text(jobs: Sequence[JobReport], *, colour: bool) -> str:
    """List the failures of the plan that trials did not reach; empty if there are none."""
    if not any(job.trial.facts.run_spec.get("fabric", {}).get("failures") for job in jobs):
        return ""
    from fabricbench.analysis.faults.unreached_failures import unreached_failures

    lines = [
        styled(f"{name}: {text}", Style.RED, colour=colour)
        for name, trial in _named_trials(jobs)
        for text in unreached_failures(trial.facts.run_spec, (trial.summary or {}).get("end_ps", 0))
    ]
    omission = [f"and {len(lines) - _MAX_UNREACHED} more"] if len(lines) > _MAX_UNREACHED else []
    return "\n".join([*lines[:_MAX_UNREACHED], *omission])


def _named_trials(jobs: Sequence[JobReport]) -> Iterator[tuple[str, Trial]]:
    """Yield each trial once, labelled by its data size, iteration, swept values and variant."""
    repeats = any(job.trial.facts.iteration for job in jobs)
    for trial in {job.trial.attempt: job.trial for job in jobs}.values():
        facts = trial.facts
        names = [data_size(facts.data_size_bytes)]
        names += [f"#{facts.iteration}"] if repeats else []
        names += [f"({axes})"] if (axes := axes_label(trial)) else []
        yield " ".join([*names, *([] if facts.variant in ("", "base") else [f"({facts.variant})"])]), trial


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


def _suite(job: JobReport) -> str:
    return job.trial.facts.suite


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


@dataclass(frozen=True)
class _JobTable:
    """Table of jobs of one kind, without variants; it has columns for whatever differs between its jobs."""

    jobs: Sequence[JobReport]

    @cached_property
    def metrics(self) -> list[Metric]:
        return result_columns(self.jobs)

    @cached_property
    def axes(self) -> list[str]:
        return axis_names([job.trial for job in self.jobs])

    @cached_property
    def has_names(self) -> bool:
        return _has_several(self.jobs)

    @cached_property
    def has_nccl(self) -> bool:
        return any(nccl_text(job.job_spec) for job in self.jobs)

    @cached_property
    def has_iterations(self) -> bool:
        return _has_iterations(self.jobs)

    def table(self) -> Table:
        columns = [
            *axis_columns(self.axes),
            *([Column("job", is_text=True)] if self.has_names else []),
            size_column([job.trial for job in self.jobs]),
            *([Column(*NCCL_HEAD, is_text=True)] if self.has_nccl else []),
            *metric_columns(self.metrics),
        ]
        rows = [row for job in self.jobs for row in self._rows(job)]
        return Table(columns, rows, title=heading(self.jobs[0], self.jobs))

    def _rows(self, job: JobReport) -> Iterator[Row]:
        tone: Tone = "" if job.summary.status == "complete" else "bad"
        first = [*axis_values(job.trial, self.axes), *([job.summary.job] if self.has_names else [])]
        nccl = [nccl_text(job.job_spec)] if self.has_nccl else []
        values = [value_text(job.trial, job.summary, metric) for metric in self.metrics]
        yield Row([*first, label(job, with_iteration=self.has_iterations), *nccl, *values], tone)
        for row in published_rows(job, self.metrics):
            head, *published = row.cells
            yield Row([*[""] * len(first), head, *[""] * len(nccl), *published], row.tone)


def _has_several(jobs: Sequence[JobReport]) -> bool:
    return len({job.summary.job for job in jobs}) > 1


def _has_iterations(jobs: Sequence[JobReport]) -> bool:
    return any(job.trial.facts.iteration for job in jobs)


def _group_table(jobs: Sequence[JobReport], *, colour: bool) -> str:
    table = variant_table(jobs) if is_compared(jobs[0]) else _JobTable(jobs).table()
    lines = [render(table, colour=colour)]
    labels = _labels(jobs)
    for job, name in zip(jobs, labels, strict=True):
        if job.summary.status != "complete":
            text = f"{name} is {job.summary.status}: {job.summary.reason}"
            lines.append(styled(text, Style.RED, colour=colour))
        elif job.missing:
            lines.append(f"{name}: {job.missing}")
    lines += _criteria_lines(jobs, labels, colour=colour)
    published_facts = [job.trial.facts.published for job in jobs if job.deviations]
    lines += [f"published: {name}" for name in sorted({row["table"] for row in published_facts if row})]
    lines += [
        f"note: {note}"
        for note in dict.fromkeys(row.get("note", "") for row in published_facts if row)
        if note
    ]
    return "\n".join(lines)


def _labels(jobs: Sequence[JobReport]) -> list[str]:
    """Return a name for each job: its size and swept values, and the job's name if there are several."""
    repeats, has_several = _has_iterations(jobs), _has_several(jobs)
    labels = [full_label(job, with_iteration=repeats) for job in jobs]
    return [
        f"job {job.summary.job}, {text}" if has_several else text
        for job, text in zip(jobs, labels, strict=True)
    ]


def _criteria_lines(jobs: Sequence[JobReport], labels: Sequence[str], *, colour: bool) -> list[str]:
    """Format each criterion that is not met, or that all are; empty if the plan has none."""
    if not any(job.judgements for job in jobs):
        return []
    failed = [
        styled(f"{name}: {judgement_text(judgement)}", Style.RED, colour=colour)
        for job, name in zip(jobs, labels, strict=True)
        for judgement in job.judgements
        if not judgement.passed
    ]
    return failed or [ALL_MET]
