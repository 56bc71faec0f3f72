"""DCQCN at the sender (Zhu et al., SIGCOMM 2015): published sets of parameters, and its fields in a plan."""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import DcqcnRateControl, LineRateRateControl
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.quantities import AnySize, Duration, Rate, Ratio, RatioOrZero
from fabricbench.units import parse_rate, parse_size, parse_time

_KIB, _MIB = 1 << 10, 1 << 20
_ONE_2E20: Final = 1 << 20
_OF_PRESET: Final = "Default: the preset's."


@dataclass(frozen=True)
class DcqcnPreset:
    """Parameters of DCQCN (Zhu et al., SIGCOMM 2015, section 3).

    Attributes:
        source: Where they come from.
        g: Gain of alpha.
        initial_alpha: Alpha of a queue pair before its first CNP.
        alpha_timer_ps: Alpha decays after this long without a CNP [ps].
        rate_cut_period_ps: At most one rate cut in this time [ps].
        increase_timer_ps: Rate increase timer [ps].
        byte_counter_bytes: Rate increase byte counter [bytes]; 0 for none.
        fast_recovery_rounds: Rounds of fast recovery F.
        additive_increase_bps: R_AI [bit/s].
        hyper_increase_bps: R_HAI [bit/s].
        rate_min_bps: Smallest rate [bit/s].
        clamp_target_rate: Every rate cut lowers the target rate, not only one that follows an increase.
        cnp_interval_ps: At most one CNP for each queue pair in this time [ps].
        reference_rate_bps: Port rate of R_AI and R_HAI, which scale with the rate [bit/s]; none if they
            are for every port.
    """

    source: str
    g: Fraction
    initial_alpha: Fraction
    alpha_timer_ps: int
    rate_cut_period_ps: int
    increase_timer_ps: int
    byte_counter_bytes: int
    fast_recovery_rounds: int
    additive_increase_bps: int
    hyper_increase_bps: int
    rate_min_bps: int
    clamp_target_rate: bool
    cnp_interval_ps: int
    reference_rate_bps: int | None = None


DCQCN: Final = {
    "nvidia": DcqcnPreset(
        source="defaults of ConnectX adapters (NVIDIA, DCQCN CC parameters; MLNX_OFED `clamp_tgt_rate` 0)",
        g=Fraction(5, 1024),
        initial_alpha=Fraction(1),
        alpha_timer_ps=parse_time("1us"),
        rate_cut_period_ps=parse_time("4us"),
        increase_timer_ps=parse_time("300us"),
        byte_counter_bytes=32 * _KIB,
        fast_recovery_rounds=1,
        additive_increase_bps=parse_rate("5Mbps"),
        hyper_increase_bps=parse_rate("50Mbps"),
        rate_min_bps=parse_rate("1Mbps"),
        clamp_target_rate=False,
        cnp_interval_ps=parse_time("4us"),
    ),
    "paper": DcqcnPreset(
        source="Zhu et al., SIGCOMM 2015; the smallest rate is that of its authors' simulator",
        g=Fraction(1, 256),
        initial_alpha=Fraction(1),
        alpha_timer_ps=parse_time("55us"),
        rate_cut_period_ps=parse_time("50us"),
        increase_timer_ps=parse_time("55us"),
        byte_counter_bytes=10 * _MIB,
        fast_recovery_rounds=5,
        additive_increase_bps=parse_rate("40Mbps"),
        hyper_increase_bps=parse_rate("400Mbps"),
        rate_min_bps=parse_rate("100Mbps"),
        clamp_target_rate=True,
        cnp_interval_ps=parse_time("50us"),
    ),
    "hpcc": DcqcnPreset(
        source="the simulator of Li et al., HPCC, SIGCOMM 2019",
        g=Fraction(1, 256),
        initial_alpha=Fraction(1),
        alpha_timer_ps=parse_time("1us"),
        rate_cut_period_ps=parse_time("4us"),
        increase_timer_ps=parse_time("300us"),
        byte_counter_bytes=0,
        fast_recovery_rounds=1,
        additive_increase_bps=parse_rate("5Mbps"),
        hyper_increase_bps=parse_rate("50Mbps"),
        rate_min_bps=parse_rate("100Mbps"),
        clamp_target_rate=False,
        cnp_interval_ps=parse_time("4us"),
        reference_rate_bps=parse_rate("25Gbps"),
    ),
    "connectx-5": DcqcnPreset(
        source=(
            "firmware 16.31 and 16.32 of ConnectX-5 as measured (openfabric-systems/simllm, 2026): 283 CNPs "
            "a second for each queue pair, a rise of 0.1 Gb/s per ms, 95 % of the rate 447 ms after a cut, "
            "first cut 30 % or more; `g`, `rate_cut_period` and `rate_min` as `nvidia`; `alpha_timer` as "
            "`paper`, with which such cuts balance such a rise at half of the line rate"
        ),
        g=Fraction(5, 1024),
        initial_alpha=Fraction(1),
        alpha_timer_ps=parse_time("55us"),
        rate_cut_period_ps=parse_time("4us"),
        increase_timer_ps=parse_time("300us"),
        byte_counter_bytes=0,
        fast_recovery_rounds=0,
        additive_increase_bps=parse_rate("30Mbps"),
        hyper_increase_bps=parse_rate("30Mbps"),
        rate_min_bps=parse_rate("1Mbps"),
        clamp_target_rate=True,
        cnp_interval_ps=parse_time("3.54ms"),
    ),
}
"""DCQCN at the sender."""


