"""The RoCEv2 transport of a plan: MTU, queue pairs, windows, loss recovery, priorities, rate control."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from fabricbench.plan import engine
from fabricbench.plan._run_spec import (
    LIMITS,
    DscpSpec,
    PrioritySpec,
    RateControl as RateControlSpec,
    TransportSpec,
)
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import DscpValue, Duration, MessageSize, Priority, limits_of
from fabricbench.plan.transport.rate_control import NAMES, RateControl
from fabricbench.units import UnitError

WINDOW_PACKETS_MAX: Final = LIMITS["TransportSpec.window_packets"][1]
"""Half of the 24-bit PSN space: more packets in flight would count as duplicates (IBTA 1.7, 9.7.2)."""

_PORT_MTU_MIN: Final = 320
"""Least Ethernet MTU with room for a RoCE MTU, 256 bytes and 64 of headers [bytes]."""
_PORT_MTU_MAX: Final = LIMITS["TcpSpec.mtu_bytes"][1]
"""Largest Ethernet MTU: that of jumbo frames of usual switches [bytes]."""


def is_port_mtu(mtu: int) -> bool:
    """Whether a number is an Ethernet MTU with room for a RoCE MTU."""
    return _PORT_MTU_MIN <= mtu <= _PORT_MTU_MAX


class Priorities(PlanModel):
    """Priority of each kind of packet (IEEE 802.1Q), 0 to 7."""

    data: Priority = Field(
        default=3, description="Payload [0 to 7]. Source: the usual lossless priority of RoCEv2."
    )
    ack: Priority = Field(
        default=6,
        description="ACK and NAK [0 to 7]. Source: that of CNPs; behind data they would slow the data down.",
    )
    cnp: Priority = Field(
        default=6, description="CNP [0 to 7]. Source: the default of NICs, DSCP 48, which is class 6."
    )

    def run_spec(self) -> PrioritySpec:
        """Return the priorities for the engine."""
        return self.to_spec(PrioritySpec)


class Dscp(PlanModel):
    """Differentiated services code point of each kind of packet (RFC 2474), 0 to 63.

    Captures, port maps and endpoints have them; switches of the model go by `priorities`.
    """

    data: DscpValue = Field(
        default=26,
        description="Payload and requests [0 to 63]. Source: AF31, the usual default of RoCE NICs.",
    )
    ack: DscpValue = Field(
        default=48,
        description=(
            "ACK and NAK [0 to 63]; adapters of hosts send them with that of `data`. Source: CS6, which is "
            "class 6 as that of `priorities.ack`."
        ),
    )
    cnp: DscpValue = Field(default=48, description="CNP [0 to 63]. Source: CS6, the default of NICs.")

    def run_spec(self) -> DscpSpec:
        """Return the code points for the engine."""
        return self.to_spec(DscpSpec)


class Transport(PlanModel):
    """The RoCEv2 connections of every host."""

    port_mtu_bytes: Annotated[int, Field(ge=_PORT_MTU_MIN, le=_PORT_MTU_MAX)] | None = Field(
        default=None,
        alias="port_mtu",
        description=(
            "Ethernet MTU of the ports, as interfaces are configured: the largest IP packet [bytes]. Where "
            "`mtu` is not written, it is the largest RoCE MTU that fits with its headers: 1500 gives 1024, "
            "2200 gives 2048, 4200 and more give 4096. Default: as large as `mtu` needs."
        ),
    )
    mtu_bytes: Literal[256, 512, 1024, 2048, 4096] = Field(
        default=4096,
        alias="mtu",
        description=(
            "RoCE MTU: the payload of a full packet [bytes]. Default: what fits `port_mtu`. Source: the "
            "largest there is, as jumbo frames allow it."
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
    connection: Literal["rc", "uc"] = Field(
        default="rc",
        description=(
            "Type of the queue pairs: reliable connections, or unreliable ones (`uc`), which send a packet "
            "once and acknowledge nothing; a message with a gap is dropped, and its chunk never completes. "
            "Source: NCCL, MPI and storage use RC; `perftest -c UC` measures the other."
        ),
    )
    qp_mode: Literal["per_chunk", "per_pair"] = Field(
        default="per_chunk",
        description=(
            "Each data chunk has its own queue pair and UDP source port (`per_chunk`), or each ordered rank "
            "pair and channel (`per_pair`). Source: traffic generators take one per chunk; communication "
            "libraries one per pair."
        ),
    )
    qps_per_rank_pair: Annotated[int, limits_of("TransportSpec.qps_per_rank_pair")] = Field(
        default=1,
        description="Queue pairs over which each data chunk is split evenly. Source: the published tables.",
    )
    ack_every: int = Field(
        default=2,
        ge=1,
        description=(
            "The responder acknowledges at least every so many packets, and at the end of a message "
            "[packets]; at most `window`. Source: fits the published all-to-all table best (docs/plan.md)."
        ),
    )
    window_packets: Annotated[int, limits_of("TransportSpec.window_packets")] = Field(
        default=WINDOW_PACKETS_MAX,
        alias="window",
        description=(
            "At most this many packets unacknowledged on a queue pair [packets]. Source: the 24-bit PSN "
            "(IBTA 1.7, 9.7.2)."
        ),
    )
    recovery: Literal["go_back_n", "selective", "none"] = Field(
        default="go_back_n",
        description=(
            "After a loss, resend everything from the first missing packet (`go_back_n`), take packets in "
            "any order and resend only what is missing (`selective`), or never resend (`none`). Source: "
            "RoCE NICs."
        ),
    )
    ooo_window_packets: Annotated[int, limits_of("TransportSpec.ooo_window_packets")] = Field(
        default=512,
        alias="ooo_window",
        description=(
            "Selective recovery refuses packets this far beyond the first missing one [packets]. Source: an "
            "estimate: 2 MB at an MTU of 4096, what a port of 400 Gb/s takes in 42 us, the most that paths "
            "may differ."
        ),
    )
    priorities: Priorities = Field(default_factory=Priorities, description="Priority of each kind of packet.")
    dscp: Dscp = Field(
        default_factory=Dscp,
        description="Code point of each kind of packet in captures, port maps and on endpoints.",
    )
    timeout_ps: Duration = Field(
        default="67.108864ms",
        alias="timeout",
        validate_default=True,
        description=(
            "Time without progress until the requester resends [time]. Source: 4.096 us * 2^14 (IBTA 1.7, "
            "9.7.6.1.3), the usual local ACK timeout 14."
        ),
    )
    retry_count: int = Field(
        default=7,
        ge=0,
        le=7,
        description="Timeouts in a row before the queue pair fails. Source: the largest in the 3-bit field.",
    )
    rate_control: Annotated[RateControl | None, Named(NAMES)] = Field(
        default=None,
        description=(
            "How the requester paces itself: as fast as the port takes it, or by one of the rate controls, "
            "named or with its fields. Source: published completion times without congestion control."
        ),
        json_schema_extra={"default": "line-rate"},
    )

    @model_validator(mode="before")
    @classmethod
    def prepared(cls, data: Any) -> Any:
        """Return the transport with the RoCE MTU that fits the port's, where only that is written."""
        if isinstance(data, dict) and "mtu" not in data and type(port_mtu := data.get("port_mtu")) is int:
            return {"mtu": engine.roce_mtu(port_mtu), **data} if is_port_mtu(port_mtu) else data
        return data

    @field_validator(
        *("ack_every", "window_packets", "recovery", "ooo_window_packets", "timeout_ps", "retry_count"),
        mode="before",
    )
    @classmethod
    def acknowledged(cls, value: Any, info: ValidationInfo) -> Any:
        """Return a field of acknowledgements or recovery; on unreliable connections only the default."""
        is_default = value in (cls.model_fields[str(info.field_name)].default, "none")
        if info.data.get("connection") == "uc" and not is_default:
            hint = "leave it out: unreliable connections neither acknowledge nor send again"
            raise UnitError(f"{value} with `connection: uc`", "nothing", hint)
        return value

    @field_validator("rate_control")
    @classmethod
    def controlled(cls, control: RateControl | None, info: ValidationInfo) -> RateControl | None:
        """Return the rate control; on unreliable connections only one without feedback."""
        others = [kind for kind in control.kinds if kind != "fixed"] if control else []
        if info.data.get("connection") == "uc" and others:
            hint = f"`{others[0]}` needs the acknowledgements or CNPs of reliable connections"
            raise UnitError(f"`{others[0]}` with `connection: uc`", "`line-rate` or `fixed`", hint)
        return control

    @property
    def has_cnps(self) -> bool:
        """Whether receivers answer marked packets with CNPs."""
        return self.rate_control is not None and self.rate_control.dcqcn is not None

    def run_spec(self, port_bps: int) -> TransportSpec:
        """Return the transport for the engine, for hosts with ports of `port_bps`."""
        rate_control: RateControlSpec = {"kind": "line-rate"}
        if self.rate_control:
            rate_control = self.rate_control.run_spec(port_bps)
        spec: TransportSpec = self.to_spec(
            TransportSpec,
            priorities=self.priorities.run_spec(),
            rate_control=rate_control,
        )
        if self.connection == "uc":
            spec["connection"], spec["recovery"] = "uc", "none"
        if self.dscp != Dscp():  # omitted otherwise, so that the ids of trials without it do not change
            spec["dscp"] = self.dscp.run_spec()
        return spec
