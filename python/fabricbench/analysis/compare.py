"""Ratios: a trial against another, and against published results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabricbench.analysis.metrics import METRICS, Direction, Metric
from fabricbench.analysis.summary import Summary

PUBLISHED_COLUMNS: Mapping[str, str] = {
    "completion_time_ms": "completion_time_ms",
    "algbw_gb_per_s": "algbw_gb_per_s",
    "busbw_gb_per_s": "busbw_gb_per_s",
    "ideal_percent": "ideal_percent",
    "fct_ms_min": "min_fct_ms",
    "fct_ms_p50": "p50_fct_ms",
    "fct_ms_p95": "p95_fct_ms",
    "fct_ms_max": "max_fct_ms",
    "pfc_rx": "pfc_rx",
    "ecn_ce_rx": "ecn_ce_rx",
    "cnp_tx": "cnp_tx",
    "retransmits": "retransmits",
    "frames_lost": "frames_lost",
}
"""For each metric that published tables have, the name of their column."""


@dataclass(frozen=True)
class Deviation:
    """A published value and how far ours is from it.

    Attributes:
        metric: Name of the metric.
        published: The published value, in the metric's unit.
        deviation_percent: 100 * (ours / published - 1); none where ours could not be measured or the
            published value is 0.
    """

    metric: str
    published: float
    deviation_percent: float | None


def deviations(summary: Summary, published: Mapping[str, float]) -> list[Deviation]:
    """Compare a job with a row of a published table.

    Args:
        summary: The job.
        published: Value of each column; columns that are no metric of ours are left out.
    """
    return [
        Deviation(metric, published[column], _deviation_percent(summary.value(metric), published[column]))
        for metric, column in PUBLISHED_COLUMNS.items()
        if column in published
    ]


def _deviation_percent(ours: float | None, published: float) -> float | None:
    return 100 * (ours / published - 1) if ours is not None and published else None


@dataclass(frozen=True)
class Change:
    """A metric of two jobs.

    Attributes:
        metric: The metric.
        first: Its value in the first trial; none where it could not be measured.
        second: Its value in the second.
        ratio: Second over first; none where either is missing or the first is 0.
        verdict: `better`, `worse` or `same` for the second; empty where either is missing.
    """

    metric: Metric
    first: float | None
    second: float | None
    ratio: float | None
    verdict: str


def compare(first: Summary, second: Summary) -> list[Change]:
    """Compare two jobs, metric by metric."""
    return [_change(metric, first.value(metric.name), second.value(metric.name)) for metric in METRICS]


def _change(metric: Metric, first: float | None, second: float | None) -> Change:
    if first is None or second is None:
        return Change(metric, first, second, None, "")
    ratio = second / first if first else None
    return Change(metric, first, second, ratio, _verdict(metric.direction, first, second))


def _verdict(direction: Direction, first: float, second: float) -> str:
    if first == second:
        return "same"
    is_lower = second < first
    return "better" if is_lower == (direction is Direction.LOWER) else "worse"
