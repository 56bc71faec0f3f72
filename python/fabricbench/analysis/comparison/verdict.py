"""Judges a job's metrics by the acceptance criteria of its plan: pass or fail, for each and in all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fabricbench.analysis.summary.job_summary import COMPLETE, Summary
from fabricbench.metrics import ALONE_RATIOS, RATIOS

PASS = "pass"
FAIL = "fail"


@dataclass(frozen=True)
class Judgement:
    """A criterion and its outcome for one job.

    Attributes:
        metric: Name of the metric.
        min: Lower limit, in the metric's unit; none without one.
        max: Upper limit; none without one.
        value: Measured value; none where it could not be measured.
        passed: Whether the job is complete and the value was measured and is within the limits.
    """

    metric: str
    min: float | None
    max: float | None
    value: float | int | None
    passed: bool


def judge(
    summary: Summary,
    criteria: Sequence[Mapping[str, Any]],
    ratios: Mapping[str, float | None] = MappingProxyType({}),
) -> list[Judgement]:
    """Judge a job by the criteria that apply to it.

    A job that is not complete fails all of them: its counters are those of another, shorter test.

    Args:
        summary: The job.
        criteria: Each with `metric`, `min`, `max` and `job`; the latter three may be none.
        ratios: Its ratios to the reference variant and to itself alone, by name; missing ones are unknown.
    """
    return [
        _judge(summary, criterion, ratios)
        for criterion in criteria
        if criterion["job"] in (None, summary.job)
    ]


def _judge(summary: Summary, criterion: Mapping[str, Any], ratios: Mapping[str, float | None]) -> Judgement:
    low, high, metric = criterion["min"], criterion["max"], criterion["metric"]
    is_ratio = metric in RATIOS or metric in ALONE_RATIOS
    value = ratios.get(metric) if is_ratio else summary.value(metric)
    passed = summary.status == COMPLETE and value is not None
    if value is not None:
        passed = passed and (low is None or value >= low) and (high is None or value <= high)
    return Judgement(metric, low, high, value, passed)


def verdict(judgements: Sequence[Judgement]) -> str | None:
    """Return `pass` if every judgement passed, otherwise `fail`; none if there are none."""
    if not judgements:
        return None
    return PASS if all(judgement.passed for judgement in judgements) else FAIL
