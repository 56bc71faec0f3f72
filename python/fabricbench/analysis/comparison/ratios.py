"""Computes ratios of one job's metrics to another's, better or worse; deviations from published values.

Published values are those of papers and vendors' test reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fabricbench.analysis.summary.job_summary import COMPLETE, Summary
from fabricbench.metrics import METRICS, RATIOS, Direction, Metric
from fabricbench.plan.jobs import STORAGE

Verdict = Literal["better", "worse", "same"]

PUBLISHED: Sequence[Metric] = [metric for metric in METRICS if metric.published]
"""Metrics that published tables have."""


@dataclass(frozen=True)
class Deviation:
    """Deviation of a metric from its published value.

    Attributes:
        metric: Name of the metric.
        published: The published value, in the metric's unit.
        deviation_percent: 100 * (measured / published - 1); none where the metric could not be measured or
            the published value is 0.
    """

    metric: str
    published: float
    deviation_percent: float | None


def deviations(summary: Summary, published: Mapping[str, float]) -> list[Deviation]:
    """Compare a job with a row of a published table.

    Args:
        summary: The job.
        published: Value of each column; columns that are not metrics are ignored.
    """
    return [
        Deviation(metric.name, value, _deviation_percent(summary.value(metric.name), value))
        for metric in PUBLISHED
        if (value := published.get(metric.published)) is not None
    ]


def _deviation_percent(ours: float | None, published: float) -> float | None:
    return 100 * (ours / published - 1) if ours is not None and published else None


SAME_WITHIN = 0.00005
"""Largest relative difference of values that are the same: a ratio printed as 1.0000 is no change."""


@dataclass(frozen=True)
class Change:
    """A metric of two jobs.

    Attributes:
        metric: The metric.
        first: Its value in the first trial; none where it could not be measured.
        second: Its value in the second.
        ratio: Second over first; none where either is missing or of an incomplete job, or the first is 0.
        verdict: `better`, `worse` or, within `SAME_WITHIN`, `same` for the second; empty where either is
            missing or incomplete.
    """

    metric: Metric
    first: float | None
    second: float | None
    ratio: float | None
    verdict: Verdict | Literal[""]

    @property
    def has_values(self) -> bool:
        """Whether either trial has a value of the metric."""
        return self.first is not None or self.second is not None


def compare(first: Summary, second: Summary) -> list[Change]:
    """Compare two jobs, metric by metric; without ratios if one of them is not complete."""
    complete = first.status == second.status == COMPLETE
    return [
        _change(metric, first.value(metric.name), second.value(metric.name), complete=complete)
        for metric in METRICS
    ]


def _change(metric: Metric, first: float | None, second: float | None, *, complete: bool) -> Change:
    if first is None or second is None or not complete:
        return Change(metric, first, second, None, "")
    ratio = second / first if first else None
    return Change(metric, first, second, ratio, _verdict(metric.direction, first, second))


def _verdict(direction: Direction, first: float, second: float) -> Verdict:
    if first == second or abs(second - first) < SAME_WITHIN * abs(first):
        return "same"
    is_lower = second < first
    return "better" if is_lower == (direction is Direction.LOWER) else "worse"


def is_comparable(own: Summary, reference: Summary) -> bool:
    """Return whether two jobs give ratios: both complete, with the same collective, ranks and data size.

    Storage jobs may differ in the number of targets, as they do the same work.
    """
    same = ["collective", "data_size_bytes"] + ["ranks"] * (own.collective != STORAGE)
    complete = own.status == reference.status == COMPLETE
    return complete and all(getattr(own, name) == getattr(reference, name) for name in same)


def ratios(own: Summary, reference: Summary) -> dict[str, float | None]:
    """Return each ratio of a job to the same job of the reference variant.

    Returns:
        Value of each ratio by its name, own over reference; none where either could not be measured or the
        reference is 0, and for all ratios where the jobs are not comparable.
    """
    if not is_comparable(own, reference):
        return dict.fromkeys(RATIOS)
    values = {name: (own.value(metric.name), reference.value(metric.name)) for name, metric in RATIOS.items()}
    return {
        name: value / other if value is not None and other else None
        for name, (value, other) in values.items()
    }


def ratio_verdict(metric: Metric, ratio: float | None, tolerance: float = 0.0) -> str:
    """Return whether a ratio is `better` or `worse` than 1 by more than a tolerance, or else the `same`.

    Returns:
        Empty where there is no ratio.
    """
    if ratio is None:
        return ""
    return "same" if abs(ratio - 1) <= tolerance else _verdict(metric.direction, 1.0, ratio)
