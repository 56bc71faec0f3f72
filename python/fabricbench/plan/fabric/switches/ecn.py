"""ECN marking in a plan: thresholds, presets, and dynamic thresholds of ports."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import DynamicEcnSpec, EcnSpec
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fabric.switches.colours import Wred
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import AnySize, Duration, Part, Priorities, Rate, Ratio, Size
from fabricbench.units import parse_rate, parse_share

_KB, _KIB, _MIB = 1000, 1 << 10, 1 << 20
_WHOLE_PPM = 1_000_000


@dataclass(frozen=True)
class EcnPreset:
    """Thresholds of ECN marking.

    Attributes:
        source: Their source.
        kmin_bytes: Kmin [bytes].
        kmax_bytes: Kmax [bytes].
        pmax_ppm: Pmax [parts per million].
        reference_rate_bps: Port rate of both thresholds, which scale with the rate [bit/s]; none if they are
            for every port.
    """

    source: str
    kmin_bytes: int
    kmax_bytes: int
    pmax_ppm: int
    reference_rate_bps: int | None = None


ECN: Final = {
    "alibaba": EcnPreset(
        source="Li et al., HPCC, SIGCOMM 2019; 1 KB is 1000 bytes there",
        kmin_bytes=100 * _KB,
        kmax_bytes=400 * _KB,
        pmax_ppm=parse_share("20%"),
        reference_rate_bps=parse_rate("25Gbps"),
    ),
    "sonic": EcnPreset(
        source="SONiC, lossless profile; 1 KB is 1024 bytes there",
        kmin_bytes=500 * _KIB,
        kmax_bytes=2 * _MIB,
        pmax_ppm=parse_share("5%"),
    ),
}
"""ECN marking at the switch."""
ECN_ON: Final = "alibaba"
"""Preset of `ecn: on`: the one that scales with the rate of the port."""


class DynamicEcn(PlanModel):
    """Dynamic ECN: a port judges each marked queue in every control interval and scales its Kmin and Kmax.

    The law is our own, made of what published controllers look at: queue, use of the link, incast. `docs/adr`
    has it with its reasons.
    """

    interval_ps: Duration = Field(
        default="100us",
        alias="interval",
        validate_default=True,
        description=(
            "Control interval [time], 1us to 1s. Source: our choice: about ten round trips, so that senders "
            "have answered the last change."
        ),
    )
    floor: Ratio = Field(
        default=Fraction(1, 4),
        description=(
            "Least multiple of Kmin and Kmax as configured [ratio], at most 1. Source: our choice; 1/4 of "
            "`alibaba` is 8 us of queue."
        ),
        json_schema_extra={"default": "0.25"},
    )
    ceiling: Ratio = Field(
        default=Fraction(4),
        description=(
            "Largest multiple of Kmin and Kmax as configured [ratio], 1 to 1000. Source: our choice: as far "
            "up as down."
        ),
        json_schema_extra={"default": "4"},
    )
    raise_by_ppm: Part = Field(
        default="25%",
        alias="raise_by",
        validate_default=True,
        description="A step up makes both larger by this part of them [%]. Source: our choice.",
    )
    lower_by_ppm: Part = Field(
        default="20%",
        alias="lower_by",
        validate_default=True,
        description=(
            "A step down makes both smaller by this part of them [%]. Source: our choice: with 20 % a step "
            "down undoes a step up of 25 %."
        ),
    )
    link_use_ppm: Part = Field(
        default="95%",
        alias="link_use",
        validate_default=True,
        description=(
            "Thresholds go up while the link is used for less of the time and frames were marked since the "
            "last change [%]. Source: our choice."
        ),
    )
    queueing_delay_ps: Duration = Field(
        default="20us",
        alias="queueing_delay",
        validate_default=True,
        description=(
            "Thresholds go down while the mean queue takes longer than this at the rate of the port [time]. "
            "Source: the round trip that a vendor's guide expects (Huawei CloudEngine, Configuring Static "
            "ECN)."
        ),
    )
    incast_degree: Annotated[int, Field(ge=1, le=65_535)] = Field(
        default=8,
        description=(
            "Thresholds go down while frames for a queue that marks come in by so many ports, unless the "
            "link is not used enough. Source: our choice."
        ),
    )
    confirm: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=2,
        description=(
            "So many intervals in a row have to agree. Source: our choice: the least beyond a single "
            "interval."
        ),
    )

    def run_spec(self) -> DynamicEcnSpec:
        """Return the control for the engine."""
        return self.to_spec(
            DynamicEcnSpec,
            scale_min_ppm=int(self.floor * _WHOLE_PPM),
            scale_max_ppm=int(self.ceiling * _WHOLE_PPM),
            raise_ppm=self.raise_by_ppm,
            lower_ppm=self.lower_by_ppm,
            confirm_intervals=self.confirm,
        )


class Ecn(PlanModel):
    """ECN marking: probability 0 below Kmin, rising linearly to Pmax at Kmax, 1 above."""

    preset: Literal["alibaba", "sonic"] | None = Field(
        default=None,
        description="Where thresholds that are not given come from; without a preset all three are needed.",
    )
    kmin_bytes: AnySize | None = Field(
        default=None, alias="kmin", description="Kmin [size]. Default: the preset's."
    )
    kmax_bytes: Size | None = Field(
        default=None, alias="kmax", description="Kmax [size], at least Kmin. Default: the preset's."
    )
    pmax_ppm: Part | None = Field(
        default=None, alias="pmax", description="Pmax [%], at most 100 %. Default: the preset's."
    )
    reference_rate_bps: Rate | None = Field(
        default=None,
        alias="reference_rate",
        description=(
            "Kmin and Kmax hold at this port rate and are scaled to others [bit/s]. Default: the preset's; "
            "without one they hold for every port."
        ),
    )
    priorities: Priorities | None = Field(
        default=None, description="Priorities whose frames are marked [0 to 7]. Default: that of data."
    )
    dynamic: Annotated[DynamicEcn | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "Each port moves its thresholds: `off`, `on` (with every default) or a mapping. Source: "
            "switches come with static thresholds."
        ),
        json_schema_extra={"default": "off"},
    )
    wred: Annotated[Wred | None, Named({"off": None, "on": {}})] = Field(
        default=None,
        description=(
            "WRED: frames are dropped early that are not ECN-capable, or whose colour is not to be marked: "
            "`off`, `on` (all colours alike) or a mapping. Source: every frame of RDMA is ECN-capable."
        ),
        json_schema_extra={"default": "off"},
    )

    def run_spec(self, data_priority: int) -> EcnSpec:
        """Return the marking for the engine."""
        kmin, kmax = self.thresholds
        preset = ECN[self.preset] if self.preset else None
        reference = self.reference_rate_bps or (preset.reference_rate_bps if preset else None)
        pmax = self.pmax_ppm or (preset.pmax_ppm if preset else 0)
        spec: EcnSpec = {
            "priorities": list(self.priorities or (data_priority,)),
            "kmin_bytes": kmin,
            "kmax_bytes": kmax,
            "pmax_ppm": pmax,
            "reference_rate_bps": reference,
            "dynamic": self.dynamic.run_spec() if self.dynamic else None,
        }
        if self.wred:
            spec["wred"] = self.wred.run_spec(kmin, kmax, pmax)
        return spec

    @property
    def thresholds(self) -> tuple[int, int]:
        """Kmin and Kmax at the reference rate [bytes]."""
        preset = ECN[self.preset] if self.preset else None
        kmin = preset.kmin_bytes if preset and self.kmin_bytes is None else self.kmin_bytes
        kmax = preset.kmax_bytes if preset and self.kmax_bytes is None else self.kmax_bytes
        return kmin or 0, kmax or 0


def check_ecn(ecn: Ecn, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that the thresholds of ECN are whole, and can move if they are to."""
    missing = _missing(ecn)
    if missing:
        hint = "give it, or a `preset`: alibaba or sonic"
        yield FieldProblem((*path, missing), "nothing", "a value, as there is no preset", hint)
    if ecn.dynamic and ecn.dynamic.floor == ecn.dynamic.ceiling == 1:
        actual = "floor and ceiling of 1, between which nothing can move"
        yield FieldProblem((*path, "dynamic"), actual, "a floor below 1 or a ceiling above it, or `off`")
    if ecn.dynamic and ecn.wred:
        hint = "thresholds that move are those of marking alone"
        yield FieldProblem((*path, "wred"), "WRED with dynamic ECN", "one of them", hint)


def _missing(ecn: Ecn) -> str | None:
    """Return the first threshold that neither the plan nor a preset gives."""
    thresholds = {"kmin": ecn.kmin_bytes, "kmax": ecn.kmax_bytes, "pmax": ecn.pmax_ppm}
    return None if ecn.preset else next((name for name, value in thresholds.items() if value is None), None)
