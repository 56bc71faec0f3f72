"""The RoCEv2 transport of a plan: queue pairs, loss recovery, priorities, rate control."""

from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import (
    DcqcnRateControl,
    PrioritySpec,
    SwiftRateControl,
    TimelyRateControl,
    TransportSpec,
)
from fabricbench.plan._run_spec import RateControl as RateControlSpec
from fabricbench.plan.fabric.presets import DCQCN
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import AnySize, Duration, MessageSize, Priority, Rate, Ratio
from fabricbench.units import parse_size

WINDOW_PACKETS_MAX: Final = 1 << 23
"""Half of the 24-bit PSN space: more in flight could not be told from duplicates (IBTA 1.7, 9.7.2)."""
_ONE: Final = 1 << 20
"""One, of the gain of DCQCN and of the windows of Swift."""
_PPM: Final = 10**6
_HOPS_OF_BASE: Final = Fraction(655, 100)
_OF_PRESET: Final = "Default: the preset's."


class Priorities(PlanModel):
    """Priority of each kind of packet (IEEE 802.1Q), 0 to 7."""

    data: Priority = Field(
        default=3, description="Payload [0 to 7]. Source: the usual lossless priority of RoCEv2."
    )
    ack: Priority = Field(
        default=6,
        description=(
            "ACK and NAK [0 to 7]. Source: that of CNPs; acknowledgements that wait behind data would slow "
            "the data down."
        ),
    )
    cnp: Priority = Field(
        default=6, description="CNP [0 to 7]. Source: the default of NICs, DSCP 48, which is class 6."
    )

    def run_spec(self) -> PrioritySpec:
        """Write the priorities out for the engine."""
        return {"data": self.data, "ack": self.ack, "cnp": self.cnp}


class Dcqcn(PlanModel):
    """DCQCN (Zhu et al., SIGCOMM 2015). The presets stand in docs/plan.md."""

    preset: Literal["nvidia", "paper", "hpcc"] = Field(
        default="nvidia",
        description=(
            "Where the parameters come from that are not given here. Source: what is deployed most: the "
            "defaults of ConnectX adapters."
        ),
    )
    g: Ratio | None = Field(default=None, description=f"Gain of alpha [ratio], at most 1. {_OF_PRESET}")
    alpha_timer_ps: Duration | None = Field(
        default=None,
        alias="alpha_timer",
        description=f"Alpha decays after this long without a CNP [time]. {_OF_PRESET}",
    )
    rate_cut_period_ps: Duration | None = Field(
        default=None,
        alias="rate_cut_period",
        description=f"At most one rate cut in this time [time]. {_OF_PRESET}",
    )
    increase_timer_ps: Duration | None = Field(
        default=None, alias="increase_timer", description=f"Rate increase timer [time]. {_OF_PRESET}"
    )
    byte_counter_bytes: Annotated[AnySize | None, Named({"off": 0}, parse_size)] = Field(
        default=None,
        alias="byte_counter",
        description=f"Rate increase byte counter [size], or `off`. {_OF_PRESET}",
    )
    fast_recovery_rounds: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description=f"Rounds of fast recovery F. {_OF_PRESET}"
    )
    additive_increase_bps: Rate | None = Field(
        default=None,
        alias="additive_increase",
        description=f"R_AI [bit/s]. {_OF_PRESET[:-1]}, scaled to the host's port where it says so.",
    )
    hyper_increase_bps: Rate | None = Field(
        default=None,
        alias="hyper_increase",
        description="R_HAI [bit/s]. Default: as for `additive_increase`.",
    )
    rate_min_bps: Rate | None = Field(
        default=None, alias="rate_min", description=f"Smallest rate [bit/s]. {_OF_PRESET}"
    )
    clamp_target_rate: bool | None = Field(
        default=None,
        description=(
            "Every rate cut lowers the target rate to the current one (802.1Qau and adapters: "
            f"clamp_tgt_rate); `false`: only a cut that follows an increase does. {_OF_PRESET}"
        ),
    )
    cnp_interval_ps: Duration | None = Field(
        default=None,
        alias="cnp_interval",
        description=f"A receiver sends at most one CNP for each queue pair in this time [time]. {_OF_PRESET}",
    )

    def run_spec(self, port_bps: int) -> DcqcnRateControl:
        """Write DCQCN out for the engine, for hosts with ports of `port_bps`."""
        preset = DCQCN[self.preset]
        scale = Fraction(port_bps, preset.reference_rate_bps or port_bps)
        chosen = asdict(preset)
        for name in ("additive_increase_bps", "hyper_increase_bps"):
            chosen[name] = round(chosen[name] * scale)
        chosen |= {name: value for name in chosen if (value := getattr(self, name, None)) is not None}
        return {
            "kind": "dcqcn",
            "g_2e20": max(1, round(chosen["g"] * _ONE)),
            "alpha_timer_ps": chosen["alpha_timer_ps"],
            "rate_cut_period_ps": chosen["rate_cut_period_ps"],
            "increase_timer_ps": chosen["increase_timer_ps"],
            "byte_counter_bytes": chosen["byte_counter_bytes"],
            "fast_recovery_rounds": chosen["fast_recovery_rounds"],
            "additive_increase_bps": chosen["additive_increase_bps"],
            "hyper_increase_bps": chosen["hyper_increase_bps"],
            "rate_min_bps": chosen["rate_min_bps"],
            "clamp_target_rate": chosen["clamp_target_rate"],
            "cnp_interval_ps": chosen["cnp_interval_ps"],
        }


