"""Failures in a plan: faults and repairs of links, switches and NICs at set times of a run."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench import units
from fabricbench.plan._run_spec import (
    BitErrorsFailureSpec,
    FrameLossFailureSpec,
    LinkDownFailureSpec,
    LinkRateFailureSpec,
    LinkUpFailureSpec,
    NicThroughputFailureSpec,
    SwitchDownFailureSpec,
    SwitchUpFailureSpec,
)
from fabricbench.plan.errors import FieldProblem
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.hosts import HOSTS_MAX
from fabricbench.plan.fields.quantities import PPM, BitErrorRate, Duration, LossShare, Part, Rate, Time

LinkName = Annotated[str, Field(min_length=3, max_length=200)]
"""A link by the names of its two nodes in either order."""
_AT = "When, from the start of the run [time]."
_LINK = (
    "The link by its two nodes, such as `leaf0-spine1` or `host3-leaf0`: all cables between them; "
    "`leaf0-spine1:0` is the first of several."
)
_SWITCH = "Name of the switch, such as `spine1`."


Direction = Literal["both", "send", "receive"]
"""Slow direction of a NIC."""
DIRECTION: Final = (
    "What is slow: `send` slows the payload that leaves, `receive` how fast the host takes data out of the "
    "receive buffer, `both` either; the other direction works at line rate. Source: what slows a NIC (its "
    "PCIe link, its clock) mostly slows both."
)

FLAPS_MAX: Final = 1_000
"""Most times that something fails on a schedule."""


class Passing(PlanModel):
    """Something that may end by itself, and come again."""

    at_ps: Time = Field(alias="at", description=_AT)
    for_ps: Duration | None = Field(
        default=None, alias="for", description="It ends after this long [time]. Default: it stays."
    )
    every_ps: Duration | None = Field(
        default=None,
        alias="every",
        description="From one beginning to the next [time], longer than `for`. Default: it comes once.",
    )
    count: Annotated[int, Field(ge=1, le=FLAPS_MAX)] = Field(
        default=1, description="How often it comes, `every` so long [number]."
    )

    def spans(self) -> Iterator[tuple[int, int | None]]:
        """Yield its times of begin and end [ps]; no end if it is permanent."""
        for number in range(self.count):
            begin_ps = self.at_ps + number * (self.every_ps or 0)
            yield begin_ps, None if self.for_ps is None else begin_ps + self.for_ps


class LinkDown(Passing):
    """Frames on the link, and those sent on it from now on, are lost in both directions."""

    kind: Literal["link-down"] = Field(description="Frames on the link and to it are lost, both ways.")
    link: LinkName = Field(description=_LINK)

    def run_specs(self) -> Iterator[LinkDownFailureSpec | LinkUpFailureSpec]:
        """Yield the failure, and its repair, for the engine."""
        for begin_ps, end_ps in self.spans():
            yield {"kind": self.kind, "at_ps": begin_ps, "link": self.link}
            if end_ps is not None:
                yield {"kind": "link-up", "at_ps": end_ps, "link": self.link}


class LinkUp(PlanModel):
    """A link transmits frames again."""

    kind: Literal["link-up"] = Field(description="The link carries frames again.")
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)

    def run_specs(self) -> Iterator[LinkUpFailureSpec]:
        """Yield the repair for the engine."""
        yield {"kind": self.kind, "at_ps": self.at_ps, "link": self.link}


class LinkRate(PlanModel):
    """The link changes its rate; a frame keeps the rate at which it began."""

    kind: Literal["link-rate"] = Field(description="The link changes its rate, from the next frame on.")
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)
    rate_bps: Rate = Field(
        alias="rate",
        description=(
            "Its rate from now on, in both directions [bit/s]; from a hundredth of its own to all of it. "
            "Routes stay as they are."
        ),
    )

    def run_specs(self) -> Iterator[LinkRateFailureSpec]:
        """Yield the change for the engine."""
        yield {"kind": self.kind, "at_ps": self.at_ps, "link": self.link, "rate_bps": self.rate_bps}


class BitErrors(Passing):
    """Bits of frames on the link are wrong now and then; such frames are dropped where they arrive."""

    kind: Literal["bit-errors"] = Field(
        description="Bits on the link are wrong now and then, both ways; such frames are dropped on arrival."
    )
    link: LinkName = Field(description=_LINK)
    errors_1e18: BitErrorRate = Field(
        alias="rate",
        description=(
            "Bit error rate from now on [ratio], such as 1e-12; at most 1e-3. 0 ends errors and losses. "
            "IEEE 802.3 asks for less than 1e-12 (clause 44) or, after error correction, 1e-13 (clause "
            "116)."
        ),
    )

    def run_specs(self) -> Iterator[BitErrorsFailureSpec]:
        """Yield the failure, and its end, for the engine."""
        for begin_ps, end_ps in self.spans():
            yield {"kind": self.kind, "at_ps": begin_ps, "link": self.link, "errors_1e18": self.errors_1e18}
            if end_ps is not None:
                yield {"kind": self.kind, "at_ps": end_ps, "link": self.link, "errors_1e18": 0}


class FrameLoss(Passing):
    """The link loses frames of any size, each by itself."""

    kind: Literal["frame-loss"] = Field(
        description="The link loses frames of any size alike, both ways, as if bits of them were wrong."
    )
    link: LinkName = Field(description=_LINK)
    lost_ppm: LossShare = Field(
        alias="share",
        description="Frames lost from now on [%, of all frames]; at most 50%. 0 ends errors and losses.",
    )

    def run_specs(self) -> Iterator[FrameLossFailureSpec]:
        """Yield the failure, and its end, for the engine."""
        for begin_ps, end_ps in self.spans():
            yield {"kind": self.kind, "at_ps": begin_ps, "link": self.link, "lost_ppm": self.lost_ppm}
            if end_ps is not None:
                yield {"kind": self.kind, "at_ps": end_ps, "link": self.link, "lost_ppm": 0}


class NicThroughput(Passing):
    """A NIC works at a fraction of its rate from now on."""

    kind: Literal["nic-throughput"] = Field(description="The NIC of a host works at a fraction of its rate.")
    host: Annotated[int, Field(ge=0, lt=HOSTS_MAX)] = Field(description="The host [number].")
    throughput_ppm: Part = Field(
        alias="throughput",
        description="What is left of its throughput from now on [%, of line rate]; 100% is all of it.",
    )
    direction: Direction = Field(default="both", description=DIRECTION)

    def run_specs(self) -> Iterator[NicThroughputFailureSpec]:
        """Yield the failure, and its end, for the engine."""
        for begin_ps, end_ps in self.spans():
            yield self._spec(begin_ps, self.throughput_ppm)
            if end_ps is not None:
                yield self._spec(end_ps, PPM)

    def _spec(self, at_ps: int, throughput_ppm: int) -> NicThroughputFailureSpec:
        return {
            "kind": self.kind,
            "at_ps": at_ps,
            "host": self.host,
            "throughput_ppm": throughput_ppm,
            "direction": self.direction,
        }


class SwitchDown(Passing):
    """All links of a switch are down."""

    kind: Literal["switch-down"] = Field(description="All links of a switch are down.")
    switch: str = Field(description=_SWITCH)

    def run_specs(self) -> Iterator[SwitchDownFailureSpec | SwitchUpFailureSpec]:
        """Yield the failure, and its repair, for the engine."""
        for begin_ps, end_ps in self.spans():
            yield {"kind": self.kind, "at_ps": begin_ps, "switch": self.switch}
            if end_ps is not None:
                yield {"kind": "switch-up", "at_ps": end_ps, "switch": self.switch}


class SwitchUp(PlanModel):
    """The links of a switch transmit frames again, except those that are down themselves."""

    kind: Literal["switch-up"] = Field(description="The links of a switch carry frames again.")
    at_ps: Time = Field(alias="at", description=_AT)
    switch: str = Field(description=_SWITCH)

    def run_specs(self) -> Iterator[SwitchUpFailureSpec]:
        """Yield the repair for the engine."""
        yield {"kind": self.kind, "at_ps": self.at_ps, "switch": self.switch}


Failure = Annotated[
    LinkDown | LinkUp | LinkRate | BitErrors | FrameLoss | NicThroughput | SwitchDown | SwitchUp,
    Field(discriminator="kind"),
]
"""Something that fails or is repaired."""


def check_failures(failures: Sequence[Failure]) -> Iterator[FieldProblem]:
    """Yield the problems of the schedule of each failure."""
    for index, failure in enumerate(failures):
        if isinstance(failure, Passing):
            yield from _check_schedule(failure, index)


def _check_schedule(failure: Passing, index: int) -> Iterator[FieldProblem]:
    path = ("fabric", "failures", index)
    if failure.count > 1 and failure.every_ps is None:
        yield FieldProblem((*path, "count"), f"{failure.count} times without `every`", "1, or with `every`")
    if failure.every_ps is None:
        return
    every = units.format_time(failure.every_ps)
    if failure.count == 1:
        yield FieldProblem((*path, "every"), f"{every} for something that comes once", "with `count`")
    if failure.for_ps is None:
        hint = "it must end before it comes again"
        yield FieldProblem((*path, "every"), f"{every} without `for`", "with `for`", hint)
    elif failure.for_ps >= failure.every_ps:
        actual = f"{units.format_time(failure.for_ps)} every {every}"
        yield FieldProblem((*path, "for"), actual, f"less than {every}")
