"""Compares a measured job with the simulator's prediction of it: deviation and causes, also over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from fabricbench.analysis.record.tables import Tables
from fabricbench.analysis.summary.job_summary import COMPLETE, Summary
from fabricbench.analysis.twins.causes import (
    SLOW_PAIRS,
    Cause,
    SlowPair,
    clock_causes,
    counter_causes,
    device_causes,
    fabric_causes,
    fewer_causes,
    host_causes,
    overhead_cause,
    rate_cause,
    slow_pairs,
    start_causes,
    status_cause,
)
from fabricbench.analysis.twins.endpoints import rank_pairs
from fabricbench.analysis.twins.paths import path_causes
from fabricbench.analysis.twins.trend import Trend, trend

CLOSE_PERCENT: Final = 1.0
"""Deviation below which no cause is searched for."""
_EXPLAINED: Final = 0.5
"""Fraction of the difference from which a trend is a cause."""
_TIME: Final = "completion_time_ms"


@dataclass(frozen=True)
class Side:
    """A summary of a job with its record: the measured or the predicted side.

    Attributes:
        summary: The summary.
        tables: The tables of the record.
        clock_error_ms: Error of times between two hosts [ms]; none with a single clock.
    """

    summary: Summary
    tables: Tables
    clock_error_ms: float | None = None


@dataclass(frozen=True)
class Twin:
    """A measured job and its prediction.

    Attributes:
        measured: The measured job.
        predicted: The simulated job; none without a complete trial of it.
        deviation_percent: 100 * (measured / predicted completion time - 1); none without both.
        causes: Likely causes, the likeliest first; empty if the two agree.
        slowest: The pairs of ranks whose chunks took longest compared with the prediction, the slowest first.
    """

    measured: Summary
    predicted: Summary | None
    deviation_percent: float | None = None
    causes: Sequence[Cause] = ()
    slowest: Sequence[SlowPair] = ()

    @property
    def times_ms(self) -> tuple[float, float] | None:
        """Predicted and measured completion time [ms]; none without both."""
        return _times_ms(self.measured, self.predicted)


def _times_ms(measured: Summary, predicted: Summary | None) -> tuple[float, float] | None:
    if predicted is None or {measured.status, predicted.status} != {COMPLETE}:
        return None
    predicted_ms, measured_ms = predicted.value(_TIME), measured.value(_TIME)
    return (predicted_ms, measured_ms) if predicted_ms and measured_ms else None


def twin_of(measured: Side, predicted: Side | None) -> Twin:
    """Return a measured job with its prediction and the causes of their difference.

    Raises:
        StoreError: A table cannot be read.
    """
    if predicted is None:
        return Twin(measured.summary, None)
    job = measured.summary.job
    measured_pairs, predicted_pairs = rank_pairs(measured.tables, job), rank_pairs(predicted.tables, job)
    pairs = slow_pairs(measured_pairs, predicted_pairs)
    causes = counter_causes(measured_pairs, predicted_pairs)
    times = _times_ms(measured.summary, predicted.summary)
    if times is None:
        summary = measured.summary
        is_ours = summary.status != COMPLETE
        status = [status_cause(summary.status, summary.reason, summary.chunks)] if is_ours else []
        causes += device_causes(measured.tables)
        return Twin(summary, predicted.summary, None, [*status, *causes], pairs[:SLOW_PAIRS])
    predicted_ms, measured_ms = times
    deviation = 100 * (measured_ms / predicted_ms - 1)
    is_reported = abs(deviation) >= CLOSE_PERCENT
    causes = (
        clock_causes(measured.clock_error_ms, measured_ms - predicted_ms) if is_reported else []
    ) + causes
    causes += start_causes(measured_pairs, predicted_pairs, measured_ms - predicted_ms)
    if deviation <= -CLOSE_PERCENT:
        causes += fewer_causes(measured_pairs, predicted_pairs)
    if is_reported:
        causes += path_causes(measured.tables, predicted.tables)
        causes += fabric_causes(measured.tables, predicted.tables) + device_causes(measured.tables)
        causes += host_causes(pairs)
    return Twin(measured.summary, predicted.summary, deviation, causes, pairs[:SLOW_PAIRS])


def with_trend(twins: Sequence[Twin]) -> tuple[list[Twin], Trend | None]:
    """Add overhead or rate as a cause to the twins of one job at several sizes.

    Returns:
        The twins, and the trend over them; none without two sizes that have both times.
    """
    times = [both for twin in twins if (both := twin.times_ms)]
    fit = trend(times)
    if fit is None:
        return list(twins), None
    return [replace(twin, causes=[*twin.causes, *_trend_causes(twin, fit)]) for twin in twins], fit


def _trend_causes(twin: Twin, fit: Trend) -> list[Cause]:
    """Return overhead and rate as causes, larger first, if the fit explains the difference of this size."""
    times = twin.times_ms
    if times is None or abs(twin.deviation_percent or 0.0) < CLOSE_PERCENT:
        return []
    predicted, measured = times
    difference = measured - predicted
    if abs(measured - fit.fitted_ms(predicted)) > (1 - _EXPLAINED) * abs(difference):
        return []
    parts = {
        overhead_cause(fit.fixed_ms): fit.fixed_ms,
        rate_cause(fit.rate_percent): fit.rate_percent / 100 * predicted,
    }
    fractions = {
        cause: part / difference for cause, part in parts.items() if part / difference >= _EXPLAINED / 2
    }
    return sorted(fractions, key=lambda cause: -fractions[cause])
