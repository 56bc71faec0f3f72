"""Which kind of load a job is: some metrics are those of one kind alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class JobKind(StrEnum):
    """What a job does, as far as its metrics depend on it."""

    COLLECTIVE = "collective"
    OPEN_LOOP = "open-loop"
    STORAGE = "storage"


def job_kind(spec: Mapping[str, Any]) -> JobKind:
    """Return the kind of a job by its run spec."""
    if spec.get("arrivals"):
        return JobKind.OPEN_LOOP
    return JobKind.STORAGE if spec.get("storage") else JobKind.COLLECTIVE
