"""Expected curve of a collective on a cluster: results by data size, and the bound at each size.

Times are those of trials, and on the line through the two nearest trials of the same choice of NCCL. The gain
of a lifted bound is that of the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Protocol

from fabricbench.analysis.summary.bandwidth import bus_factor, busbw_limit, ideal_goodput_gb_per_s
from fabricbench.results.studies.bounds import Bounded
from fabricbench.results.studies.expected import Range
from fabricbench.work import pattern_of

Choice = tuple[str | None, str, int]
"""NCCL's algorithm, none for transfers; protocol; channels."""


class Segment(Protocol):
    """Consecutive data sizes with one choice of NCCL."""

    @property
    def choice(self) -> Choice:
        """The choice."""

    @property
    def sizes(self) -> Sequence[int]:
        """Sizes of the curve [bytes]."""

    @property
    def computed(self) -> Sequence[int]:
        """Sizes of trials [bytes]."""


class LiftedTimes(Protocol):
    """Times of trials before and after a bound is lifted [us], by data size."""

    @property
    def before_us(self) -> Mapping[int, float]:
        """Times before."""

    @property
    def after_us(self) -> Mapping[int, float]:
        """Times after."""


class CollectiveTimes(Protocol):
    """Times of the trials of a collective."""

    @property
    def segments(self) -> Sequence[Segment]:
        """Its segments of sizes."""

    @property
    def run_spec(self) -> Mapping[str, Any]:
        """The RunSpec of one of the trials."""

    @property
    def by_seed(self) -> Sequence[Mapping[int, float]]:
        """Times of each seed by data size [us]."""

    @property
    def lifted(self) -> Mapping[str, LiftedTimes]:
        """Times before and after each bound is lifted, by its name."""


@dataclass(frozen=True)
class Point(Bounded):
    """Expected result at a data size.

    Attributes:
        data_size_bytes: Data size as nccl-tests counts it.
        choice: NCCL's algorithm, protocol and channels.
        is_computed: Whether trials of this size have run; else its times are on a line.
        times_us: Completion time of each seed [us].
        busbw_gb_per_s: Bus bandwidth of each seed.
        ideal_percent: Median bandwidth to that of adapters and scale-up domain; none if unknown [%].
        gains: Gain of the bandwidth by each lifted bound, as a fraction.
    """

    data_size_bytes: int
    choice: Choice
    is_computed: bool
    times_us: Sequence[float]
    busbw_gb_per_s: Sequence[float]
    ideal_percent: float | None
    gains: Mapping[str, float]

    @property
    def busbw(self) -> Range:
        """Range of the bus bandwidth over seeds [GB/s]."""
        return Range.of(self.busbw_gb_per_s)

    @property
    def ideal_gb_per_s(self) -> float | None:
        """Bus bandwidth of adapters and scale-up domain; none if unknown [GB/s]."""
        return None if self.ideal_percent is None else 100 * self.busbw.median / self.ideal_percent


@dataclass(frozen=True)
class Curve:
    """Expected results of a collective.

    Attributes:
        collective: The collective.
        ranks: Number of GPUs.
        points: A point for each data size.
    """

    collective: str
    ranks: int
    points: Sequence[Point]


def curve_of(times: CollectiveTimes) -> Curve:
    """Return the curve of a collective from the times of its trials."""
    job = times.run_spec["jobs"][0]
    points = [point for segment in times.segments for point in _points(segment, times)]
    return Curve(pattern_of(job)["collective"], len(job["hosts"]), points)


def _points(segment: Segment, times: CollectiveTimes) -> Iterator[Point]:
    run_spec = times.run_spec
    job = run_spec["jobs"][0]
    factor = bus_factor(pattern_of(job)["collective"], len(job["hosts"]))
    ideal = busbw_limit(run_spec, _as_chosen(job, segment.choice), ideal_goodput_gb_per_s(run_spec))
    for size in segment.sizes:
        times_us = [_time_at(size, of_seed, segment) for of_seed in times.by_seed]
        busbw = [factor * size / time_us / 1000 for time_us in times_us]
        yield Point(
            size,
            segment.choice,
            size in segment.computed,
            times_us,
            busbw,
            None if ideal is None else 100 * median(busbw) / ideal,
            {
                name: _time_at(size, lift.before_us, segment) / _time_at(size, lift.after_us, segment) - 1
                for name, lift in times.lifted.items()
            },
        )


def _as_chosen(job: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """Return a job with NCCL's algorithm of a segment, on which its ideal depends."""
    algorithm = {None: "peers", "NVLSTree": "nvls-tree"}.get(choice[0], str(choice[0]).lower())
    return {**job, "work": {**job["work"], "pattern": {**pattern_of(job), "algorithm": algorithm}}}


def _time_at(size: int, times_us: Mapping[int, float], segment: Segment) -> float:
    """Return the time of a size: of a trial, or on the line through the two nearest of its segment [us].

    A segment with a single trial has times in proportion to it.
    """
    if size in times_us:
        return times_us[size]
    if len(segment.computed) == 1:
        return times_us[segment.computed[0]] * size / segment.computed[0]
    pairs = list(pairwise(segment.computed))
    low, high = next((pair for pair in pairs if size < pair[1]), pairs[-1])
    return times_us[low] + (times_us[high] - times_us[low]) / (high - low) * (size - low)
