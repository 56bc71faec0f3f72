"""Checks whether bandwidths of nccl-tests follow from the rest of a table, and finds collectives that fit.

`KINDS` has each benchmark as `Kind` with its factors (`factor_of`, `bandwidths`); `Print` and `Lead` are the
numbers of a row, `Evidence` those of a table, `Fit` a collective with its ranks, and `fits` returns all that
fit, `options_of` their options. `named_in` and `plain_name` read names of benchmarks. `algbw` is size over
time and `busbw` is algbw times a factor of the collective and its ranks (nccl-tests, doc/PERFORMANCE.md and
`GetBw` in src/*.cu). `count` is that of one rank where each has a share of the size. In-place values are not
checked for benchmarks without an in-place form (`reportErrors` in src/alltoall.cu and src/sendrecv.cu).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from fabricbench.measured.file_text.intervals import Interval

Factor = Literal["2(n-1)/n", "(n-1)/n", "1"]
RANKS_MAX = 1 << 24
_EXPONENT_US = 1e6
"""Time [us] below which no exponent is printed, so that a time has all its digits."""
_COARSE = 0.01
"""Width of a time of two digits or fewer as a fraction of it, at the least."""
_TYPE_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16", "float16"), 2),
    **dict.fromkeys(("int32", "uint32", "int", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}


@dataclass(frozen=True)
class Kind:
    """A benchmark of nccl-tests.

    Attributes:
        name: Its name without `_perf`.
        factor: Ratio of busbw to algbw, for n ranks.
        has_shares: Whether each rank has a share of the size; `count` is one share.
        reduces: Whether `redop` names an operation.
        has_root: Whether `root` is a rank.
        has_in_place: Whether values of the in-place operation are checked.
        algorithm_factor: Ratio of algbw to size over time.
    """

    name: str
    factor: Factor
    has_shares: bool = False
    reduces: bool = False
    has_root: bool = False
    has_in_place: bool = True
    algorithm_factor: Factor = "1"

    @property
    def program(self) -> str:
        """Name of the program."""
        return f"{self.name}_perf"

    def shares(self, ranks: int) -> int:
        """Return the ratio of the size to the bytes of `count` elements."""
        return ranks if self.has_shares else 1


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("all_reduce", "2(n-1)/n", reduces=True),
        Kind("all_gather", "(n-1)/n", has_shares=True),
        Kind("reduce_scatter", "(n-1)/n", has_shares=True, reduces=True),
        Kind("alltoall", "(n-1)/n", has_shares=True, has_in_place=False),
        Kind("gather", "(n-1)/n", has_shares=True, has_root=True),
        Kind("scatter", "(n-1)/n", has_shares=True, has_root=True),
        Kind("broadcast", "1", has_root=True),
        Kind("reduce", "1", reduces=True, has_root=True),
        Kind("sendrecv", "1", has_in_place=False),
        # Its algbw leaves out a rank's own part already (src/hypercube.cu).
        Kind("hypercube", "(n-1)/n", has_shares=True, algorithm_factor="(n-1)/n"),
    )
}
"""Benchmarks with known formulas, by their names without `_perf`."""
_OLD: Mapping[str, Kind] = {
    name: replace(KINDS[name], algorithm_factor="(n-1)/n") for name in ("all_gather", "reduce_scatter")
}
"""As nccl-tests printed them until 2020, without a column for the root: algbw left out a rank's own part
(`GetBw` in src/all_gather.cu and src/reduce_scatter.cu of then)."""
_UNUSUAL = ("hypercube",)
"""Benchmarks that are proposed only if no other fits."""


def factor_of(factor: Factor, ranks: int) -> float:
    """Return the value of a factor."""
    part = (ranks - 1) / ranks
    return {"2(n-1)/n": 2 * part, "(n-1)/n": part, "1": 1.0}[factor]


def bandwidths(kind: Kind, ranks: int, size_bytes: int, time_us: float) -> tuple[float, float]:
    """Return size over time, and the bus bandwidth, of a result that took longer than 0 [GB/s]."""
    rate = size_bytes / time_us / 1e3
    return rate, rate * factor_of(kind.factor, ranks)


@dataclass(frozen=True)
class Print:
    """Printed numbers of one result.

    Attributes:
        line: Number of its line.
        placement: `in-place` or `out-of-place`.
        size_bytes: Its size.
        time_us: Its time; none where the column is that of the processor.
        algbw: Algorithm bandwidth [GB/s].
        busbw: Bus bandwidth [GB/s].
        texts: Both as they are printed.
    """

    line: int
    placement: str
    size_bytes: int
    time_us: Interval | None
    algbw: Interval
    busbw: Interval
    texts: tuple[str, str]

    def rate(self, kind: Kind | None, ranks: int) -> Interval:
        """Return the interval of the algorithm bandwidth by size and printed time."""
        if self.time_us is None:
            return Interval(0.0, math.inf)
        scale = factor_of(kind.algorithm_factor, ranks) if kind else 1.0
        size = self.size_bytes / 1e3 * scale
        low = size / self.time_us.high if self.time_us.high else 0.0
        return Interval(low, size / self.time_us.low if self.time_us.low else math.inf)

    def fine_time_us(self, kind: Kind, ranks: int) -> float | None:
        """Return the time computed from algbw if the printed time has two digits or fewer; else none.

        From 1e7 us on, nccl-tests prints `1.3e+07` (`getFloatStr` of src/util.cu); algbw has more digits.
        """
        if self.time_us is None or self.time_us.high < _EXPONENT_US:
            return None
        if self.algbw.low <= 0 or not self.algbw.meets(self.rate(kind, ranks)):
            return None
        if self.time_us.width <= _COARSE or self.algbw.width >= self.time_us.width:
            return None
        rate = self.rate(kind, ranks)
        algbw = min(max((self.algbw.low + self.algbw.high) / 2, rate.low), rate.high)
        return self.size_bytes / 1e3 * factor_of(kind.algorithm_factor, ranks) / algbw

    def has_rate(self, kind: Kind | None, ranks: int) -> bool:
        """Return whether algbw follows from size and time."""
        return self.algbw.meets(self.rate(kind, ranks))

    def has_bus(self, kind: Kind, ranks: int) -> bool:
        """Return whether busbw follows from collective and ranks."""
        return self.busbw.meets(self.bus(kind, ranks))

    def bus(self, kind: Kind, ranks: int) -> Interval:
        """Return the interval of the bus bandwidth by the other printed numbers."""
        rate = self.rate(kind, ranks)
        algbw = self.algbw.within(rate) if self.algbw.meets(rate) else self.algbw
        return algbw.times(factor_of(kind.factor, ranks) / factor_of(kind.algorithm_factor, ranks))


@dataclass(frozen=True)
class Lead:
    """Fields of a row that identify its collective, without bandwidths.

    Attributes:
        line: Number of its line.
        size_bytes: Its size.
        count: Its elements.
        type_name: Their type.
        redop: The operation; none in tables without the column.
        root: The root; none in tables without the column.
        checked: Of out-of-place and in-place, whether values were checked.
    """

    line: int
    size_bytes: int
    count: int
    type_name: str
    redop: str | None
    root: str | None
    checked: tuple[bool, bool]

    @property
    def shares(self) -> float | None:
        """Ratio of the size to the bytes of `count` elements; none for an unknown type."""
        count_bytes = _TYPE_BYTES.get(self.type_name, 0) * self.count
        return self.size_bytes / count_bytes if count_bytes else None

    def may_be(self, kind: Kind) -> bool:
        """Return whether operation and root are possible for a kind."""
        if self.redop not in (None, "", "none") and not kind.reduces and kind.name != "sendrecv":
            return False  # older versions of sendrecv name an operation
        if self.redop in ("", "none") and kind.reduces:
            return False
        if self.root is None and kind.name == "hypercube":
            return False  # the column is older than this benchmark
        return self.root is None or (self.root != "-1") == kind.has_root

    def is_checked_as(self, kind: Kind) -> bool:
        """Return whether in-place values are checked exactly if the kind checks them; true if nothing is."""
        return not self.checked[0] or self.checked[1] == kind.has_in_place


@dataclass(frozen=True)
class Evidence:
    """Printed numbers of a table; its collective and ranks must fit all of them."""

    prints: list[Print]
    leads: list[Lead]

    def misfit(self, kind: Kind, ranks: int) -> Print | None:
        """Return the largest result whose bandwidths do not fit a collective and ranks; none if all fit."""
        misfits = (
            row for row in self.prints if not row.has_rate(kind, ranks) or not row.has_bus(kind, ranks)
        )
        return max(misfits, key=lambda row: row.size_bytes, default=None)

    def lead_against(self, kind: Kind, ranks: int) -> Lead | None:
        """Return the first row whose count does not fit a collective and its ranks; none if all fit."""
        return next(
            (
                lead
                for lead in self.leads
                if lead.shares is not None and abs(lead.shares - kind.shares(ranks)) > 1e-9
            ),
            None,
        )

    def form_of(self, kind: Kind, ranks: int) -> Kind:
        """Return the form of a kind that the table prints: the old one if only that fits."""
        old = _OLD.get(kind.name)
        if old is None or any(lead.root is not None for lead in self.leads):
            return kind
        is_old = self.misfit(kind, ranks) and not self.misfit(old, ranks)
        return old if is_old and not self.lead_against(old, ranks) else kind

    def is_fit(self, kind: Kind, ranks: int) -> bool:
        """Return whether all numbers fit a collective and its ranks."""
        if ranks < 2 or self.misfit(kind, ranks) or self.lead_against(kind, ranks):
            return False
        return all(lead.may_be(kind) for lead in self.leads)

    def ranks_of(self, kind: Kind) -> tuple[int, int] | None:
        """Return the least and the most ranks with which a kind fits; none if no number fits."""
        shares = {lead.shares for lead in self.leads if lead.shares is not None}
        if kind.has_shares and shares:
            (first, *others) = shares
            least = most = round(first)
            if others:
                return None
        elif kind.factor == "1":
            return (2, RANKS_MAX) if self.is_fit(kind, 2) else None
        else:
            least, most = self._ranks_of_factor(kind)
        least, most = max(least, 2), min(most, RANKS_MAX)
        # Both ends are rounded outwards, so one number at each may not fit.
        least += 0 if self.is_fit(kind, least) else 1
        most -= 0 if most <= least or self.is_fit(kind, most) else 1
        return (least, most) if least <= most and self.is_fit(kind, least) else None

    def _ranks_of_factor(self, kind: Kind) -> tuple[int, int]:
        """Return the least and the most ranks whose factor may be busbw over algbw."""
        double = 2 if kind.factor == "2(n-1)/n" else 1
        low, high = 0.0, 1.0
        for row in self.prints:
            rate = row.rate(None, 2)
            algbw = row.algbw.within(rate) if row.algbw.meets(rate) else row.algbw
            if algbw.low > 0:
                low = max(low, row.busbw.low / algbw.high / double)
                high = min(high, row.busbw.high / algbw.low / double)
        # (n - 1) / n = f where n = 1 / (1 - f)
        least = math.floor(1 / (1 - low)) if low < 1 else RANKS_MAX
        most = math.ceil(1 / (1 - high)) if high < 1 - 1 / RANKS_MAX else RANKS_MAX
        return least, most


@dataclass(frozen=True)
class Fit:
    """A collective that fits a table, with the least and the most ranks."""

    kind: Kind
    least: int
    most: int

    @property
    def ranks(self) -> int | None:
        """The ranks, if only one number fits."""
        return self.least if self.least == self.most else None

    def __str__(self) -> str:
        """Return it as options of the command line."""
        counts = f" --ranks {self.least}" if self.ranks else ""
        if not self.ranks and self.most < RANKS_MAX:
            counts = f" --ranks N of {self.least:,} to {self.most:,}"
        return f"--benchmark {self.kind.program}{counts}"


def fits(evidence: Evidence, ranks: int | None = None) -> list[Fit]:
    """Return the collectives that fit a table with the given ranks; if none does, with any number."""
    kinds = [*KINDS.values()]
    if all(lead.root is None for lead in evidence.leads):
        has_operation = any(lead.redop is not None for lead in evidence.leads)
        kinds += [kind for kind in _OLD.values() if kind.reduces == has_operation]
    matches = [Fit(kind, ranks, ranks) for kind in kinds if ranks and evidence.is_fit(kind, ranks)]
    if not matches:
        spans = ((kind, evidence.ranks_of(kind)) for kind in kinds)
        matches = [Fit(kind, *span) for kind, span in spans if span]
    checked = [fit for fit in matches if all(lead.is_checked_as(fit.kind) for lead in evidence.leads)]
    usual = [fit for fit in checked or matches if fit.kind.name not in _UNUSUAL]
    return usual or matches


_NAMES = sorted(
    [(kind.replace("_", ""), kind) for kind in KINDS] + [("a2a", "alltoall"), ("bcast", "broadcast")],
    key=lambda pair: -len(pair[0]),
)


def named_in(file_name: str) -> str:
    """Return the benchmark that a file name contains, without `_perf`; empty if it contains none."""
    plain = re.sub(r"[^a-z0-9]", "", re.split(r"[/\\]", file_name.lower())[-1])
    return next((name for text, name in _NAMES if text in plain), "")


def plain_name(benchmark: str) -> str:
    """Return a benchmark's name without `_perf`, also from the spelling of the collective in a plan."""
    name = benchmark.rsplit("/", 1)[-1].removesuffix("_mpi").removesuffix("_perf")
    squeezed = re.sub(r"[-_ ]", "", name.lower()).replace("sendreceive", "sendrecv")
    return next((kind for kind in KINDS if kind.replace("_", "") == squeezed), name)


def options_of(matches: Iterable[Fit]) -> str:
    """Return the options of collectives that fit, at most four."""
    texts = [str(fit) for fit in matches]
    return " or ".join(texts[:4]) + (" or others" if len(texts) > 4 else "")
