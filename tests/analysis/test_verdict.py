"""The verdict on a job by the criteria of its plan."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary
from tests.support.fake_backend import chunk_row
from tests.support.samples import run_spec

from fabricbench.analysis.comparison.verdict import Judgement, judge, verdict
from fabricbench.analysis.summary.job_metrics import summarise
from fabricbench.analysis.summary.job_summary import Summary


def job_of(status: str = "complete") -> Summary:
    """A job of 2 ms that resent 3 frames."""
    tables = MemoryTables(chunks=[chunk_row(fct_ps=2 * 10**9, retransmits=3)])
    end_ps = 2 * 10**9 if status == "complete" else None
    return summarise(run_spec(), run_summary(job_summary(status=status, end_ps=end_ps)), tables)[0]


def criterion(metric: str, low: float | None, high: float | None, job: str | None = None) -> dict[str, Any]:
    return {"metric": metric, "min": low, "max": high, "job": job}


@pytest.mark.parametrize(
    ("ratio", "value", "passed"), [(1.04, 1.04, True), (1.05, 1.05, False), (None, None, False)]
)
def test_a_criterion_may_limit_a_ratio(ratio: float | None, value: float | None, passed: bool) -> None:
    (found,) = judge(
        job_of(), [criterion("completion_time_ratio", None, 1.04)], {"completion_time_ratio": ratio}
    )
    assert (found.value, found.passed) == (value, passed)


def test_a_ratio_without_a_reference_is_not_met() -> None:
    (found,) = judge(job_of(), [criterion("busbw_ratio", 0.0, None)])
    assert (found.value, found.passed) == (None, False)


@pytest.mark.parametrize(
    ("low", "high", "passed"),
    [
        (None, 3.0, True),
        (3.0, None, True),
        (3.0, 3.0, True),
        (None, 2.999, False),
        (3.001, None, False),
        (0.0, 2.0, False),
        (4.0, 5.0, False),
    ],
)
def test_a_value_at_its_limit_is_within(low: float | None, high: float | None, passed: bool) -> None:
    judged = judge(job_of(), [criterion("retransmits", low, high)])
    assert judged == [Judgement("retransmits", low, high, 3, passed)]
    assert verdict(judged) == ("pass" if passed else "fail")


def test_only_what_concerns_the_job_is_judged() -> None:
    criteria = [criterion("frames_lost", None, 0.0, "other"), criterion("retransmits", None, 9.0, "test")]
    assert [each.metric for each in judge(job_of(), criteria)] == ["retransmits"]


def test_without_criteria_there_is_no_verdict() -> None:
    assert verdict(judge(job_of(), [])) is None


def test_what_could_not_be_measured_does_not_pass() -> None:
    judged = judge(job_of(), [criterion("slowdown_p99", None, 100.0), criterion("retransmits", None, 3.0)])
    assert [(each.value, each.passed) for each in judged] == [(None, False), (3, True)]
    assert verdict(judged) == "fail"


def test_an_incomplete_job_meets_no_criterion() -> None:
    criteria = [criterion("completion_time_ms", None, 5.0), criterion("retransmits", None, 3.0)]
    judged = judge(job_of("incomplete"), criteria)
    assert [(each.value, each.passed) for each in judged] == [(None, False), (3, False)]
