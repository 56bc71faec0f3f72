"""NICs of a plan: latency, time per message, start of transfers, buffers, impairments; clocks of hosts."""

import re
from fractions import Fraction
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricbench.plan._run_spec import ClockSpec, MessageCostSpec, NicSpec
from fabricbench.plan.fabric.failures import DIRECTION, Direction
from fabricbench.plan.fields.base import PlanModel, shown
from fabricbench.plan.fields.hosts import ImpairedHosts
from fabricbench.plan.fields.quantities import Part, Rate, Size, Time, limits_of
from fabricbench.units import UnitError

_DRIFT = re.compile(r"([+-]?)([0-9]{1,4}(?:\.[0-9]{1,3})?)\s*ppm", re.ASCII)
_ZERO = re.compile(r"[+-]?0{1,4}(?:\.0{1,3})?", re.ASCII)
"""No drift, which needs no unit, as other quantities of 0."""
_DRIFT_PPB_MAX: Final = 1_000_000
_DRIFT_ALLOWED: Final = "a drift such as 20ppm or -3.5ppm, at most 1000ppm, in thousandths"
_RIGHT_PPB: Final = 1_000_000_000
_START_RATE_BPS: Final = 100_000_000_000_000
"""Rate for no limit at the start of a transfer: the largest rate."""


def parse_drift(value: object) -> int:
    """Read a drift, such as "-3.5ppm" [parts per 10^9].

    Raises:
        UnitError: It is something else, or too much.
    """
    if value == 0 and not isinstance(value, bool):
        return 0
    text = value.strip() if isinstance(value, str) else ""
    if _ZERO.fullmatch(text):
        return 0
    match = _DRIFT.fullmatch(text)
    ppb = int(Fraction(match[2]) * 1000) if match else _DRIFT_PPB_MAX + 1
    if match is None or ppb > _DRIFT_PPB_MAX:
        raise UnitError(shown(value), _DRIFT_ALLOWED)
    return -ppb if match[1] == "-" else ppb


def parse_drift_max(value: object) -> int:
    """Read the largest drift there is [parts per 10^9].

    Raises:
        UnitError: It is something else, too much, or below 0.
    """
    ppb = parse_drift(value)
    if ppb < 0:
        raise UnitError(shown(value), "a drift of 0 or more: it is drawn in both directions")
    return ppb


def _drift_schema(sign: str) -> WithJsonSchema:
    number = r"[0-9]{1,4}(\.[0-9]{1,3})?\s*ppm|0{1,4}(\.0{1,3})?"
    pattern = rf"^\s*{sign}({number})\s*$"
    text = {"type": "string", "pattern": pattern, "examples": ["20ppm"]}
    return WithJsonSchema({"anyOf": [text, {"type": "integer", "const": 0}]})


Drift = Annotated[int, BeforeValidator(parse_drift), _drift_schema("[+-]?")]
"""A drift of a clock [parts per 10^9]."""
DriftMax = Annotated[int, BeforeValidator(parse_drift_max), _drift_schema(r"\+?")]
"""The largest drift of clocks [parts per 10^9]."""


class Impairment(PlanModel):
    """A NIC that works at a fraction of its rate."""

    hosts: ImpairedHosts = Field(
        alias="host", description='The host [number], or hosts as `ranks` has them, such as `"0-28:4"`.'
    )
    throughput_ppm: Part = Field(
        alias="throughput", description="What is left of its throughput [%, of line rate]."
    )
    direction: Direction = Field(default="both", description=DIRECTION)


class TransferStart(PlanModel):
    """How a queue pair begins that had nothing in flight."""

    size_bytes: Size = Field(
        alias="size",
        description="So much [size, on the link: frames with preamble and gap] leaves at most at `rate`.",
    )
    rate_bps: Rate = Field(alias="rate", description="That rate [rate].")


