"""Arranges a run's results over its dimensions: tables of two dimensions, and lines.

A dimension is a swept field, or fields whose values change together, the size of the trials, the variant or
the job.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Generic, TypeVar

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.metrics import BUS_BANDWIDTH, HEADLINES, Metric
from fabricbench.results.axes import axis_names, axis_values, short_names
from fabricbench.results.job_reports import JobReport
from fabricbench.results.sizes import shown_bytes, size_title

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

_SIZE = "size"
_VARIANT = "variant"
_JOB = "job"


@dataclass(frozen=True)
class Dimension:
    """A dimension of a sweep: a swept field, fields that change together, or the size.

    Attributes:
        title: The fields, by their dotted paths, or the kind of size.
        name: Short title, for use before a value.
        values: Its values as text, in the order of the plan.
        is_size: Whether it is only the size of the trials.
        places: The value of each job of the sweep, by its number.
    """

    title: str
    name: str
    values: tuple[str, ...]
    is_size: bool
    places: tuple[str, ...] = field(repr=False)

    @property
    def is_varied(self) -> bool:
        """Whether there are several values."""
        return len(self.values) > 1

    def label(self, value: str) -> str:
        """Return one of its values with its name."""
        return value if self.is_size or self.name in {_VARIANT, _JOB} else f"{self.name} {value}"


@dataclass(frozen=True)
class Point:
    """A point of a line at one value of a dimension.

    Attributes:
        place: The value of the dimension, as text.
        size_bytes: Size of the trials there [bytes].
        value: The metric of lines, the median over the iterations; none if none is complete.
    """

    place: str
    size_bytes: int
    value: float | None


@dataclass(frozen=True)
class Grid(Generic[T]):
    """Results over two dimensions.

    Attributes:
        about: The values of all other dimensions, as text; empty if there are none.
        rows: The dimension from top to bottom.
        columns: The dimension from left to right.
        values: The result by the values of both, where there are trials.
    """

    about: str
    rows: Dimension
    columns: Dimension
    values: Mapping[tuple[str, str], T]


MetricGrid = Grid[float | None]
"""A metric of a job over two dimensions."""
JobGrid = Grid[Sequence[JobReport]]
"""Jobs of a run over two dimensions, one for each iteration."""


@dataclass(frozen=True)
class Panel:
    """A metric of a job over one dimension, with a line for each value of another.

    Attributes:
        about: The values of all other dimensions, as text; empty if there are none.
        lines: The points of each line by its label.
    """

    about: str
    lines: Mapping[str, Sequence[Point]]


class Sweep:
    """One job of one run, or all its jobs, at every combination of swept values, size, variant, iteration."""

    def __init__(self, jobs: Sequence[JobReport]) -> None:
        """Create the sweep from reports, at least one; those of several jobs for `dimensions` and `maps`."""
        self.jobs = sorted(jobs, key=lambda job: job.trial.facts.position)

    @property
    def job(self) -> str:
        """Name of the job."""
        return self.jobs[0].summary.job

    @property
    def name(self) -> str:
        """Name of the job with its collective and algorithm, such as `train: all-reduce, ring`."""
        summary = self.jobs[0].summary
        work = ", ".join(part for part in (summary.collective, summary.algorithm) if part)
        return f"{summary.job}: {work}" if work and work != summary.job else summary.job

    @property
    def metric(self) -> Metric:
        """The metric of tables: the headline metric of jobs of its kind."""
        return HEADLINES[self.jobs[0].summary.kind]

    @cached_property
    def line_metric(self) -> Metric:
        """The metric of lines: the bandwidth of jobs that have one, as times differ most by size."""
        values = (job.summary.value(BUS_BANDWIDTH.name) for job in self.jobs)
        return BUS_BANDWIDTH if any(value is not None for value in values) else self.metric

    @cached_property
    def fields(self) -> list[Dimension]:
        """The swept fields that have several values."""
        return [dimension for dimension in self._dimensions if dimension.is_varied and not dimension.is_size]

    @cached_property
    def size(self) -> Dimension | None:
        """The sizes, if there are several that change on their own."""
        return next(
            (dimension for dimension in self._dimensions if dimension.is_varied and dimension.is_size), None
        )

    @cached_property
    def variants(self) -> Dimension:
        """The variants of the plan, as a dimension."""
        return self._dimension(_VARIANT, [job.trial.facts.variant for job in self.jobs])

    @cached_property
    def names(self) -> Dimension:
        """The jobs, as a dimension."""
        return self._dimension(_JOB, [job.summary.job for job in self.jobs])

    @property
    def dimensions(self) -> list[Dimension]:
        """Everything that differs between the results: swept fields, jobs, variants, sizes."""
        others = [dimension for dimension in (self.names, self.variants) if dimension.is_varied]
        return [*self.fields, *others, *([self.size] if self.size else [])]

    @property
    def _along(self) -> list[Dimension]:
        """The dimensions of tables and lines: the swept fields, then the sizes; without both the variants."""
        along = [*self.fields, *([self.size] if self.size else [])]
        return along or ([self.variants] if self.variants.is_varied else [])

    @property
    def across(self) -> Dimension:
        """The horizontal axis of lines: sizes if there are several, or else the last field, or variants."""
        return self._along[-1]

    def grids(self) -> list[MetricGrid]:
        """Return a table for each combination of values of the dimensions after the first two.

        Empty with a single dimension.
        """
        dimensions = self._along
        if not self.fields or len(dimensions) < 2:
            return []
        rows, columns, *others = dimensions
        return [
            self._grid(about, (rows, columns), numbers, lambda own: self._value(own, self.metric))
            for about, numbers in self._parts([*others, self.variants])
        ]

    def maps(self) -> list[JobGrid]:
        """Return the jobs over the first two dimensions, a map for each combination of the other values."""
        if len(self.dimensions) < 2:
            return []
        rows, columns, *others = self.dimensions
        return [
            self._grid(about, (rows, columns), numbers, lambda own: [self.jobs[number] for number in own])
            for about, numbers in self._parts(others)
        ]

    def panels(self) -> list[Panel]:
        """Return the lines of each panel; empty if nothing but iterations differs."""
        if not self._along:
            return []
        others = self._along[:-1]
        if self.across is self.variants:
            others = [self.names]
        elif self.variants.is_varied or not others:
            others.append(self.variants)
        *separate, lines = others
        return [
            Panel(about, {lines.label(name): self._points(own) for name, own in self._split(lines, numbers)})
            for about, numbers in self._parts(separate)
        ]

    @cached_property
    def _dimensions(self) -> list[Dimension]:
        """Every field and the size, with those that change together merged."""
        trials = [job.trial for job in self.jobs]
        names = axis_names(trials)
        short = short_names(names)
        columns = zip(*(axis_values(trial, names) for trial in trials), strict=True)
        dimensions = [
            self._dimension(name, list(values), short[name])
            for name, values in zip(names, columns, strict=True)
        ]
        dimensions.append(self._dimension(size_title(trials), [job.size for job in self.jobs], _SIZE))
        merged: list[Dimension] = []
        for dimension in dimensions:
            other = next((earlier for earlier in merged if _change_together(earlier, dimension)), None)
            if other is None:
                merged.append(dimension)
            else:
                merged[merged.index(other)] = self._joined(other, dimension)
        return merged

    def _dimension(self, title: str, places: Sequence[str], name: str = "") -> Dimension:
        is_size = name == _SIZE
        return Dimension(title, name or title, tuple(dict.fromkeys(places)), is_size, tuple(places))

    def _joined(self, one: Dimension, other: Dimension) -> Dimension:
        values = [f"{first} / {second}" for first, second in zip(one.places, other.places, strict=True)]
        name = one.name if other.is_size else f"{one.name} / {other.name}"
        return self._dimension(f"{one.title} / {other.title}", values, name)

    def _parts(self, dimensions: Sequence[Dimension]) -> list[tuple[str, list[int]]]:
        """Return the description of each combination of values, and the numbers of its jobs."""
        numbers_of = _grouped(
            range(len(self.jobs)), lambda number: tuple(dimension.places[number] for dimension in dimensions)
        )
        parts = []
        for values, numbers in numbers_of.items():
            values_by_dimension = zip(dimensions, values, strict=True)
            about = ", ".join(
                dimension.label(value) for dimension, value in values_by_dimension if dimension.is_varied
            )
            parts.append((about, numbers))
        return parts

    def _split(self, dimension: Dimension, numbers: Sequence[int]) -> list[tuple[str, list[int]]]:
        """Return the numbers of the jobs that have each value of a dimension."""
        return list(_grouped(numbers, lambda number: dimension.places[number]).items())

    def _grid(
        self,
        about: str,
        dimensions: tuple[Dimension, Dimension],
        numbers: Sequence[int],
        result: Callable[[Sequence[int]], T],
    ) -> Grid[T]:
        """Return the result of the jobs at each pair of values."""
        rows, columns = dimensions
        cells = _grouped(numbers, lambda number: (rows.places[number], columns.places[number]))
        return Grid(about, rows, columns, {values: result(own) for values, own in cells.items()})

    def _points(self, numbers: Sequence[int]) -> list[Point]:
        points = []
        for value, own in self._split(self.across, numbers):
            first = self.jobs[own[0]]
            size_bytes = shown_bytes(first.trial, first.summary)
            points.append(Point(value, size_bytes, self._value(own, self.line_metric)))
        return points

    def _value(self, numbers: Sequence[int], metric: Metric) -> float | None:
        values = [self.jobs[number].summary.value(metric.name) for number in numbers]
        measured = [value for value in values if value is not None]
        return median(measured) if measured else None


def _change_together(one: Dimension, other: Dimension) -> bool:
    """Return whether the value of one dimension determines that of the other, as with zipped fields."""
    pairs = set(zip(one.places, other.places, strict=True))
    return one.is_varied and other.is_varied and len(pairs) <= max(len(one.values), len(other.values))


def sweeps(jobs: Sequence[JobReport]) -> list[Sweep]:
    """Return the sweep of each job of each run; plans that sweep no field are left out."""
    return job_sweeps([job for job in jobs if job.trial.facts.axes])


def job_sweeps(jobs: Sequence[JobReport]) -> list[Sweep]:
    """Return the sweep of each job of each run, whatever differs between its trials."""
    shared = (job for job in jobs if not is_solo(job.trial.facts.variant))
    return [
        Sweep(own) for own in _grouped(shared, lambda job: (job.trial.facts.suite, job.sized_job)).values()
    ]


def _grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items that have each key, in their order."""
    items_by_key: dict[K, list[T]] = {}
    for item in items:
        items_by_key.setdefault(key(item), []).append(item)
    return items_by_key
