"""Reads properties of a trial from its RunSpec and outcomes: rounds, jobs, measured or simulated.

The RunSpec has the parameters of one trial for the backends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def has_fabric(run_spec: Mapping[str, Any]) -> bool:
    """Return whether a specification has a fabric, from which the ideal of a port can be computed."""
    return "fabric" in run_spec


MEASURED = "measured"


def warm_up_rounds_of(outcome: Mapping[str, Any]) -> int:
    """Return the complete warm-up rounds."""
    return int(outcome.get("warm_up_rounds", 0))


def rounds_of(outcome: Mapping[str, Any]) -> int:
    """Return the complete rounds of a job, warm-up rounds included, at least 1."""
    return max(1, int(outcome["rounds"]) + warm_up_rounds_of(outcome))


def is_alone(run_spec: Mapping[str, Any]) -> bool:
    """Return whether a trial has one job and no TCP traffic, so that all counters are of that job."""
    return len(run_spec.get("jobs", ())) <= 1 and not run_spec.get("tcp")


def is_measured(run_spec: Mapping[str, Any]) -> bool:
    """Return whether a specification is that of a measured trial."""
    return MEASURED in run_spec