class Dcqcn(PlanModel):
    """DCQCN (Zhu et al., SIGCOMM 2015). The reference page of plan fields lists the presets."""

    preset: Literal["nvidia", "paper", "hpcc", "connectx-5"] = Field(
        default="nvidia",
        description=(
            "Where parameters that are not given come from. Source: ConnectX adapters, deployed most."
        ),
    )
    reaction: Literal["on", "off"] = Field(
        default="on",
        description=(
            "`on`: a CNP lowers the rate of its queue pair; `off`: senders count CNPs and go on at line "
            "rate. Source: adapters; traffic generators can do the other."
        ),
    )
    g: Ratio | None = Field(default=None, description=f"Gain of alpha [ratio], at most 1. {_OF_PRESET}")
    initial_alpha: RatioOrZero | None = Field(
        default=None,
        description=(
            "Alpha of a queue pair before its first CNP [ratio], at most 1: the first rate cut takes off "
            f"half of it. {_OF_PRESET}"
        ),
    )
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
        default=None,
        description=(
            "Rounds of fast recovery F; with 0 a cut lowers the target rate too, so that the rate rises by "
            f"`additive_increase` only. {_OF_PRESET}"
        ),
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

    @property
    def reacts(self) -> bool:
        """Whether CNPs lower the rate."""
        return self.reaction == "on"

    @property
    def without_effect(self) -> list[str]:
        """Fields of the sender that are set although it does not react."""
        if self.reacts:
            return []
        others = {"preset", "reaction", "cnp_interval_ps"}
        fields = type(self).model_fields.items()
        return [
            field.alias or name
            for name, field in fields
            if name not in others and getattr(self, name) is not None
        ]

    def run_spec(self, port_bps: int) -> DcqcnRateControl | LineRateRateControl:
        """Return DCQCN for the engine, for hosts with ports of `port_bps`."""
        if not self.reacts:
            interval = self.cnp_interval_ps or DCQCN[self.preset].cnp_interval_ps
            return {"kind": "line-rate", "cnp_interval_ps": interval}
        preset = DCQCN[self.preset]
        scale = Fraction(port_bps, preset.reference_rate_bps or port_bps)
        chosen = asdict(preset)
        for name in ("additive_increase_bps", "hyper_increase_bps"):
            chosen[name] = round(chosen[name] * scale)
        chosen |= {name: value for name in chosen if (value := getattr(self, name, None)) is not None}
        spec: DcqcnRateControl = {
            "kind": "dcqcn",
            "g_2e20": max(1, round(chosen["g"] * _ONE_2E20)),
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
        if chosen["initial_alpha"] != 1:
            spec["initial_alpha_2e20"] = round(chosen["initial_alpha"] * _ONE_2E20)
        return spec
