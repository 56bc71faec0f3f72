"""Formats the comparison of trials: differing parameters, every metric with its ratio to the first trial."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from fabricbench.analysis.comparison.ratios import Change
from fabricbench.metrics import JobKind
from fabricbench.report.documents.comparison import Comparison, JobPair, parameters_table
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import heading, metric_text, sized
from fabricbench.report.terminal.run import run_table
from fabricbench.report.terminal.text_table import render
from fabricbench.results.job_reports import JobReport

MAX_PARAMETERS = 40
MAX_VALUE = 48
_RATIO_DECIMALS = 4


def comparison_text(comparison: Comparison, *, colour: bool = False) -> str:
    """Return the differing parameters, the table of a run's variants, and every metric of each job."""
    parts = [_parameters(comparison, colour=colour)]
    parts += [run_table(comparison.jobs, colour=colour)] if comparison.jobs else []
    ordered = sorted(comparison.focus, key=lambda pair: _job_index(comparison, pair))
    parts += [_metrics(list(group), colour=colour) for _, group in groupby(ordered, key=_job)]
    return "\n\n".join(part for part in parts if part)


def _job_index(comparison: Comparison, pair: JobPair) -> int:
    jobs = list(dict.fromkeys(_job(focus_pair) for focus_pair in comparison.focus))
    return jobs.index(_job(pair))


def _job(pair: JobPair) -> tuple[str, str]:
    return pair.first.trial.id, pair.first.summary.job


def _parameters(comparison: Comparison, *, colour: bool) -> str:
    table = parameters_table(comparison, MAX_PARAMETERS, MAX_VALUE)
    if table is None:
        return comparison.note or "no parameter differs"
    return "\n".join([render(table, colour=colour), *([comparison.note] if comparison.note else [])])


def _metrics(pairs: Sequence[JobPair], *, colour: bool) -> str:
    """Return every metric of a job, with its ratio to the first for each of the others."""
    first, is_pair = pairs[0].first, len(pairs) == 1
    measured = any(job.trial.is_printed for job in (first, *(pair.second for pair in pairs)))
    columns = [Column("metric", is_text=True), Column("unit", is_text=True), Column(_name(first))]
    for pair in pairs:
        is_text = Column("second is" if is_pair else "is", is_text=True)
        columns += [Column(_name(pair.second)), Column("ratio"), is_text]
    changes = [[pair.changes[index] for pair in pairs] for index in range(len(pairs[0].changes))]
    kinds = {job.summary.kind for job in (first, *(pair.second for pair in pairs))} if not measured else set()
    changes = [metric_changes for metric_changes in changes if not metric_changes[0].metric.is_on_demand]
    rows = [
        _row(metric_changes)
        for metric_changes in changes
        if any(change.has_values for change in metric_changes) or _concerns(metric_changes[0], kinds)
    ]
    titles = [
        f"{job.trial.id}  {heading(job)}, {sized(job)}" for job in (first, *(pair.second for pair in pairs))
    ]
    return "\n".join([*titles, render(Table(columns, rows), colour=colour)])


def _concerns(change: Change, kinds: Collection[JobKind]) -> bool:
    """Return whether the metric applies to jobs of one of the kinds, even if it could not be measured."""
    return any(change.metric.concerns(kind) for kind in kinds)


def _name(job: JobReport) -> str:
    """Return the label of a job in its table: its variant, or the id of its trial."""
    return job.trial.facts.variant if job.against else job.trial.id


def _row(changes: Sequence[Change]) -> Row:
    metric = changes[0].metric
    cells = [metric.title, metric.unit, metric_text(metric, changes[0].first)]
    for change in changes:
        ratio = fixed(change.ratio, _RATIO_DECIMALS)
        cells += [metric_text(metric, change.second), ratio, change.verdict or "-"]
    is_worse = any(change.verdict == "worse" for change in changes)
    return Row(cells, "bad" if is_worse else "")
