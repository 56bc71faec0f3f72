"""Repeatability of a value: mean and coefficient of variation over trials that differ only in their seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True)
class Repeated:
    """Mean, extremes and variation of a metric over iterations.

    Attributes:
        count: Iterations that have a value.
        mean: Their mean, in the metric's unit.
        least: The smallest.
        most: The largest.
        cv_percent: Coefficient of variation [%]: the sample standard deviation over the mean; none for a
            single value, or where the mean is 0 and the values differ.
    """

    count: int
    mean: float
    least: float
    most: float
    cv_percent: float | None


def repeated(values: Sequence[float]) -> Repeated | None:
    """Return mean and variation of values; none without any."""
    if not values:
        return None
    mean = fmean(values)
    return Repeated(len(values), mean, min(values), max(values), _cv_percent(values, mean))


def _cv_percent(values: Sequence[float], mean: float) -> float | None:
    if len(values) < 2:
        return None
    deviation = stdev(values)
    if not deviation:
        return 0.0
    return 100 * deviation / abs(mean) if mean else None
