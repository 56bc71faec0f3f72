"""The RoCEv2 transport of a plan: queue pairs, loss recovery, priorities, rate control."""

from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import DcqcnRateControl, PrioritySpec, TransportSpec
from fabricbench.plan._run_spec import RateControl as RateControlSpec
from fabricbench.plan.base import PlanModel
from fabricbench.plan.fields import AnySize, Duration, MessageSize, Priority, Rate, Ratio
from fabricbench.plan.forms import Named
from fabricbench.plan.presets import DCQCN
from fabricbench.units import parse_size

WINDOW_PACKETS_MAX: Final = 1 << 23
"""Half of the 24-bit PSN space: more in flight could not be told from duplicates (IBTA 1.7, 9.7.2)."""
_G_ONE: Final = 1 << 20
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
            "g_2e20": max(1, round(chosen["g"] * _G_ONE)),
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


class RateControl(PlanModel):
    """How the requester paces itself, if not by the port alone."""

    dcqcn: Dcqcn = Field(description="DCQCN.")


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
    rate_control: Annotated[RateControl | None, Named({"line-rate": None, "dcqcn": {"dcqcn": {}}})] = Field(
        default=None,
        description=(
            "How the requester paces itself. `line-rate`: as fast as the port takes it. `dcqcn`: by the CNPs "
            "that ECN marks bring about. "
            "Source: the published completion times were taken without congestion control."
        ),
        json_schema_extra={"default": "line-rate"},
    )

    def run_spec(self, port_bps: int) -> TransportSpec:
        """Write the transport out for the engine, for hosts with ports of `port_bps`."""
        rate_control: RateControlSpec = {"kind": "line-rate"}
        if self.rate_control:
            rate_control = self.rate_control.dcqcn.run_spec(port_bps)
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
