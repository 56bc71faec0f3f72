"""Route that lists the declarations of all metrics; check of a metric's name in a request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from fabricbench.metrics import BY_NAME, METRICS, Direction, JobKind, Metric, Point, Scope, View
from fabricbench.server.errors import ERRORS

router = APIRouter(prefix="/api/v1", tags=["metrics"], responses=ERRORS)

_MetricName = StrEnum(  # type: ignore[misc]
    "MetricName", {name.upper(): name for name in BY_NAME}
)
MetricParameter = Annotated[
    _MetricName | None, Query(description="The metric; the first of `metrics` if there is no such value.")
]
"""Query parameter with the metric of a figure."""


def chosen_metric(name: str | None, metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric of the requested name, or else the first metric; none without metrics."""
    return next((metric for metric in metrics if metric.name == name), next(iter(metrics), None))


class MetricInfo(BaseModel):
    """A metric of a job."""

    name: str = Field(description="Its name, and that of its column in CSV.")
    group: str = Field(description="JSON has it in this object, under what its name ends with; may be empty.")
    title: str
    label: str = Field(description="A short title, for the head of a column; empty if no table needs one.")
    unit: str = Field(description="Empty for a pure number.")
    direction: Direction = Field(description="Which of two values is the better one.")
    scope: Scope = Field(
        description="`job` if each job has its own value, `run` if it is of the whole fabric."
    )
    point: Point = Field(description="Where it is seen.")
    decimals: int | None = Field(description="Decimals to show; null where digits tell more.")
    digits: int | None = Field(description="Significant digits to show; null where decimals tell more.")
    kind: JobKind | None = Field(description="The kind of jobs that have it; null if all do.")
    ratio: str = Field(description="Name of its ratio to the reference variant; empty if there is none.")
    views: list[View] = Field(description="Tables that show it, beside those that show every metric.")


class DeclaredMetrics(BaseModel):
    """Every metric, in the order of output."""

    metrics: list[MetricInfo]


@router.get("/metrics")
def list_metrics() -> DeclaredMetrics:
    """Return every metric of a job: its title, its unit and which of two values is better."""
    return DeclaredMetrics(
        metrics=[MetricInfo.model_validate(metric, from_attributes=True) for metric in METRICS]
    )
