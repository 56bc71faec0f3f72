"""Selects the metrics of a table of results: those with a value that apply to its jobs.

The terminal and the report have the same rules. Also whether several jobs share the fabric of a trial.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fabricbench.analysis.record.run_spec import is_alone
from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.metrics import ROUNDS, JobKind, Metric, Scope, View, in_views
from fabricbench.results.job_reports import JobReport
from fabricbench.results.variants import is_compared
from fabricbench.store import Trial
from fabricbench.work import collective_of


def shares_fabric(trial: Trial) -> bool:
    """Return whether several jobs, or TCP traffic, use the fabric of a trial."""
    return not is_alone(trial.facts.run_spec)


_TIMES_MEASURED = replace(ROUNDS, head=("measured", "times"))
_OPTIONAL_VIEWS = (View.REPEATS, View.RANKS, View.ADAPTERS)
_SHORT_MS = 0.1
_ONCE = {"kind": "rounds", "rounds": 1}


class Shown(Protocol):
    """A row of a table of results."""

    @property
    def trial(self) -> Trial:
        """The trial."""

    @property
    def summary(self) -> Summary:
        """The results of a job."""

    @property
    def job_spec(self) -> Mapping[str, Any]:
        """The job of the RunSpec."""

    @property
    def published_metrics(self) -> Collection[str]:
        """Metrics with a published value next to ours."""


def run_columns(rows: Sequence[Shown], *views: View) -> list[Metric]:
    """Return the metrics of a table of jobs that have values.

    Storage jobs have their own metrics in place of all but the counters; jobs without chunks have those that
    benchmarks measure.

    Args:
        rows: The jobs.
        views: Requested views; those of rounds or of barriers are left out if there are none, and metrics of
            the whole fabric if several jobs use it. Metrics with a published value are always included.
    """
    kinds = {row.summary.kind for row in rows}
    published = {name for row in rows for name in row.published_metrics}
    is_shared = any(shares_fabric(row.trial) for row in rows)
    fabric_views = (View.SHARED,) if is_shared else ()
    chosen = in_views(*_applicable_views(rows, views), *fabric_views, besides=published)
    metrics = [metric for metric in chosen if any(map(metric.concerns, kinds))]
    if is_shared:
        metrics = [metric for metric in metrics if metric.scope is Scope.JOB or metric.name in published]
    if not has_chunks(rows):
        metrics = [metric for metric in metrics if View.SIZES in metric.views]
    elif kinds == {JobKind.STORAGE}:
        metrics = [metric for metric in metrics if metric.kind or metric.is_count]
    return with_short_units(held(metrics, rows), [row.summary for row in rows])


def with_short_units(metrics: Sequence[Metric], summaries: Sequence[Summary]) -> list[Metric]:
    """Show times in microseconds if all of their group are below 0.1 ms."""
    largest: dict[str, float] = {}
    for metric in metrics:
        values = [value for each in summaries if (value := each.value(metric.name)) is not None]
        group = metric.group or metric.name
        largest[group] = max([largest.get(group, 0.0), *values])
    return [
        metric.in_microseconds()
        if metric.unit == "ms" and 0 < largest[metric.group or metric.name] < _SHORT_MS
        else metric
        for metric in metrics
    ]


def result_columns(jobs: Sequence[JobReport]) -> list[Metric]:
    """Return the metrics of a table of jobs of one kind."""
    variants = (View.VARIANTS,) if is_compared(jobs[0]) else ()
    columns = run_columns(jobs, View.RUN, View.ROUNDS, *variants, *_OPTIONAL_VIEWS)
    return columns if has_chunks(jobs) else [*columns, *held([_TIMES_MEASURED], jobs)]


def detail_columns(jobs: Sequence[JobReport]) -> list[Metric]:
    """Return the metrics of a table of variants for which a terminal has no room."""
    in_terminal = {metric.name for metric in run_columns(jobs, View.VARIANTS, *_OPTIONAL_VIEWS)}
    return [metric for metric in result_columns(jobs) if metric.name not in in_terminal]


def has_chunks(rows: Sequence[Shown]) -> bool:
    """Return whether any row is of a trial with chunks; benchmark results have none."""
    return any(row.trial.has("chunks") for row in rows)


def has_barriers(rows: Sequence[Shown]) -> bool:
    """Return whether any job has barriers between its rounds."""
    return any(collective_of(row.job_spec).get("barrier") for row in rows)


def has_adapters(rows: Sequence[Shown]) -> bool:
    """Return whether hosts of any trial have adapters or clocks that are not ideal."""
    fabrics = [row.trial.facts.run_spec.get("fabric", {}) for row in rows]
    return any("messages" in fabric.get("nic", {}) or "clocks" in fabric for fabric in fabrics)


def _applicable_views(rows: Sequence[Shown], views: Sequence[View]) -> list[View]:
    omitted = set() if has_barriers(rows) else {View.RANKS}
    if not has_adapters(rows):
        omitted |= {View.ADAPTERS}
    if not has_barriers(rows) and all(
        row.job_spec.get("repeat", _ONCE) == _ONCE for row in rows if row.summary.kind is JobKind.COLLECTIVE
    ):
        omitted |= {View.REPEATS, View.ROUNDS}
    return [view for view in views if view not in omitted]


def held(metrics: Iterable[Metric], rows: Sequence[Shown]) -> list[Metric]:
    """Remove the metrics without a value in any row, such as those that do not apply to the jobs.

    All remain if a job with chunks did not complete, so that missing values are visible.
    """
    if any(row.summary.status != "complete" and row.trial.has("chunks") for row in rows):
        return list(metrics)
    return [metric for metric in metrics if any(_holds(row, metric.name) for row in rows)]


def _holds(row: Shown, name: str) -> bool:
    return row.summary.value(name) is not None or name in row.published_metrics
