"""Swift at the sender (Kumar et al., SIGCOMM 2020): its fields in a plan."""

from fractions import Fraction
from typing import Annotated, Final

from pydantic import Field

from fabricbench.plan._run_spec import SwiftRateControl
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import PPM, Duration, Ratio

_ONE: Final = 1 << 20
"""A packet, in windows of the engine."""
_HOPS_OF_BASE: Final = Fraction(655, 100)


class Swift(PlanModel):
    """Swift (Kumar et al., SIGCOMM 2020): a window that keeps the round-trip time at a target."""

    base_target_ps: Duration = Field(
        default="20us",
        alias="base_target",
        validate_default=True,
        description=(
            "Target of the round-trip time, without the parts for hops and small windows [time]. Source: "
            "the htsim simulator (Handley et al.), to be confirmed by its author: it belongs to a fabric."
        ),
    )
    hop_target_ps: Duration | None = Field(
        default=None,
        alias="hop_target",
        description=(
            "What each link of the path adds to it [time]. Default: the base over 6.55. Source: htsim."
        ),
    )
    scaling_range_ps: Duration | None = Field(
        default=None,
        alias="scaling_range",
        description=(
            "What flow scaling adds to the target at most, at small windows [time]. Default: five times the "
            "base. Source: htsim."
        ),
    )
    scaling_window_min: Ratio = Field(
        default="0.1",
        validate_default=True,
        description="Flow scaling is full at this window [packets]. Source: the paper, fs_min_cwnd.",
    )
    scaling_window_max: Ratio = Field(
        default="100",
        validate_default=True,
        description="No flow scaling from this window on [packets]. Source: the paper, fs_max_cwnd.",
    )
    additive_increase: Ratio = Field(
        default="1",
        validate_default=True,
        description="Increase of the window for each round trip [packets]. Source: htsim, ai.",
    )
    beta: Ratio = Field(
        default="0.8",
        validate_default=True,
        description="Multiplicative decrease [ratio], at most 1. Source: htsim, beta.",
    )
    decrease_max: Ratio = Field(
        default="0.5",
        validate_default=True,
        description="Largest decrease at once [ratio], at most 1. Source: the paper.",
    )
    window_min: Ratio = Field(
        default="0.01",
        validate_default=True,
        description=(
            "Smallest window [packets]; below one, a packet every so many round trips. Source: an estimate: "
            "an incast of a hundred hosts fills a link."
        ),
    )
    window_max: Ratio = Field(
        default="1024",
        validate_default=True,
        description=(
            "Largest and first window [packets]. Source: an estimate: 4 MB at an MTU of 4096, twice what "
            "400 Gb/s takes in 40 us, so that a lone flow is not held back."
        ),
    )
    reset_timeouts: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5,
        description="Timeouts in a row that lead to the smallest window. Source: htsim.",
    )

    def run_spec(self) -> SwiftRateControl:
        """Return Swift for the engine."""
        base_ps = self.base_target_ps
        hop_ps = round(base_ps / _HOPS_OF_BASE) if self.hop_target_ps is None else self.hop_target_ps
        scaling_ps = 5 * base_ps if self.scaling_range_ps is None else self.scaling_range_ps
        return {
            "kind": "swift",
            "base_target_ps": base_ps,
            "hop_target_ps": hop_ps,
            "scaling_range_ps": scaling_ps,
            "scaling_window_min_2e20": round(self.scaling_window_min * _ONE),
            "scaling_window_max_2e20": round(self.scaling_window_max * _ONE),
            "additive_increase_2e20": round(self.additive_increase * _ONE),
            "beta_ppm": round(self.beta * PPM),
            "decrease_max_ppm": round(self.decrease_max * PPM),
            "window_min_2e20": round(self.window_min * _ONE),
            "window_max_2e20": round(self.window_max * _ONE),
            "reset_timeouts": self.reset_timeouts,
        }
