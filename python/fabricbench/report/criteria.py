"""What came of the acceptance criteria, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.analysis.verdict import Judgement
    from fabricbench.results.jobs import JobReport

ALL_MET = "criteria: all met"


def judgement_text(judgement: Judgement) -> str:
    """Write a judgement: what is asked, whether it is met, and what was measured."""
    limits = [f"{_number(judgement.min)} or more"] if judgement.min is not None else []
    limits += [f"{_number(judgement.max)} or less"] if judgement.max is not None else []
    asked = f"{judgement.metric} of {' and '.join(limits)}"
    met = "met" if judgement.passed else "not met"
    if judgement.value is None:
        return f"{asked}: {met}, it could not be measured"
    return f"{asked}: {met}, it is {_number(judgement.value)}{_incomplete(judgement)}"


def verdict_line(jobs: Sequence[JobReport]) -> str:
    """Say in one line how many criteria are not met, and which is the first; for output that is data."""
    judged = [(job, each) for job in jobs for each in job.judgements]
    failed = [(job, each) for job, each in judged if not each.passed]
    if not failed:
        return ALL_MET
    job, first = failed[0]
    place = f"{job.size}, {job.trial.facts.variant}, job {job.summary.job}"
    more = "" if len(failed) == 1 else ", the first"
    return f"criteria: {len(failed)} of {len(judged)} not met{more} at {place}: {judgement_text(first)}"


def _incomplete(judgement: Judgement) -> str:
    """Say why a value within the limits does not do."""
    low, high, value = judgement.min, judgement.max, judgement.value
    if value is None or judgement.passed:
        return ""
    within = (low is None or value >= low) and (high is None or value <= high)
    return " of an incomplete job" if within else ""


def _number(value: float) -> str:
    """Write a whole number as it is, another so that it cannot look like a limit that it misses."""
    return str(value) if isinstance(value, int) else f"{value:.10g}"
