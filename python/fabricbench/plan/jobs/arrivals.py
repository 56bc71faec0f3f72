"""Open-loop traffic in a plan: messages that are offered at given times."""

from typing import Literal

from pydantic import Field

from fabricbench.plan._run_spec import ArrivalsSpec
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import PPM, Duration, Part, Rate


class Arrivals(PlanModel):
    """When the ranks of a job offer messages of its data size, whatever became of those before."""

    process: Literal["poisson", "constant"] = Field(
        default="poisson",
        description=(
            "Gaps between the messages of a rank: exponential (`poisson`), or equal after a random phase "
            "(`constant`). Source: the load sweeps of the literature."
        ),
    )
    load_ppm: Part | None = Field(
        default=None,
        alias="load",
        description=(
            "Payload offered by each sending rank, as a share of the line rate of its port [share]; this or "
            "`rate`."
        ),
    )
    rate_bps: Rate | None = Field(
        default=None,
        alias="rate",
        description="Payload offered by each sending rank [rate]; this or `load`.",
    )
    duration_ps: Duration = Field(
        alias="duration",
        description="For how long messages are offered, from the start of the job [time].",
    )

    def run_spec(self, line_rate_bps: int) -> ArrivalsSpec:
        """Return the arrivals for the engine; a load is a fraction of the line rate."""
        rate_bps = line_rate_bps * (self.load_ppm or 0) // PPM if self.rate_bps is None else self.rate_bps
        return self.to_spec(ArrivalsSpec, rate_bps=rate_bps)
