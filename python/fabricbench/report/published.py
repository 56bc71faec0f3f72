"""A published table with our results beside its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.compare import PUBLISHED_COLUMNS, deviations
from fabricbench.analysis.metrics import METRICS

if TYPE_CHECKING:
    from fabricbench.report.trials import JobReport


def published_rows(
    table: Mapping[int, Mapping[str, float]], jobs: Mapping[int, JobReport | None]
) -> list[dict[str, Any]]:
    """Set jobs beside the lines of a published table.

    Args:
        table: For each size [bytes], the value of each column.
        jobs: For each size, the job that was measured; none if none was.

    Returns:
        For each size `data_size_bytes`, `trial` (its id, or none) and `metrics`: for each metric `unit`,
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


def _metrics(values: Mapping[str, float], job: JobReport | None) -> dict[str, dict[str, Any]]:
    units = {metric.name: metric.unit for metric in METRICS}
    deviation = (
        {each.metric: each.deviation_percent for each in deviations(job.summary, values)} if job else {}
    )
    return {
        name: {
            "unit": units[name],
            "published": values[column],
            "ours": job.summary.value(name) if job else None,
            "deviation_percent": deviation.get(name),
        }
        for name, column in PUBLISHED_COLUMNS.items()
        if column in values
    }
