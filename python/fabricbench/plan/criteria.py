"""Acceptance criteria of a plan: a limit that a metric of a job must keep, and the variants it applies to."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from fabricbench.metrics import ALONE_RATIOS, BY_NAME, RATIOS
from fabricbench.plan.fields.base import PlanModel

if TYPE_CHECKING:
    MetricName = str
else:
    MetricName = Literal[*BY_NAME, *RATIOS, *ALONE_RATIOS]
"""A metric of a job, or a ratio to the same job of the reference variant or without its neighbours."""

Limit = Annotated[float, Field(allow_inf_nan=False)]
"""A limit of a metric, in the metric's unit."""


class Criterion(PlanModel):
    """A limit that a metric has to keep for the test to pass; at least one of `min` and `max`."""

    metric: MetricName = Field(
        description=(
            "Metric of a job, or ratio to the reference variant or to the job alone, by its name in "
            "docs/metrics.md; the limits are in its unit."
        )
    )
    minimum: Limit | None = Field(
        default=None, alias="min", description="The metric must not be below this value."
    )
    maximum: Limit | None = Field(
        default=None, alias="max", description="The metric must not be above this value."
    )
    job: str | None = Field(default=None, description="The job that is judged. Default: every job.")

    variant: str | None = Field(
        default=None,
        description=(
            "The variant that is judged. Default: every variant; by a ratio, every one but the reference."
        ),
    )

    @property
    def is_ratio(self) -> bool:
        """Whether its metric is a ratio to the reference variant."""
        return self.metric in RATIOS

    def concerns(self, variant: str, reference: str | None = None) -> bool:
        """Whether it applies to the trials of a variant; a ratio needs another variant as reference."""
        return self.variant in {None, variant} and not (self.is_ratio and reference in {None, variant})

    def stored(self) -> dict[str, Any]:
        """Return the criterion in the form of the catalog; absent limits and job are none."""
        return {"metric": self.metric, "min": self.minimum, "max": self.maximum, "job": self.job}
