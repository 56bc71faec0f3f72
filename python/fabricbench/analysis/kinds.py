"""Kind of load of a job, as some metrics exist for one kind only, and whether a job is alone in its trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricbench.metrics import JobKind


def job_kind(spec: Mapping[str, Any]) -> JobKind:
    """Return the kind of a job by its run spec."""
    if spec.get("arrivals"):
        return JobKind.OPEN_LOOP
    return JobKind.STORAGE if spec.get("storage") else JobKind.COLLECTIVE


def is_alone(run_spec: Mapping[str, Any]) -> bool:
    """Return whether a trial has one job and no TCP traffic, so that all counters are of that job."""
    return len(run_spec.get("jobs", ())) <= 1 and not run_spec.get("tcp")
