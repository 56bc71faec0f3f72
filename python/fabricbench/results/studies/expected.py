"""Computes the results to expect of a plan: ranges of metrics over seeds and placements, acceptance limits.

Also finds the factors that decide the time, and compares a fast model with the packet simulator.

Ranges are those of the trials themselves, and limits are their order statistics: of N trials and one more,
all drawn from the same distribution, each is equally likely to be the smallest. So the new one is below the
k-th smallest of the N with a probability of at most k / (N + 1), whatever the distribution.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Protocol

from fabricbench.analysis.summary.bandwidth import bus_factor
from fabricbench.metrics import BUS_BANDWIDTH, BY_NAME, IDEAL_SHARE, Direction
from fabricbench.results.job_reports import JobReport, reports_of_run
from fabricbench.results.studies.bounds import Bounded
from fabricbench.store import Trial
from fabricbench.work import nccl_text

TIME: Final = BY_NAME["completion_time_ms"]
ALGORITHM_BANDWIDTH: Final = BY_NAME["algbw_gb_per_s"]
METRICS: Final = (TIME, ALGORITHM_BANDWIDTH, BUS_BANDWIDTH, IDEAL_SHARE)
"""Metrics with a range."""
SLOWEST: Final = "slowest"
TOGETHER: Final = "together"
"""Names in place of a job's: the slowest job of each trial; all jobs as one operation."""
LOOKED_AT: Final = 12
"""Trials per range whose causes are searched for, spread evenly from the fastest to the slowest."""
_DECIDING_FRACTION: Final = 0.5
"""Fraction of the variance between groups from which the number of queue pairs is reported as deciding."""


class Draw(Protocol):
    """A trial with its random draws."""

    @property
    def placement(self) -> int:
        """Number of its placement; 0 for that of the plan."""

    @property
    def trial(self) -> Trial:
        """The trial."""

    @property
    def busiest(self) -> Mapping[str, Any] | None:
        """The link to which the hash assigns most queue pairs."""


@dataclass(frozen=True)
class Range:
    """Smallest value, quartiles and largest value of a metric: values of trials, without interpolation."""

    least: float
    lower: float
    median: float
    upper: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        """Return the range of some values, quartiles by nearest rank."""
        ordered = sorted(values)
        lower, median, upper = (
            ordered[max(0, math.ceil(fraction * len(ordered)) - 1)] for fraction in (0.25, 0.5, 0.75)
        )
        return cls(ordered[0], lower, median, upper, ordered[-1])

    @property
    def spread_percent(self) -> float:
        """Largest minus smallest value, in per cent of the median."""
        return 100 * (self.most - self.least) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Limit:
    """Acceptance limit of a measurement.

    Attributes:
        metric: Name of the metric.
        minimum: Lower limit; none if `maximum` is set.
        maximum: Upper limit; none if `minimum` is set.
        order: The limit is the order-th worst of the trials.
        trials: Number of trials.
    """

    metric: str
    minimum: float | None
    maximum: float | None
    order: int
    trials: int

    @property
    def false_alarm(self) -> float:
        """Largest probability that a fabric that conforms to the plan fails it: order / (trials + 1)."""
        return self.order / (self.trials + 1)


@dataclass(frozen=True)
class Expected(Bounded):
    """Expected results of one job at one size, in one variant.

    Attributes:
        variant: The variant.
        job: The job; `SLOWEST` for the slowest of several in each trial, `TOGETHER` for all as one operation.
        collective: Its operation; for several jobs all different ones, joined by commas.
        ranks: Number of ranks; for several jobs their sum.
        data_size_bytes: Size of the job, or of the operation of all [bytes].
        axes: Swept values.
        trials: Number of complete trials in the ranges.
        incomplete: Number of other trials.
        ranges: Range of each metric that could be measured, by name.
        limits: Limits for acceptance; each of several sizes has its own.
        choice: NCCL's algorithm, protocol and channels; empty without NCCL, and where jobs differ in them.
        gains: Gain of the bandwidth by each lifted bound, as a fraction; empty if unknown.
        decides: Sentences on the deciding factors, each with its evidence.
        values: The values of the bus bandwidth, in the order of placements and seeds.
    """

    variant: str
    job: str
    collective: str
    ranks: int
    data_size_bytes: int
    axes: Sequence[tuple[str, Any]]
    trials: int
    incomplete: int
    ranges: Mapping[str, Range]
    limits: Sequence[Limit] = ()
    choice: str = ""
    gains: Mapping[str, float] = field(default_factory=dict)
    decides: Sequence[str] = ()
    values: Sequence[tuple[tuple[int, int], float]] = field(default=(), repr=False)

    @property
    def is_of_one_job(self) -> bool:
        """Whether it is about a single job of the plan."""
        return self.job not in (SLOWEST, TOGETHER)


