"""TIMELY at the sender (Mittal et al., SIGCOMM 2015): its fields in a plan."""

from pydantic import Field

from fabricbench.plan._run_spec import TimelyRateControl
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import PPM, Duration, MessageSize, Rate, Ratio


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
