"""Rate controls of a plan: a fixed rate, Swift, TIMELY, and the choice of one.

DCQCN, with its presets, is in `dcqcn`. Each is one model here, a field of `RateControl`, and one file of
`crates/transport/src/congestion` in the engine.
"""

from fractions import Fraction
from typing import Annotated, Any, Final, Protocol

from pydantic import Field

from fabricbench.plan._run_spec import (
    FixedRateControl,
    RateControl as RateControlSpec,
    SwiftRateControl,
    TimelyRateControl,
)
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import PPM, Duration, MessageSize, Rate, Ratio
from fabricbench.plan.transport.dcqcn import Dcqcn

_ONE: Final = 1 << 20
"""A packet, in windows of the engine."""
_HOPS_OF_BASE: Final = Fraction(655, 100)


class Fixed(PlanModel):
    """A fixed rate of each queue pair, without any reaction to the network."""

    rate_bps: Rate = Field(
        alias="rate", description="Rate of each queue pair, with preamble and gap of its frames [bit/s]."
    )

    def run_spec(self, port_bps: int) -> FixedRateControl:  # noqa: ARG002 (others need it)
        """Return the rate for the engine."""
        return {"kind": "fixed", "rate_bps": self.rate_bps}


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

    def run_spec(self, port_bps: int) -> SwiftRateControl:  # noqa: ARG002 (others need it)
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


class Timely(PlanModel):
    """TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows the gradient of the round-trip time."""

    alpha: Ratio = Field(
        default="0.875",
        validate_default=True,
        description=(
            "Weight of the newest difference of round-trip times [ratio], at most 1. Source: the simulator "
            "of Li et al., HPCC, SIGCOMM 2019."
        ),
    )
    beta: Ratio = Field(
        default="0.8",
        validate_default=True,
        description="Multiplicative decrease [ratio], at most 1. Source: the paper.",
    )
    decrease_max: Ratio = Field(
        default="0.5",
        validate_default=True,
        description=(
            "Largest fraction of the rate that one decrease takes off [ratio], at most 1, as in the paper: "
            "no limit. Source: the code that its authors published."
        ),
    )
    rtt_low_ps: Duration = Field(
        default="50us",
        alias="rtt_low",
        validate_default=True,
        description="Below this round-trip time the rate rises [time]. Source: the paper, T_low.",
    )
    rtt_high_ps: Duration = Field(
        default="500us",
        alias="rtt_high",
        validate_default=True,
        description="Above this round-trip time the rate falls [time]. Source: the paper, T_high.",
    )
    rtt_min_ps: Duration = Field(
        default="20us",
        alias="rtt_min",
        validate_default=True,
        description="What differences of round-trip times are set against [time]. Source: the paper, minRTT.",
    )
    additive_increase_bps: Rate | None = Field(
        default=None,
        alias="additive_increase",
        description=(
            "Increase of the rate for each segment [bit/s]. Default: 10 Mb/s for each 10 Gb/s of the host's "
            "port. Source: the paper, delta, at the ports of its testbed."
        ),
    )
    segment_bytes: MessageSize = Field(
        default="16KB",
        alias="segment",
        validate_default=True,
        description=(
            "The rate is updated each time that so much has been acknowledged [size]. Source: the paper, "
            "segments of 16 to 64 KB."
        ),
    )
    rate_min_bps: Rate = Field(
        default="100Mbps",
        alias="rate_min",
        validate_default=True,
        description="Smallest rate [bit/s]. Source: the simulator of Li et al., HPCC, SIGCOMM 2019.",
    )

    def run_spec(self, port_bps: int) -> TimelyRateControl:
        """Return TIMELY for the engine, for hosts with ports of `port_bps`."""
        increase_bps = self.additive_increase_bps
        return self.to_spec(
            TimelyRateControl,
            kind="timely",
            alpha_ppm=round(self.alpha * PPM),
            beta_ppm=round(self.beta * PPM),
            decrease_max_ppm=round(self.decrease_max * PPM),
            additive_increase_bps=max(1, port_bps // 1000) if increase_bps is None else increase_bps,
        )


class _Control(Protocol):
    """A rate control that is set."""

    def run_spec(self, port_bps: int) -> RateControlSpec:
        """Return it for the engine, for hosts with ports of `port_bps`."""


class RateControl(PlanModel):
    """How the requester paces itself, if not by the port alone: one of these."""

    dcqcn: Dcqcn | None = Field(default=None, description="DCQCN: by the CNPs that ECN marks bring about.")
    fixed: Fixed | None = Field(default=None, description="A fixed rate of each queue pair.")
    swift: Swift | None = Field(default=None, description="Swift: by a target of the round-trip time.")
    timely: Timely | None = Field(default=None, description="TIMELY: by the gradient of the round-trip time.")

    @property
    def controls(self) -> dict[str, _Control]:
        """The rate controls that are set, by name: one in a checked plan."""
        controls = (getattr(self, name) for name in type(self).model_fields)
        return {kind: control for kind, control in zip(KINDS, controls, strict=True) if control is not None}

    @property
    def kinds(self) -> list[str]:
        """Names of the rate controls that are set."""
        return list(self.controls)

    @property
    def is_line_rate(self) -> bool:
        """Whether senders count CNPs without a reaction."""
        return self.dcqcn is not None and not self.dcqcn.reacts

    def run_spec(self, port_bps: int) -> RateControlSpec:
        """Return the control for the engine, for hosts with ports of `port_bps`."""
        return next(iter(self.controls.values()), Dcqcn()).run_spec(port_bps)


KINDS: Final = tuple(field.alias or name for name, field in RateControl.model_fields.items())
"""Names of all rate controls."""
NAMES: Final[dict[str, Any]] = {"line-rate": None} | {kind: {kind: {}} for kind in KINDS}
"""What each name in place of a mapping stands for."""
