"""Published sets of parameters, by name: DCQCN at the sender and ECN marking at the switch."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from fabricbench.units import parse_rate, parse_share, parse_time

_KB, _KIB, _MIB = 1000, 1 << 10, 1 << 20


@dataclass(frozen=True)
class DcqcnPreset:
    """Parameters of DCQCN (Zhu et al., SIGCOMM 2015, section 3).

    Attributes:
        source: Where they come from.
        g: Gain of alpha.
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
        reference_rate_bps: R_AI and R_HAI hold for a port of this rate [bit/s] and scale with it; none
            if they hold for every port.
    """

    source: str
    g: Fraction
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


@dataclass(frozen=True)
class EcnPreset:
    """Thresholds of ECN marking.

    Attributes:
        source: Where they come from.
        kmin_bytes: Kmin [bytes].
        kmax_bytes: Kmax [bytes].
        pmax_ppm: Pmax [parts per million].
        reference_rate_bps: Both thresholds hold for a port of this rate [bit/s] and scale with it; none if
            they hold for every port.
    """

    source: str
    kmin_bytes: int
    kmax_bytes: int
    pmax_ppm: int
    reference_rate_bps: int | None = None


DCQCN: Final = {
    "nvidia": DcqcnPreset(
        source="defaults of ConnectX adapters (NVIDIA, DCQCN CC parameters; MLNX_OFED `clamp_tgt_rate` 0)",
        g=Fraction(5, 1024),
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
}
"""DCQCN at the sender."""

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
"""What `ecn: on` takes: the preset that scales with the rate of the port."""
