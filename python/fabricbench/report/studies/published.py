"""Compares a table of published results (paper, vendor's test report) with our trials, size by size."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypedDict

from fabricbench.analysis.comparison.ratios import PUBLISHED, deviations
from fabricbench.results.job_reports import JobReport


class PublishedMetricJson(TypedDict):
    """A published value of a metric next to ours."""

    unit: str
    published: float | None
    ours: float | None
    deviation_percent: float | None


class PublishedRowJson(TypedDict):
    """A line of a published table with the id of our trial, which is null without one."""

    data_size_bytes: int
    trial: str | None
    metrics: dict[str, PublishedMetricJson]


def published_rows(
    table: Mapping[int, Mapping[str, float]], jobs: Mapping[int, JobReport | None]
) -> list[PublishedRowJson]:
    """Compare jobs with the lines of a published table.

    Args:
        table: For each size [bytes], the value of each column.
        jobs: For each size, the measured job, or `None`.

    Returns:
        For each size `data_size_bytes`, `trial` (its id, or `None`) and `metrics`: for each metric `unit`,
        `published`, `ours` and `deviation_percent`.
    """
    return [
        {
            "data_size_bytes": size,
            "trial": job.trial.id if (job := jobs.get(size)) else None,
            "metrics": _metrics(values, jobs.get(size)),
        }
        for size, values in table.items()
    ]


def _metrics(values: Mapping[str, float], job: JobReport | None) -> dict[str, PublishedMetricJson]:
    deviation = (
        {deviation.metric: deviation.deviation_percent for deviation in deviations(job.summary, values)}
        if job
        else {}
    )
    return {
        metric.name: {
            "unit": metric.unit,
            "published": values[metric.published],
            "ours": job.summary.value(metric.name) if job else None,
            "deviation_percent": deviation.get(metric.name),
        }
        for metric in PUBLISHED
        if metric.published in values
    }
