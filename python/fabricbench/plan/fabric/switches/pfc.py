"""Priority flow control in a plan: thresholds, headroom, watchdog."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from fabricbench.plan._run_spec import PfcSpec, RatioSpec, WatchdogSpec, XoffSpec
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import AnySize, Duration, Priorities, Ratio, Size, Time, limits_of
from fabricbench.units import parse_size


def ratio_spec(ratio: Fraction) -> RatioSpec:
    """Return a ratio for the engine."""
    return {"numerator": ratio.numerator, "denominator": ratio.denominator}


class Xoff(PlanModel):
    """Threshold of a pause, or of what a group or queue may hold: one of the two."""

    alpha: Ratio | None = Field(
        default=None,
        description="So many times what is free of the shared buffer, or of the pool [ratio].",
    )
    size_bytes: Size | None = Field(
        default=None,
        alias="bytes",
        description="A fixed number of bytes [size].",
    )

    def run_spec(self) -> XoffSpec:
        """Return the threshold for the engine."""
        if self.alpha is None:
            return {"kind": "static", "bytes": self.size_bytes or 0}
        return {"kind": "dynamic", "alpha": ratio_spec(self.alpha)}


class Watchdog(PlanModel):
    """PFC watchdog of the egress queues of switches.

    A queue that is paused, holds frames and has sent none for the whole detection time is in a storm: its
    pauses are ignored, until none has come in for the restoration time.
    """

    detection_ps: Duration = Field(
        default="200ms",
        alias="detection",
        validate_default=True,
        description=(
            "A queue that is paused and sends nothing for so long is in a storm [time]. Source: SONiC's "
            "`pfcwd`, which takes 100 ms to 5 s."
        ),
    )
    restoration_ps: Duration = Field(
        default="200ms",
        alias="restoration",
        validate_default=True,
        description="Pauses are obeyed again after so long without one [time]. Source: SONiC's `pfcwd`.",
    )
    action: Literal["drop", "forward"] = Field(
        default="drop",
        description=(
            "Frames in the queue and bound for it are dropped (`drop`), or sent as if there were no pause "
            "(`forward`). Source: SONiC's `pfcwd`."
        ),
    )

    def run_spec(self) -> WatchdogSpec:
        """Return the watchdog for the engine."""
        return self.to_spec(WatchdogSpec)


class Pfc(PlanModel):
    """Priority flow control (IEEE 802.1Qbb) on lossless priorities."""

    priorities: Priorities | None = Field(
        default=None,
        description="Lossless priorities [0 to 7]. Default: that of data.",
    )
    xoff: Xoff = Field(
        default_factory=lambda: Xoff.model_validate({"alpha": "1/4"}),
        description=(
            "How much of the shared buffer one (ingress port, priority) may hold before it asks for a "
            "pause: `{alpha: 0.25}` or `{bytes: 100KB}`. Source: SONiC's lossless profiles, 2^-2."
        ),
        json_schema_extra={"default": "{alpha: 0.25}"},
    )
    xon_offset_bytes: AnySize = Field(
        default="16KB",
        alias="xon_offset",
        validate_default=True,
        description=(
            "The pause ends this far below the threshold [size]. Source: an estimate: four full frames, to "
            "keep pauses from flapping."
        ),
    )
    reserved_bytes: AnySize = Field(
        default="9KB",
        alias="reserved",
        validate_default=True,
        description=(
            "Buffer reserved for each (ingress port, lossless priority) [size]. Source: one jumbo frame."
        ),
    )
    headroom_bytes: Annotated[AnySize | None, Named({"auto": None}, parse_size)] = Field(
        default=None,
        alias="headroom",
        description=(
            "Buffer for what still arrives after a pause was requested, for each (ingress port, lossless "
            "priority) [size]. `auto`: 2 x cable delay x rate + 2 x MTU + response time of the peer, in "
            "whole cells of the frames that fill them least. Source: SONiC, with 100 % small packets."
        ),
        json_schema_extra={"default": "auto"},
    )
    quanta: Annotated[int, limits_of("PfcSpec.quanta")] = Field(
        default=65_535,
        description=(
            "Pause time requested [quanta of 512 bit times], renewed after half of it. Source: the largest, "
            "as switches ask for."
        ),
    )
    xon: Literal["on", "off"] = Field(
        default="on",
        description=(
            "How a pause ends: by a pause frame with zero quanta (`on`), or as the time of the last one is "
            "over (`off`), up to `quanta` later. Source: IEEE 802.1Q-2022, 36, has both; switches send XON."
        ),
    )
    response_ps: Time = Field(
        default="0",
        alias="response",
        validate_default=True,
        description=(
            "From the crossing of a threshold, behind the pipeline, to the earliest start of the pause frame "
            "[time]. The default headroom includes it. Source: an ideal switch."
        ),
    )
    reaction_ps: Time | None = Field(
        default=None,
        alias="reaction",
        description=(
            "From the last bit of a pause frame in to its effect [time], `pipeline_latency` or more. The "
            "default headroom of its neighbours includes it. Default: `pipeline_latency`. Source: IEEE "
            "802.3, 31B.3.7 allows 1,158 ns at 400 Gb/s."
        ),
    )
    watchdog: Annotated[Watchdog | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "PFC watchdog of the queues of switches: `off`, `on` (with every default) or a mapping. Source: "
            "SONiC."
        ),
        json_schema_extra={"default": "off"},
    )

    def run_spec(self, data_priority: int) -> PfcSpec:
        """Return PFC for the engine."""
        spec: PfcSpec = self.to_spec(
            PfcSpec,
            priorities=list(self.priorities or (data_priority,)),
            xoff=self.xoff.run_spec(),
            headroom_bytes=self.headroom_bytes,
            watchdog=self.watchdog.run_spec() if self.watchdog else None,
        )
        if self.xon == "off":
            spec["ends_by_time"] = True
        if self.response_ps:
            spec["response_ps"] = self.response_ps
        if self.reaction_ps is not None:
            spec["reaction_ps"] = self.reaction_ps
        return spec


def check_pfc(pfc: Pfc, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that the threshold of a pause has exactly one form."""
    yield from check_xoff(pfc.xoff, (*path, "xoff"))


def check_xoff(xoff: Xoff, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that a threshold has exactly one form."""
    if (xoff.alpha is None) == (xoff.size_bytes is None):
        actual = "neither `alpha` nor `bytes`" if xoff.alpha is None else "both `alpha` and `bytes`"
        yield FieldProblem(path, actual, "one of them")