class Nic(PlanModel):
    """Every NIC."""

    latency_ps: Time = Field(
        default="400ns",
        alias="latency",
        validate_default=True,
        description=(
            "Latency on each side, sending and receiving [time]. Source: an estimate; adapters are quoted "
            "below 1 us from end to end."
        ),
    )
    message_cost_ps: Time = Field(
        default="0",
        alias="message_cost",
        validate_default=True,
        description=(
            "What a queue pair takes for an RDMA message beside its bytes [time]: the message begins that "
            "long after it was posted at the earliest, and after the one before it began. Source: an ideal "
            "adapter."
        ),
    )
    message_interval_ps: Time = Field(
        default="0",
        alias="message_interval",
        validate_default=True,
        description=(
            "A port begins messages at least that long apart, of whichever queue pairs [time]. Source: an "
            "ideal adapter."
        ),
    )
    transfer_start: TransferStart | None = Field(
        default=None,
        description="How a queue pair begins that had nothing in flight. Default: at its full rate.",
    )
    packets_per_turn: Annotated[int, limits_of("NicSpec.packets_per_turn")] = Field(
        default=1,
        description=(
            "A queue pair at line rate sends so many packets before the next one of its port has its turn "
            "[packets]. Source: an assumption: turns packet by packet; adapters do not publish theirs."
        ),
    )
    drain_rate_bps: Rate | None = Field(
        default=None,
        alias="drain_rate",
        description="How fast the host empties the NIC's receive buffer [bit/s]. Default: line rate.",
    )
    receive_buffer_bytes: Size = Field(
        default="2MB",
        alias="receive_buffer",
        validate_default=True,
        description=(
            "Receive buffer [size], of effect only with a drain rate or an impairment. Source: an estimate; "
            "adapters of 400 Gb/s have a few megabytes."
        ),
    )
    receive_xoff_bytes: Size | None = Field(
        default=None,
        alias="receive_xoff",
        description=(
            "With PFC on the priority of data, the NIC asks for a pause above this level [size]. Default: "
            "half of the buffer."
        ),
    )
    cnp_above_bytes: Size | None = Field(
        default=None,
        alias="cnp_above",
        description=(
            "With `dcqcn` the NIC also answers data by CNPs, without marks, that comes while more than this "
            "is in its receive buffer [size]. Default: marks alone lead to CNPs."
        ),
    )
    pause_response_ps: Time = Field(
        default="0",
        alias="pause_response",
        validate_default=True,
        description=(
            "From a level of the receive buffer to the earliest start of the pause frame, beyond `latency` "
            "[time]. Source: an ideal adapter."
        ),
    )
    pause_reaction_ps: Time | None = Field(
        default=None,
        alias="pause_reaction",
        description=(
            "From the last bit of a pause frame in to its effect [time], `latency` or more. The default "
            "headroom of switches includes it. Default: `latency`. Source: as for `pfc.reaction`."
        ),
    )
    impairments: Annotated[tuple[Impairment, ...], Field(strict=False)] = Field(
        default=(), description="NICs that are slower than they should be."
    )

    def run_spec(self) -> NicSpec:
        """Return the NICs for the engine."""
        spec: NicSpec = self.to_spec(
            NicSpec,
            drain_rate_bps=self.drain_rate_bps,
            receive_xoff_bytes=self.receive_xoff_bytes or self.receive_buffer_bytes // 2,
            impairments=[
                {
                    "host": host,
                    "throughput_ppm": impairment.throughput_ppm,
                    "direction": impairment.direction,
                }
                for impairment in self.impairments
                for host in impairment.hosts
            ],
        )
        # Absent settings are omitted, so that the identity of a trial with ideal adapters does not change.
        if self.has_message_costs:
            spec["messages"] = self._messages()
        if self.cnp_above_bytes is not None:
            spec["cnp_above_bytes"] = self.cnp_above_bytes
        if self.pause_response_ps:
            spec["pause_response_ps"] = self.pause_response_ps
        if self.pause_reaction_ps is not None:
            spec["pause_reaction_ps"] = self.pause_reaction_ps
        if self.packets_per_turn != 1:
            spec["packets_per_turn"] = self.packets_per_turn
        return spec

    @property
    def has_message_costs(self) -> bool:
        """Whether a message has costs in addition to the time of its bytes."""
        return bool(self.message_cost_ps or self.message_interval_ps or self.transfer_start)

    def _messages(self) -> MessageCostSpec:
        start = self.transfer_start
        return {
            "message_cost_ps": self.message_cost_ps,
            "message_interval_ps": self.message_interval_ps,
            "start_bytes": start.size_bytes if start else 0,
            "start_rate_bps": start.rate_bps if start else _START_RATE_BPS,
        }


class HostClock(PlanModel):
    """The clock of one host, in place of a drawn one."""

    host: Annotated[int, Field(ge=0)] = Field(description="The host [number].")
    offset_ps: Time = Field(
        default="0",
        alias="offset",
        validate_default=True,
        description="It begins its jobs so much later [time]. Source: a clock that is right.",
    )
    drift_ppb: Drift = Field(
        default="0ppm",
        alias="drift",
        validate_default=True,
        description="It runs faster by this part, slower if negative [ppm]. Source: a clock that is right.",
    )


class Clocks(PlanModel):
    """Clocks of hosts, of which no two agree: each host's is drawn from a stream of its own, by the seed."""

    offset_ps: Time = Field(
        default="0",
        alias="offset",
        validate_default=True,
        description=(
            "A host begins its jobs later by a time drawn up to this [time, at most 1 s]. Source: jobs begin "
            "when they say."
        ),
    )
    drift_ppb: DriftMax = Field(
        default="0ppm",
        alias="drift",
        validate_default=True,
        description=(
            "The clock of a host is faster or slower by a part drawn up to this [ppm], and with it the rate "
            "at which its NIC and congestion control send and at which it offers traffic. Source: clocks "
            "that are right; IEEE 802.3 allows 100 ppm."
        ),
    )
    jitter_ps: Time = Field(
        default="0",
        alias="jitter",
        validate_default=True,
        description=(
            "Each frame of data leaves its host later than its turn by a time drawn up to this [time, at "
            "most 1 s]; turns stay, so a host that fills its link has none. Source: NICs that keep to "
            "their turns."
        ),
    )
    hosts: Annotated[tuple[HostClock, ...], Field(strict=False)] = Field(
        default=(), description="Hosts with an offset and a drift of their own, for which none is drawn."
    )

    def run_spec(self) -> ClockSpec:
        """Return the clocks for the engine."""
        return {
            "offset_ps_max": self.offset_ps,
            "drift_ppb_max": self.drift_ppb,
            "jitter_ps_max": self.jitter_ps,
            "hosts": [
                {"host": clock.host, "offset_ps": clock.offset_ps, "rate_ppb": _RIGHT_PPB + clock.drift_ppb}
                for clock in self.hosts
            ],
        }