def order_of(trials: int, false_alarm: float) -> int:
    """Return the rank, from the worst trial, of the limit for a probability of a false alarm; at least 1."""
    return max(1, math.floor(false_alarm * (trials + 1) + 1e-9))


def trials_needed(false_alarm: float) -> int:
    """Return the smallest number of trials for a probability of a false alarm."""
    return math.ceil(1 / false_alarm - 1e-9) - 1


def limit_of(metric_name: str, values: Sequence[float], false_alarm: float, allowance: float) -> Limit:
    """Return the limit of a metric: an order statistic, loosened by an allowance (a fraction of it)."""
    metric, order = BY_NAME[metric_name], order_of(len(values), false_alarm)
    if metric.direction is Direction.LOWER:
        worst = sorted(values, reverse=True)[order - 1]
        return Limit(metric_name, None, worst * (1 + allowance), order, len(values))
    return Limit(metric_name, sorted(values)[order - 1] * (1 - allowance), None, order, len(values))


@dataclass(frozen=True)
class _Row:
    """A job of one trial, or the summary of all its jobs."""

    draw: Draw
    job: str
    collective: str
    ranks: int
    data_size_bytes: int
    choice: str
    is_complete: bool
    metrics: Mapping[str, float]


Causes = Callable[["Trial"], Sequence[str]]
"""Returns the titles of the causes that explain most of the time that each job of a trial lost."""


