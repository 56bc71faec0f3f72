"""Expected and measured bus bandwidth by data size, as pictures and tables of both show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabricbench.analysis.summary.bandwidth import bus_factor
from fabricbench.results.studies.expected import Range


@dataclass(frozen=True)
class ExpectedPoint:
    """Expected bus bandwidth at a data size.

    Attributes:
        data_size_bytes: The size.
        busbw: Range of the bus bandwidth [GB/s].
        accept_gb_per_s: Least bandwidth to accept; none without a limit.
        ideal_gb_per_s: Bandwidth of adapters and scale-up domain; none if unknown.
        choice: NCCL's algorithm, protocol and channels in words; empty without NCCL.
        bound: The bound in words; empty if unknown.
        gain: Gain of the bandwidth if the bound were lifted, in words; empty if unknown.
    """

    data_size_bytes: int
    busbw: Range
    accept_gb_per_s: float | None = None
    ideal_gb_per_s: float | None = None
    choice: str = ""
    bound: str = ""
    gain: str = ""


@dataclass(frozen=True)
class ExpectedSeries:
    """An expected curve: its name and its points by size."""

    name: str
    points: Sequence[ExpectedPoint]


@dataclass(frozen=True)
class MeasuredSeries:
    """Measured bus bandwidths: their name, and data sizes [bytes] with bandwidths [GB/s]."""

    name: str
    points: Sequence[tuple[int, float]]


def bus_bandwidth_together(jobs: Sequence[tuple[str, int, int]], time_us: float) -> float:
    """Return the bus bandwidth of jobs that are one operation and end together [GB/s].

    Args:
        jobs: Collective, ranks and data size [bytes] of each.
        time_us: Time of the operation.
    """
    moved = sum(size * bus_factor(collective, ranks) for collective, ranks, size in jobs)
    return moved / time_us / 1000
