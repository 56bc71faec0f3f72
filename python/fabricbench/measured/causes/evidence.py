"""`Suspect`, a possible cause of low bandwidth, and evidence that several rules use.

`reached` is the line with the fraction of the target (the expected bandwidth); `curve` is bandwidth by size
and `fallen` a fall in it; `each_adapter`, `each_adapter_at_most` and `is_near` are for limits of an adapter;
`tool`, `is_mpi` and `measure_larger` are for the benchmark that measured.

The confidence of a `Suspect` is `certain` if a line of the file states it, `likely` if a line and a ratio
support it, `possible` if only a ratio does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from fabricbench.measured.rule_input import RuleInput

_TOOLS: Final = (("osu_", "osu"), ("imb-", "imb"), ("inspector-", "inspector"))
_LARGER: Final[Mapping[str, str]] = {
    "nccl": "`-e 8G`: at the plateau a doubled size takes twice the time",
    "osu": "`-m 67108864`: at the plateau a doubled size takes twice the time",
    "imb": "`-msglog 26`: at the plateau a doubled size takes twice the time",
    "inspector": "larger operations of the application, such as larger buckets of gradients",
    "perftest": "`-s 1048576`, or `-a` for all sizes: from some 64 KiB on the rate decides",
}
FALL_MIN: Final = 1 << 20
"""Size above which a fall of bandwidth is no change of algorithm or protocol [B]."""
UNEVEN: Final = 1.2
"""Ratio of most to least bandwidth of one size above which results differ: 1.2 is a sixth of the most."""
RATE_MIN: Final = 64 << 10
"""Size below which the cost of each message decides, not a rate [B]."""
_FALLEN: Final = 0.8


def tool(case: RuleInput) -> str:
    """Return the tool of the measurement: `nccl`, `osu`, `imb`, `inspector` or `perftest`."""
    if case.is_perftest:
        return "perftest"
    name = case.best.benchmark if case.best else ""
    return next((tool for start, tool in _TOOLS if name.startswith(start)), "nccl")


def is_mpi(case: RuleInput) -> bool:
    """Return whether MPI moved the data."""
    return tool(case) in ("osu", "imb")


def measure_larger(case: RuleInput) -> str:
    """Return the option by which the tool of the measurement measures larger sizes."""
    return _LARGER[tool(case)]


def reached(case: RuleInput) -> list[str]:
    """Return the line with measured bandwidth, target and their ratio; empty if unknown."""
    if case.ratio is None or case.plateau is None or case.target is None:
        return []
    limit = (
        "the model expects" if case.expected else f"{case.adapters} x {case.hardware.rate_gbps:g} Gb/s carry"
    )
    several = case.best is not None and len({point.benchmark for point in case.large}) > 1
    name = f"{case.best.benchmark}: " if several and case.best is not None else ""
    percent = f"{100 * case.ratio:.0f} %"
    return [f"{name}{case.plateau:.4g} GB/s reached, {case.target:.4g} GB/s {limit}: {percent}"]


def each_adapter(case: RuleInput) -> float | None:
    """Return the bandwidth of each adapter in one direction at the judged result [GB/s]."""
    return _of_each(case, case.carried)


def each_adapter_at_most(case: RuleInput) -> float | None:
    """Return the most bandwidth of each adapter of the same hosts [GB/s]: no limit is below it."""
    return _of_each(case, case.hardware_peak)


_NEAR: Final = 0.55
"""Least fraction of a limit that each adapter reaches if the limit explains most of the missing bandwidth."""


def is_near(case: RuleInput, limit: float) -> bool:
    """Return whether the bandwidth of each adapter is so near a limit [GB/s] that this may be the cause."""
    each = each_adapter(case)
    return each is None or each >= _NEAR * limit


def _of_each(case: RuleInput, carried: float | None) -> float | None:
    is_small = case.best is not None and case.best.size_bytes < RATE_MIN
    return carried / case.adapters if carried and case.adapters and case.crosses and not is_small else None


def curve(case: RuleInput) -> list[tuple[int, float]]:
    """Return each size of the judged run with the median bandwidth of its results [GB/s]."""
    sizes: dict[int, list[float]] = {}
    for point in case.of_run:
        sizes.setdefault(point.size_bytes, []).append(point.busbw or 0.0)
    return [(size, median(values)) for size, values in sorted(sizes.items())]


def fallen(case: RuleInput) -> str:
    """Return a line about bandwidth that falls above a size; empty if it does not."""
    values = curve(case)
    if len(values) < 3:
        return ""
    best, last = max(values, key=lambda size_and_rate: size_and_rate[1]), values[-1]
    if last[0] > best[0] >= FALL_MIN and last[1] < _FALLEN * best[1]:
        return f"{best[1]:.4g} GB/s at {best[0]} B, {last[1]:.4g} GB/s at {last[0]} B"
    return ""


CERTAIN, LIKELY, POSSIBLE = 3, 2, 1
CONFIDENCE: Final[Mapping[int, str]] = {CERTAIN: "certain", LIKELY: "likely", POSSIBLE: "possible"}
AS_EXPECTED: Final = "as-expected"


@dataclass(frozen=True)
class Suspect:
    """A possible cause of a measurement.

    Attributes:
        cause: Its name.
        sentence: Description.
        confidence: `CERTAIN`, `LIKELY` or `POSSIBLE`.
        evidence: Lines and numbers that support it.
        test: Test or counter that separates it from other causes.
        explains: Fraction of the missing bandwidth that it explains, 0 to 1; none if unknown.
        is_guess: Whether its only evidence is a ratio; a line of the file may rule it out.
        adds_to: Causes that it adds to: it is shown right after the first of them.
    """

    cause: str
    sentence: str
    confidence: int
    evidence: Sequence[str]
    test: str
    explains: float | None = None
    is_guess: bool = False
    adds_to: Sequence[str] = ()