def expectations(
    draws: Sequence[Draw],
    *,
    false_alarm: float,
    allowance: float = 0.0,
    as_one: bool = False,
    causes: Causes | None = None,
    gains: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> list[Expected]:
    """Return the expected results at each size, variant and swept value: of each job, and of all together.

    Args:
        draws: Finished trials.
        false_alarm: Largest probability of a false alarm of each limit.
        allowance: Difference of a limit from the order statistic, as a fraction of it.
        as_one: Whether all jobs of a trial are one operation of nccl-tests, as rings on rails are.
        causes: Finds causes in the record of a trial.
        gains: Gains by lifted bounds of some trials, by their id; they are those of the slowest job.
    """
    groups: dict[tuple[object, ...], list[_Row]] = {}
    reports = _reports_by_trial([draw.trial for draw in draws])
    for draw in draws:
        facts = draw.trial.facts
        rows = [_row(draw, report) for report in reports[draw.trial.id]]
        if len(rows) > 1:
            rows = [_together(rows) if as_one else _slowest(rows), *rows]
        for row in rows:
            key = (str(facts.axes), facts.variant, row.job, facts.data_size_bytes)
            groups.setdefault(key, []).append(row)
    results = [_expected(rows, false_alarm, allowance, causes) for rows in groups.values()]
    return [
        result
        if len(reports[rows[0].draw.trial.id]) > 1 and result.is_of_one_job
        else replace(result, gains=own)
        for rows, result in zip(groups.values(), results, strict=True)
        for own in [next((gains[row.draw.trial.id] for row in rows if row.draw.trial.id in gains), {})]
    ]


def _reports_by_trial(trials: Sequence[Trial]) -> dict[str, list[JobReport]]:
    reports_by_trial: dict[str, list[JobReport]] = {trial.id: [] for trial in trials}
    for report in reports_of_run(trials):
        reports_by_trial[report.trial.id].append(report)
    return reports_by_trial


def _row(draw: Draw, report: JobReport) -> _Row:
    summary = report.summary
    values = {metric.name: summary.value(metric.name) for metric in METRICS}
    measured = {name: float(value) for name, value in values.items() if value is not None}
    is_complete = summary.status == "complete" and TIME.name in measured
    return _Row(
        draw,
        summary.job,
        summary.collective,
        summary.ranks,
        summary.data_size_bytes,
        nccl_text(report.job_spec),
        is_complete,
        measured,
    )


def _slowest(rows: Sequence[_Row]) -> _Row:
    """Return the job that takes longest as `SLOWEST`; an incomplete job, if there is one."""
    worst = max(rows, key=lambda row: (not row.is_complete, row.metrics.get(TIME.name, 0.0)))
    return replace(worst, job=SLOWEST)


def _together(rows: Sequence[_Row]) -> _Row:
    """Return all jobs as one operation that ends with the slowest.

    Its bus bandwidth is that of all their ports together until then; its algorithm bandwidth is the one that
    nccl-tests with as many ranks prints for that.
    """
    ranks, size = sum(row.ranks for row in rows), sum(row.data_size_bytes for row in rows)
    metrics: dict[str, float] = {}
    is_complete = all(row.is_complete for row in rows)
    if is_complete:
        slowest_ms = max(row.metrics[TIME.name] for row in rows)
        bus_bytes = sum(row.data_size_bytes * bus_factor(row.collective, row.ranks) for row in rows)
        bus = bus_bytes / slowest_ms / 1e6
        algorithm = bus / bus_factor(rows[0].collective, ranks)
        metrics = {
            TIME.name: size / algorithm / 1e6,
            ALGORITHM_BANDWIDTH.name: algorithm,
            BUS_BANDWIDTH.name: bus,
        }
        ideal_percentages = [row.metrics[IDEAL_SHARE.name] for row in rows if IDEAL_SHARE.name in row.metrics]
        if len(ideal_percentages) == len(rows):
            metrics[IDEAL_SHARE.name] = min(ideal_percentages)
    collectives = ", ".join(dict.fromkeys(row.collective for row in rows))
    choices = {row.choice for row in rows}
    choice = choices.pop() if len(choices) == 1 else ""
    return _Row(rows[0].draw, TOGETHER, collectives, ranks, size, choice, is_complete, metrics)


def _expected(rows: Sequence[_Row], false_alarm: float, allowance: float, causes: Causes | None) -> Expected:
    complete = [row for row in rows if row.is_complete]
    first, facts = rows[0], rows[0].draw.trial.facts
    if not complete:
        return Expected(
            facts.variant, first.job, first.collective, first.ranks, first.data_size_bytes, facts.axes,
            0, len(rows), {}, (), first.choice, {}, (f"none of {len(rows)} trials completed",),
        )  # fmt: skip
    names = [m.name for m in METRICS if all(m.name in row.metrics for row in complete)]
    values = {name: [row.metrics[name] for row in complete] for name in names}
    limits: tuple[Limit, ...] = ()
    if len(complete) == len(rows):
        limits = tuple(limit_of(name, values[name], false_alarm, allowance) for name in names)
    bus = [
        ((row.draw.placement, row.draw.trial.facts.iteration), row.metrics[BUS_BANDWIDTH.name])
        for row in complete
        if BUS_BANDWIDTH.name in names
    ]
    return Expected(
        facts.variant,
        first.job,
        first.collective,
        first.ranks,
        first.data_size_bytes,
        facts.axes,
        len(complete),
        len(rows) - len(complete),
        {name: Range.of(values[name]) for name in names},
        limits,
        first.choice,
        {},
        tuple(_deciding(complete, causes)),
        bus,
    )


def _deciding(rows: Sequence[_Row], causes: Causes | None) -> list[str]:
    """Return sentences on the factors that decide the time, as far as trials show them."""
    times = [row.metrics[TIME.name] for row in rows]
    sentences: list[str] = []
    if len(rows) > 1 and max(times) - min(times) <= 5e-5 * max(times):
        sentences.append(f"nothing that is drawn: all {len(rows)} trials take the same time")
    elif len(rows) > 1:
        sentences += _by_number(rows)
    if causes is not None:
        sentences += _by_cause(rows, causes)
    return sentences


def _by_number(rows: Sequence[_Row]) -> list[str]:
    """Return sentences on the effect of the queue pairs on the busiest link, and of the placement."""
    pairs = [row.draw.busiest["queue_pairs"] if row.draw.busiest else None for row in rows]
    sentences = []
    part = variance_share([row.metrics[TIME.name] for row in rows], pairs)
    if part is not None and part >= _DECIDING_FRACTION and None not in pairs:
        groups: dict[int, list[float]] = {}
        for count, row in zip(pairs, rows, strict=True):
            groups.setdefault(int(count or 0), []).append(row.metrics[TIME.name])
        texts = [
            f"{count}: {Range.of(groups[count]).median:.5g} ms ({len(groups[count])})"
            for count in sorted(groups)
        ]
        sentences.append(
            f"queue pairs on the busiest link between switches explain {100 * part:.0f} % of the variance; "
            f"median time (trials) by their number: {', '.join(texts)}"
        )
    placements = [row.draw.placement for row in rows]
    of_placement = variance_share([row.metrics[TIME.name] for row in rows], placements)
    if of_placement is not None and len(set(placements)) > 1:
        sentences.append(
            f"the placement explains {100 * of_placement:.0f} % of the variance, the seed the rest"
        )
    return sentences


def variance_share(values: Sequence[float], groups: Sequence[object]) -> float | None:
    """Return the fraction of the variance of values that is between groups, corrected for chance.

    It is 1 - W (N - 1) / (T (N - K)) for N values in K groups, with the squares within groups W and the total
    squares T (eta squared, adjusted as R² is), and at least 0. None if all values are equal, in one group, or
    each in its own group.
    """
    count, kinds = len(values), len(set(groups))
    mean = math.fsum(values) / count
    total = math.fsum((value - mean) ** 2 for value in values)
    if kinds < 2 or kinds == count or not total:
        return None
    within = 0.0
    for kind in set(groups):
        values_of_group = [value for value, group in zip(values, groups, strict=True) if group == kind]
        mean_of_group = math.fsum(values_of_group) / len(values_of_group)
        within += math.fsum((value - mean_of_group) ** 2 for value in values_of_group)
    return max(0.0, 1 - within / total * (count - 1) / (count - kinds))


def _by_cause(rows: Sequence[_Row], causes: Causes) -> list[str]:
    """Return a sentence on the causes that `explain` finds first, over trials from fast to slow."""
    ordered = sorted(rows, key=lambda row: row.metrics[TIME.name])
    step = max(1, (len(ordered) - 1) // (LOOKED_AT - 1)) if len(ordered) > 1 else 1
    inspected = ordered[::-1][::step][:LOOKED_AT]
    counts = Counter(title for row in inspected for title in causes(row.draw.trial))
    if not counts:
        return []
    texts = ", ".join(f"{title} in {count}" for title, count in counts.most_common(3))
    return [f"causes that `explain` finds first, of {len(inspected)} trials: {texts}"]


def mean_bandwidths(results: Sequence[Expected]) -> list[float]:
    """Return the mean bus bandwidth over sizes, for each seed and placement that has all sizes [GB/s]."""
    by_draw: dict[tuple[int, int], list[float]] = {}
    for expected in results:
        for draw, value in expected.values:
            by_draw.setdefault(draw, []).append(value)
    return [math.fsum(values) / len(values) for values in by_draw.values() if len(values) == len(results)]


@dataclass(frozen=True)
class Checked:
    """A trial of a fast model compared with the same trial of the packet simulator.

    Attributes:
        variant: The variant.
        data_size_bytes: Size of the trial.
        time_ms: Time of its slowest job by the model.
        packets_ms: The same by the packet simulator.
    """

    variant: str
    data_size_bytes: int
    time_ms: float
    packets_ms: float

    @property
    def deviation_percent(self) -> float:
        """Deviation of the model's time from that of the packet simulator [%]."""
        return 100 * (self.time_ms / self.packets_ms - 1)


def checked(draws: Sequence[Draw], packets: Sequence[Trial]) -> list[Checked]:
    """Return trials of the first seed with those of the packet simulator, where both completed."""
    model_ms = _slowest_ms([draw.trial for draw in draws if draw.placement in (0, 1)])
    packets_ms = _slowest_ms(packets)
    return [
        Checked(variant, size, model_ms[variant, axes, size], time)
        for (variant, axes, size), time in packets_ms.items()
        if (variant, axes, size) in model_ms
    ]


def _slowest_ms(trials: Sequence[Trial]) -> dict[tuple[str, str, int], float]:
    """Return the time of the slowest job of each variant and size, for the first seed [ms]."""
    first = [trial for trial in trials if trial.facts.iteration == 0]
    slowest_ms: dict[tuple[str, str, int], float] = {}
    for id_, reports in _reports_by_trial(first).items():
        facts = next(trial.facts for trial in first if trial.id == id_)
        times = [report.summary.value(TIME.name) for report in reports]
        measured_times = [float(time) for time in times if time is not None]
        if len(measured_times) == len(times) > 0:
            slowest_ms[facts.variant, str(facts.axes), facts.data_size_bytes] = max(measured_times)
    return slowest_ms
