"""Computes the effect of failures and repairs on each job: dip of its rate, frames lost, time to recover.

The rate of a job is computed from the bytes delivered to its hosts between samples of the series
`delivered_bytes`. It is compared with its mean before the first failure. As collectives pause between steps
and rounds, it is averaged over the smallest number of intervals with which it stays above `THRESHOLD` of that
mean before the failure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from fabricbench.analysis.faults.remaining_links import UplinksLeft, uplinks_left
from fabricbench.analysis.record.run_spec import rounds_of
from fabricbench.analysis.record.tables import table_of_sums
from fabricbench.analysis.record.trial import Record

THRESHOLD = 0.9
"""Fraction of the rate before the failure below which a rate is a dip."""
CONVERGED = "routes_converged"
FAILURE_KINDS: Mapping[str, str] = {
    "link_down": "link down",
    "link_up": "link up",
    "link_rate": "link rate",
    "bit_errors": "bit errors",
    "frame_loss": "frame loss",
    "switch_down": "switch down",
    "switch_up": "switch up",
    "nic_throughput": "NIC throughput",
}
"""Title of each event that is a failure or a repair."""
_LEAST_INTERVALS = 4
_PS_PER_MS = 1e9
_PS_PER_S = 1e12
_BYTES_PER_GB = 1e9


@dataclass(frozen=True)
class Step:
    """Failures and repairs that happen at one time.

    Attributes:
        at_ps: When [ps].
        what: A description of each, such as `link down: leaf0-spine1, 1 link`.
        converged_ps: When every switch used the resulting routes; none if routes do not change or the run
            ended before.
        since_ps: Time of the previous step, or 0 [ps].
        until_ps: Time of the next step, or the end of the run [ps].
        uplinks: Switches with fewer or slower uplinks after the step.
    """

    at_ps: int
    what: Sequence[str]
    converged_ps: int | None
    since_ps: int
    until_ps: int
    uplinks: Sequence[UplinksLeft]


@dataclass(frozen=True)
class Recovery:
    """Effect of one step on a job.

    Attributes:
        job: Its name.
        step: The failures and repairs.
        rate_before_gb_per_s: Mean rate before the first failure of the run.
        rate_low_gb_per_s: Lowest rate from the step to `settled_ps`.
        rate_after_gb_per_s: Mean rate from `settled_ps` to the next step or the end of the job; none if that
            time is empty.
        fell_ps: When the rate fell below `THRESHOLD` of the rate before; none if it did not before the next
            step.
        recovered_ps: When it was above that threshold again, for one averaging time and in the mean until the
            next step or the end of the job; none if it was not.
        settled_ps: Time of the recovery. Without one: when the rate reached `THRESHOLD` of its mean from the
            convergence to the next step or the end, as the job continues more slowly than before; the next
            step if it did not reach that before; the end for a job that stopped.
        stopped_ps: Time of the last delivery of a job that never completed; none for any other job.
        window_ps: The averaging time, which limits the accuracy of all times here.
        lost_frames: Frames lost in the whole fabric from the step to the next one or the end of the run.
        rounds_before_ms: Mean time of the rounds from the previous step, if there is one, to this one.
        rounds_during_ms: Mean time of the rounds in progress between the step and `settled_ps`.
        rounds_after_ms: Mean time of the rounds that began later and ended before the next step.
    """

    job: str
    step: Step
    rate_before_gb_per_s: float
    rate_low_gb_per_s: float
    rate_after_gb_per_s: float | None
    fell_ps: int | None
    recovered_ps: int | None
    settled_ps: int
    stopped_ps: int | None
    window_ps: int
    lost_frames: int
    rounds_before_ms: float | None
    rounds_during_ms: float | None
    rounds_after_ms: float | None

    @property
    def recovery_ms(self) -> float | None:
        """Time from the step to the recovery; 0 without a dip, none without a recovery."""
        if self.fell_ps is None:
            return 0.0
        return None if self.recovered_ps is None else (self.recovered_ps - self.step.at_ps) / _PS_PER_MS

    @property
    def after_percent(self) -> float | None:
        """Rate after the step, relative to the rate before any failure [%]."""
        after = self.rate_after_gb_per_s
        return None if after is None else 100 * after / self.rate_before_gb_per_s


class Curve:
    """A sampled number that never decreases."""

    def __init__(self, samples: Sequence[tuple[int, int]]) -> None:
        """Create the curve from samples of time [ps] and value, in order of time."""
        self.times = [time_ps for time_ps, _ in samples]
        self._values = [value for _, value in samples]

    def at(self, time_ps: int) -> float:
        """Return the value at a time, interpolated linearly between samples."""
        index = bisect_left(self.times, time_ps)
        if index == 0:
            return float(self._values[0])
        if index == len(self.times):
            return float(self._values[-1])
        (begin, low), (end, high) = [(self.times[k], self._values[k]) for k in (index - 1, index)]
        return low + (high - low) * (time_ps - begin) / (end - begin)

    def sampled(self, time_ps: int) -> int:
        """Return the value of the last sample until a time; 0 before the first."""
        index = bisect_right(self.times, time_ps)
        return self._values[index - 1] if index else 0

    def rate(self, begin_ps: int, end_ps: int) -> float:
        """Return the mean rate between two times [per s]."""
        return (self.at(end_ps) - self.at(begin_ps)) / (end_ps - begin_ps) * _PS_PER_S


def steps(record: Record) -> list[Step]:
    """Return the failures and repairs of a run in order of time."""
    events = [row for batch in record.tables.batches("events") for row in batch.to_pylist()]
    descriptions: dict[int, list[str]] = {}
    for event in events:
        if event["kind"] in FAILURE_KINDS:
            text = f"{FAILURE_KINDS[event['kind']]}: {event['detail']}"
            descriptions.setdefault(event["time_ps"], []).append(text)
    times = sorted(descriptions)
    end_ps = int(record.summary["end_ps"])
    convergence_ps = record.run_spec["fabric"].get("convergence_time_ps", 0)
    converged = {event["time_ps"] for event in events if event["kind"] == CONVERGED}
    steps_in_order = []
    for index, at_ps in enumerate(times):
        until_ps = times[index + 1] if index + 1 < len(times) else max(end_ps, at_ps)
        then_ps = at_ps + convergence_ps
        is_seen = then_ps if then_ps in converged else None
        since_ps = times[index - 1] if index else 0
        uplinks = uplinks_left(record, at_ps)
        steps_in_order.append(Step(at_ps, descriptions[at_ps], is_seen, since_ps, until_ps, uplinks))
    return steps_in_order


def recoveries(record: Record, only: str | None = None) -> list[Recovery]:
    """Return the effect of each step on each job, or on `only` one, by job in the order of the spec.

    Jobs that had not run long before the first step, or whose rate was not sampled, are left out, as are
    steps that change nothing a job uses.
    """
    all_steps = steps(record)
    if not all_steps:
        return []
    delivered, lost = _curves(record)
    effects = []
    for job, outcome in zip(record.run_spec["jobs"], record.summary["jobs"], strict=True):
        curve = delivered.get(job["name"]) if only in (None, job["name"]) else None
        end_ps = outcome["end_ps"] or record.summary["end_ps"]
        job_rate = _JobRate.of(curve, outcome["start_ps"], all_steps[0].at_ps, end_ps) if curve else None
        if job_rate is not None:
            rounds = _rounds(record, job["name"], outcome["start_ps"])
            last_ps = _last_delivery(record, job["name"]) if outcome["end_ps"] is None else None
            effects += [
                job_rate.through(job["name"], step, lost, rounds, last_ps)
                for step in all_steps
                if step.at_ps < end_ps and _concerns(record, job["name"], step)
            ]
    return effects


def _concerns(record: Record, job: str, step: Step) -> bool:
    """Return whether a job uses something that fails or is repaired in a step."""
    names = (description.partition(": ")[2].split(",")[0] for description in step.what)
    return any(record.concerns(job, name) for name in names)


def _curves(record: Record) -> tuple[dict[str, Curve], Curve | None]:
    """Return the bytes delivered to each job, and the frames lost in the fabric."""
    delivered: dict[str, list[tuple[int, int]]] = {}
    lost: list[tuple[int, int]] = []
    for batch in record.tables.batches("series", ["metric", "job", "time_ps", "value"]):
        for row in batch.to_pylist():
            sample = (row["time_ps"], row["value"])
            if row["metric"] == "delivered_bytes":
                delivered.setdefault(row["job"], []).append(sample)
            elif row["metric"] == "lost_frames":
                lost.append(sample)
    curves = {job: Curve(sorted(samples)) for job, samples in delivered.items()}
    return curves, Curve(sorted(lost)) if lost else None


_Windows = list[tuple[int, int, float]]
"""Begin, end and mean rate of averaging times."""


@dataclass(frozen=True)
class _JobRate:
    """The rate of a job over time, and the effect of a step on it.

    Attributes:
        curve: Bytes delivered over time.
        end_ps: End of the job, or of the run [ps].
        before: Mean rate before the first failure [bytes/s].
        intervals: Number of sampling intervals of an averaging time.
    """

    curve: Curve
    end_ps: int
    before: float
    intervals: int

    @classmethod
    def of(cls, curve: Curve, start_ps: int, first_ps: int, end_ps: int) -> _JobRate | None:
        """Return the rate of a job, with its mean before the first failure; none with too few samples."""
        # The first interval is left out, as nothing has arrived at its beginning.
        times = [time for time in curve.times if start_ps < time <= first_ps][1:]
        if len(times) <= _LEAST_INTERVALS:
            return None
        before = curve.rate(times[0], times[-1])
        if before <= 0:
            return None
        max_intervals = len(times) // 2
        steady = (
            count
            for count in range(1, max_intervals)
            if all(
                curve.rate(begin, end) >= THRESHOLD * before
                for begin, end in zip(times, times[count:], strict=False)
            )
        )
        return cls(curve, end_ps, before, next(steady, max_intervals))

    def through(
        self,
        job: str,
        step: Step,
        lost: Curve | None,
        rounds: Sequence[tuple[int, int]],
        last_ps: int | None,
    ) -> Recovery:
        """Return the effect of a step; `last_ps` is the last delivery of a job that never completed."""
        windows = self._windows(step.at_ps)
        threshold = THRESHOLD * self.before
        fell_ps = next(
            (begin for begin, _, rate in windows if rate < threshold and begin < step.until_ps), None
        )
        until_ps = min(step.until_ps, self.end_ps)
        recovered_ps = None if fell_ps is None else self._back(windows, fell_ps, until_ps, threshold)
        stopped_ps = (
            None if fell_ps is None or recovered_ps is not None else self._stopped(step, until_ps, last_ps)
        )
        settled_ps = (
            until_ps
            if stopped_ps is not None
            else recovered_ps or self._settled(windows, fell_ps, step, until_ps)
        )
        low_until_ps = min(until_ps, settled_ps)
        rates = [rate for begin, _, rate in windows if begin <= low_until_ps]
        return Recovery(
            job=job,
            step=step,
            rate_before_gb_per_s=self.before / _BYTES_PER_GB,
            rate_low_gb_per_s=min(rates, default=self.before) / _BYTES_PER_GB,
            rate_after_gb_per_s=self.curve.rate(settled_ps, until_ps) / _BYTES_PER_GB
            if settled_ps < until_ps
            else None,
            fell_ps=None if fell_ps is None else max(fell_ps, step.at_ps),
            recovered_ps=recovered_ps,
            settled_ps=settled_ps,
            stopped_ps=stopped_ps,
            window_ps=self._window_ps(),
            lost_frames=lost.sampled(step.until_ps) - lost.sampled(step.at_ps) if lost else 0,
            rounds_before_ms=_mean_ms(
                end - begin for begin, end in rounds if begin >= step.since_ps and end <= step.at_ps
            ),
            rounds_during_ms=_mean_ms(
                end - begin
                for begin, end in rounds
                if end > step.at_ps and begin < max(settled_ps, step.at_ps + 1)
            ),
            rounds_after_ms=_mean_ms(
                end - begin for begin, end in rounds if begin >= settled_ps and end <= step.until_ps
            ),
        )

    def _back(self, windows: _Windows, fell_ps: int, until_ps: int, limit: float) -> int | None:
        """Return the time from which the rate is back, for an averaging time and in the mean of the rest."""
        for begin, _, rate in windows:
            if fell_ps < begin < until_ps and rate >= limit and self.curve.rate(begin, until_ps) >= limit:
                return begin
        return None

    def _stopped(self, step: Step, until_ps: int, last_ps: int | None) -> int | None:
        """Return the last delivery of a job that never completes; none if it still delivers."""
        if last_ps is None or until_ps < self.end_ps:
            return None
        stopped = max(step.at_ps, last_ps)
        return stopped if until_ps - stopped > self._window_ps() else None

    def _settled(self, windows: _Windows, fell_ps: int | None, step: Step, until_ps: int) -> int:
        """Return the time from which the job continues at a constant rate, lower than before.

        That is the next step if the rate is still low then.
        """
        converged = max(step.at_ps, step.converged_ps or 0)
        if fell_ps is None or converged >= until_ps:
            return min(converged, until_ps)
        level = THRESHOLD * self.curve.rate(converged, until_ps)
        later = [(begin, rate) for begin, _, rate in windows if fell_ps <= begin < until_ps]
        lowest = next((begin for begin, rate in later if rate < level), None)
        if lowest is None:
            return max(fell_ps, converged)
        # At the end of a job its rate is low in any case.
        never = converged if until_ps == self.end_ps else until_ps
        return next((begin for begin, rate in later if begin > lowest and rate >= level), never)

    def _windows(self, at_ps: int) -> _Windows:
        """Return begin, end and mean rate of each averaging time from `at_ps` to the end of the job."""
        times = [time for time in self.curve.times if at_ps < time <= self.end_ps]
        times.insert(0, at_ps)
        ends = times[self.intervals :]
        return [(begin, end, self.curve.rate(begin, end)) for begin, end in zip(times, ends, strict=False)]

    def _window_ps(self) -> int:
        times = self.curve.times
        return (times[-1] - times[0]) * self.intervals // max(1, len(times) - 1)


def _rounds(record: Record, job: str, start_ps: int) -> list[tuple[int, int]]:
    """Return begin and end of each complete round [ps]; empty for a job with one round."""
    from fabricbench.analysis.record.chunk_counts import gather_facts
    from fabricbench.analysis.record.chunk_facts import ChunkFacts

    outcome = next(row for row in record.summary["jobs"] if row["name"] == job)
    rounds = rounds_of(outcome)
    if rounds < 2:
        return []
    facts = ChunkFacts(rounds)
    gather_facts(record.run_spec, record.tables, {job: facts})
    return list(pairwise(accumulate(facts.round_times_ps(start_ps), initial=start_ps)))


def _last_delivery(record: Record, job: str) -> int | None:
    """Return when the last chunk of a job was delivered [ps]; none if none was."""
    import pyarrow.compute as pc

    last: list[int] = []
    for batch in record.tables.batches(table_of_sums(record.run_spec), ["job", "delivered_ps"]):
        own = batch.filter(pc.equal(batch.column("job"), job)).column("delivered_ps")
        last += [time_ps for time_ps in (pc.max(own).as_py(),) if time_ps is not None]
    return max(last, default=None)


def _mean_ms(times_ps: Any) -> float | None:
    times = list(times_ps)
    return sum(times) / len(times) / _PS_PER_MS if times else None


def recovery_object(recovery: Recovery) -> dict[str, Any]:
    """Return the effect of a step on a job as its JSON object."""
    import dataclasses

    content = {name: value for name, value in dataclasses.asdict(recovery).items() if name != "job"}
    content["recovery_ms"] = recovery.recovery_ms
    content["after_percent"] = recovery.after_percent
    return content
