"""Fits a job's measured times to its predicted ones, over its data sizes: a fixed overhead, and a rate.

The model is measured = fixed + factor * predicted, fitted by least squares of the relative residuals, so that
small sizes have the same weight as large ones. It separates an overhead of each operation (software, message
cost) from a time that grows with the data (a slower port, headers, sharing). Other dependencies on the size,
such as a buffer that overflows from some size on, are in its residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Trend:
    """Relation of measured to predicted times.

    Attributes:
        fixed_ms: Additional time of every size [ms]; negative if sizes take less.
        rate_percent: Increase of the part that grows with the predicted time [%].
        residual_percent: Largest deviation of a measured time from the fit [%].
        sizes: Number of different predicted times that were fitted.
    """

    fixed_ms: float
    rate_percent: float
    residual_percent: float
    sizes: int

    def fitted_ms(self, predicted_ms: float) -> float:
        """Return the time that the fit gives for a predicted one [ms]."""
        return self.fixed_ms + (1 + self.rate_percent / 100) * predicted_ms


def trend(times_ms: Sequence[tuple[float, float]]) -> Trend | None:
    """Fit pairs of (predicted, measured) completion times [ms].

    Returns:
        None with fewer than two different predicted times, or with one that is not above 0.
    """
    sizes = len({predicted for predicted, _ in times_ms})
    if sizes < 2 or any(value <= 0 for pair in times_ms for value in pair):
        return None
    fixed, factor = relative_line(times_ms)
    fitted = [(fixed + factor * predicted, measured) for predicted, measured in times_ms]
    residual = max(abs(measured / value - 1) if value else 1.0 for value, measured in fitted)
    return Trend(fixed, 100 * (factor - 1), 100 * residual, sizes)


def relative_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return (a, b) of the line y = a + b x with the least sum of ((y - a - b x) / y)^2.

    Args:
        points: (x, y), each y above 0, at least two different x.
    """
    weights = [1 / (y * y) for _, y in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    weighed = list(zip(weights, points, strict=True))
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in weighed) / sum(
        w * (x - mean_x) ** 2 for w, (x, _) in weighed
    )
    return mean_y - slope * mean_x, slope