class Swift(PlanModel):
    """Swift (Kumar et al., SIGCOMM 2020): a window that keeps the round-trip time at a target."""

    base_target_ps: Duration = Field(
        default="20us",
        alias="base_target",
        validate_default=True,
        description=(
            "Target of the round-trip time, without the parts for hops and small windows [time]. Source: the "
            "htsim simulator (Handley et al.), whose author calls it to be confirmed: it belongs to a fabric."
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
            "What flow scaling adds to the target at the most, at small windows [time]. Default: five times "
            "the base. Source: htsim."
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
            "Smallest window [packets]: below one, a packet every so many round trips. Source: an estimate: "
            "an incast of a hundred hosts at the smallest windows fills a link."
        ),
    )
    window_max: Ratio = Field(
        default="1024",
        validate_default=True,
        description=(
            "Largest window, with which a queue pair begins [packets]. Source: an estimate: 4 MB at an MTU "
            "of 4096, twice what 400 Gb/s takes in 40 us, so that a lone flow is not held back."
        ),
    )
    reset_timeouts: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5,
        description="Timeouts in a row that lead to the smallest window. Source: htsim.",
    )

    def run_spec(self) -> SwiftRateControl:
        """Write Swift out for the engine."""
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
            "beta_ppm": round(self.beta * _PPM),
            "decrease_max_ppm": round(self.decrease_max * _PPM),
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
            "The rate is looked at each time that so much has been acknowledged [size]. Source: the paper, "
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
        """Write TIMELY out for the engine, for hosts with ports of `port_bps`."""
        increase_bps = self.additive_increase_bps
        return {
            "kind": "timely",
            "alpha_ppm": round(self.alpha * _PPM),
            "beta_ppm": round(self.beta * _PPM),
            "rtt_low_ps": self.rtt_low_ps,
            "rtt_high_ps": self.rtt_high_ps,
            "rtt_min_ps": self.rtt_min_ps,
            "additive_increase_bps": max(1, port_bps // 1000) if increase_bps is None else increase_bps,
            "segment_bytes": self.segment_bytes,
            "rate_min_bps": self.rate_min_bps,
        }


class RateControl(PlanModel):
    """How the requester paces itself, if not by the port alone: one of these."""

    dcqcn: Dcqcn | None = Field(default=None, description="DCQCN: by the CNPs that ECN marks bring about.")
    swift: Swift | None = Field(default=None, description="Swift: by a target of the round-trip time.")
    timely: Timely | None = Field(default=None, description="TIMELY: by the gradient of the round-trip time.")

    @property
    def kinds(self) -> list[str]:
        """Names of those that are given: one, in a plan that was checked."""
        return [name for name in ("dcqcn", "swift", "timely") if getattr(self, name) is not None]

    def run_spec(self, port_bps: int) -> RateControlSpec:
        """Write the control out for the engine, for hosts with ports of `port_bps`."""
        if self.swift is not None:
            return self.swift.run_spec()
        if self.timely is not None:
            return self.timely.run_spec(port_bps)
        return (self.dcqcn or Dcqcn()).run_spec(port_bps)


class Transport(PlanModel):
    """The RoCEv2 reliable connections of every host."""

    mtu_bytes: Literal[256, 512, 1024, 2048, 4096] = Field(
        default=4096,
        alias="mtu",
        description=(
            "RoCE MTU: the payload of a full packet [bytes]. Source: the largest there is, as"
            " jumbo frames allow it."
        ),
    )
    message_bytes: MessageSize = Field(
        default="128KB",
        alias="message_size",
        validate_default=True,
        description=(
            "Size of one RDMA message [size]; a data chunk is cut into messages. At most 2 GB"
            " (IBTA 1.7, 9.7.1.1). Source: the message size of the published tables."
        ),
    )
    qp_mode: Literal["per_chunk", "per_pair"] = Field(
        default="per_chunk",
        description=(
            "Which transfers share a queue pair. `per_chunk`: each data chunk has its own "
            "queue pair and UDP source port. `per_pair`: one for each ordered rank pair and "
            "channel, reused. Source: traffic generators take one per chunk; communication "
            "libraries one per pair."
        ),
    )
    qps_per_rank_pair: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Queue pairs over which each data chunk is split evenly. Source: the published tables.",
    )
    ack_every: int = Field(
        default=2,
        ge=1,
        description=(
            "The responder acknowledges at least every so many packets, and at the end of a "
            "message [packets]; at most `window`. Source: of whole numbers 2 fits the "
            "published all-to-all table best: its 98.72 % of ideal leave 54 bytes of reverse "
            "traffic for each data packet, and an acknowledgement takes 86."
        ),
    )
    window_packets: int = Field(
        default=WINDOW_PACKETS_MAX,
        alias="window",
        ge=1,
        le=WINDOW_PACKETS_MAX,
        description=(
            "At most this many packets unacknowledged on a queue pair [packets]. Source: the "
            "limit that the 24-bit PSN sets (IBTA 1.7, 9.7.2)."
        ),
    )
    recovery: Literal["go_back_n", "selective", "none"] = Field(
        default="go_back_n",
        description=(
            "What the requester does about loss. `go_back_n`: resend everything from the "
            "first missing packet. `selective`: take packets in any order and resend only what is missing. "
            "`none`: never resend. Source: the default of RoCE NICs."
        ),
    )
    ooo_window_packets: int = Field(
        default=512,
        alias="ooo_window",
        ge=1,
        le=WINDOW_PACKETS_MAX,
        description=(
            "Selective recovery: packets this far beyond the first missing one are refused [packets]. "
            "Source: an estimate: 2 MB at an MTU of 4096, what a port of 400 Gb/s takes in 42 us, the most "
            "that paths may differ."
        ),
    )
    priorities: Priorities = Field(default_factory=Priorities, description="Priority of each kind of packet.")
    timeout_ps: Duration = Field(
        default="67.108864ms",
        alias="timeout",
        validate_default=True,
        description=(
            "Time without progress after which the requester resends [time]. Source: 4.096 us"
            " * 2^14 (IBTA 1.7, 9.7.6.1.3), the usual local ACK timeout 14."
        ),
    )
    retry_count: int = Field(
        default=7,
        ge=0,
        le=7,
        description=(
            "Timeouts in a row before the queue pair fails. Source: the largest value of the 3-bit field."
        ),
    )
    rate_control: Annotated[
        RateControl | None,
        Named({"line-rate": None, "dcqcn": {"dcqcn": {}}, "swift": {"swift": {}}, "timely": {"timely": {}}}),
    ] = Field(
        default=None,
        description=(
            "How the requester paces itself. `line-rate`: as fast as the port takes it. `dcqcn`: by the CNPs "
            "that ECN marks bring about. `swift`, `timely`: by round-trip times. "
            "Source: the published completion times were taken without congestion control."
        ),
        json_schema_extra={"default": "line-rate"},
    )

    @property
    def has_cnps(self) -> bool:
        """Whether receivers answer marked packets with CNPs."""
        return self.rate_control is not None and self.rate_control.dcqcn is not None

    def run_spec(self, port_bps: int) -> TransportSpec:
        """Write the transport out for the engine, for hosts with ports of `port_bps`."""
        rate_control: RateControlSpec = {"kind": "line-rate"}
        if self.rate_control:
            rate_control = self.rate_control.run_spec(port_bps)
        return {
            "mtu_bytes": self.mtu_bytes,
            "message_bytes": self.message_bytes,
            "qp_mode": self.qp_mode,
            "qps_per_rank_pair": self.qps_per_rank_pair,
            "ack_every": self.ack_every,
            "window_packets": self.window_packets,
            "recovery": self.recovery,
            "ooo_window_packets": self.ooo_window_packets,
            "priorities": self.priorities.run_spec(),
            "timeout_ps": self.timeout_ps,
            "retry_count": self.retry_count,
            "rate_control": rate_control,
        }
