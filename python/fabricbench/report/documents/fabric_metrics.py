"""Tables of the metrics of the whole fabric, per trial and not for each of the jobs that share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from fabricbench.metrics import METRICS, Metric, Scope
from fabricbench.report.documents.columns import Shown, shares_fabric
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import (
    TRIAL_COLUMN,
    exact_text,
    metric_cell,
    metric_columns,
    named_trials,
    trial_cell,
)
from fabricbench.results.job_reports import JobReport, attempts_alone

TITLE: Final = "whole fabric, all jobs together"
_Row = TypeVar("_Row", bound="Shown")
OF_FABRIC: Final = tuple(metric for metric in METRICS if metric.scope is Scope.RUN)
"""Every metric of the whole fabric."""
SHOWN: Final = tuple(
    metric for metric in OF_FABRIC if not metric.is_on_demand or metric.name == "pfc_pause_count"
)
"""Metrics of the whole fabric in tables for people."""


def per_trial(rows: Iterable[_Row]) -> list[_Row]:
    """Return a row for each trial with a shared fabric and any of its metrics, in their order."""
    first = {row.trial.attempt: row for row in rows if shares_fabric(row.trial)}
    return [row for row in first.values() if held(row)]


def held(row: Shown) -> list[Metric]:
    """Return the metrics of the whole fabric that a row has."""
    return [metric for metric in SHOWN if row.summary.value(metric.name) is not None]


def fabric_table(jobs: Sequence[JobReport], focus: str = "", most: int | None = None) -> Table | None:
    """Return a line for each trial whose jobs share the fabric, or `None` without any.

    Args:
        jobs: Jobs of the trials; one that ran alone for comparison has no line.
        focus: Id of the trial that is shown in detail.
        most: Maximum number of lines.
    """
    alone = attempts_alone(jobs)
    jobs = [job for job in jobs if job.trial.attempt not in alone]
    shown = per_trial(sorted(jobs, key=lambda job: job.trial.facts.position))
    labels = {trial.attempt: name for name, trial in named_trials([job.trial for job in shown])}
    metrics = [metric for metric in SHOWN if any(metric in held(row) for row in shown)]
    if not metrics:
        return None
    rows = [
        Row(
            [
                labels[job.trial.attempt],
                *(metric_cell(job, metric) for metric in metrics),
                trial_cell(job),
            ],
            focus=job.trial.id == focus,
        )
        for job in shown[:most]
    ]
    columns = [Column("trial", is_text=True), *metric_columns(metrics), TRIAL_COLUMN]
    return Table(columns, rows, title=TITLE)


def fabric_values(jobs: Sequence[JobReport]) -> Table | None:
    """Return a line for each metric of one trial, or `None` if its jobs do not share the fabric."""
    rows = [
        Row([metric.title, exact_text(job, metric), metric.unit])
        for job in per_trial(jobs)
        for metric in held(job)
    ]
    columns = [Column(name, is_text=name != "value") for name in ("metric", "value", "unit")]
    return Table(columns, rows, title=TITLE) if rows else None
