"""Collects the input of each job's metrics, storage operations included, in one pass over its chunk rows.

A chunk is the part of a collective's data that one rank sends to another in one transfer. The pass needs 8
bytes of memory a row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from fabricbench.analysis.record import arrow_kernels
from fabricbench.analysis.record.percentiles import measured_total, sum_of, total
from fabricbench.analysis.record.wire_rates import COLUMNS as WIRE_COLUMNS, WireFacts
from fabricbench.metrics import JobKind
from fabricbench.work import job_kind


@dataclass
class OperationFacts:
    """Operations of a storage job, weighted by the fraction of their duration within the measured time.

    An operation entirely within the measured time has weight 1. One that overlaps its beginning or end is
    weighted by the fraction of its duration within it. So operations of any duration are included, and the
    mean, the time for which operations were outstanding over the sum of weights, satisfies Little's law.

    Attributes:
        from_ps: Beginning of the measured time, after the warm-up.
        until_ps: Its end, after which no operation is issued. None: the end of the last operation.
        completed: Operations that completed in it.
        payload_bytes: Their data.
        last_ps: When the last operation completed.
        whole_ps: Duration of each operation entirely within it.
        counts: Number of operations by duration, where the record has counts instead of rows.
        parts_ps: Number of operations partly within it, by duration and the part within it.
        open_ps: Issue times of operations that had not completed at the end of the run.
        cut_ps: Number of such operations by the part within the measured time, where the record has counts
            instead of rows.
    """

    from_ps: int
    until_ps: int | None
    completed: int = 0
    payload_bytes: int = 0
    last_ps: int = 0
    whole_ps: list[pa.Array] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)
    parts_ps: Counter[tuple[int, int]] = field(default_factory=Counter)
    open_ps: list[int] = field(default_factory=list)
    cut_ps: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, job: Mapping[str, Any]) -> OperationFacts | None:
        """Return empty facts for a storage job of a run spec; none for any other job."""
        if job_kind(job) is not JobKind.STORAGE:
            return None
        storage = job["work"]
        start_ps, length = job["start_ps"], storage["length"]
        is_timed = length["kind"] == "duration" and job["repeat"]["kind"] == "rounds"
        until_ps = start_ps + length["duration_ps"] if is_timed else None
        return cls(start_ps + storage["warm_up_ps"], until_ps)

    def add(self, rows: pa.RecordBatch) -> None:
        """Add some rows of the job."""
        import pyarrow.compute as pc

        unfinished = rows.filter(pc.equal(rows.column("status"), "unfinished"))
        self.open_ps.extend(unfinished.column("start_ps").drop_null().to_pylist())
        complete = rows.filter(pc.equal(rows.column("status"), "complete"))
        if not complete.num_rows:
            return
        starts, ends = complete.column("start_ps"), complete.column("completed_ps")
        self.last_ps = max(self.last_ps, pc.max(ends).as_py())
        is_issued, is_ended = pc.greater_equal(starts, self.from_ps), pc.greater_equal(ends, self.from_ps)
        if self.until_ps is not None:
            is_ended = pc.and_(is_ended, pc.less(ends, self.until_ps))
        self.completed += is_ended.true_count
        self.payload_bytes += total(complete.column("payload_bytes").filter(is_ended))
        is_whole = pc.and_(is_issued, is_ended)
        self.whole_ps.append(complete.column("fct_ps").filter(is_whole))
        partial = complete.select(["start_ps", "completed_ps"]).filter(pc.invert(is_whole))
        for start_ps, end_ps in zip(*(column.to_pylist() for column in partial.columns), strict=True):
            self.add_part(end_ps - start_ps, self._measured_ps(start_ps, end_ps))

    def add_part(self, time_ps: int, part_ps: int, count: int = 1) -> None:
        """Add operations with a part of their duration within the measured time."""
        if part_ps > 0:
            self.parts_ps[time_ps, part_ps] += count

    def add_cut(self, part_ps: int, count: int) -> None:
        """Add operations cut off by the end of the run, with the measured part of their duration."""
        if part_ps > 0:
            self.cut_ps[part_ps] += count

    def _measured_ps(self, start_ps: int, end_ps: int) -> int:
        until_ps = end_ps if self.until_ps is None else min(end_ps, self.until_ps)
        return until_ps - max(start_ps, self.from_ps)

    def cut_off_ps(self) -> Counter[int]:
        """Return the number of operations cut off by the end of the run, by measured duration."""
        parts = (self._measured_ps(start, self.last_ps) for start in self.open_ps)
        return self.cut_ps + Counter(part for part in parts if part > 0)

    def weighted(self) -> tuple[pa.Array, pa.Array, int]:
        """Return the durations of operations, one per operation or group of equal ones, with their weights.

        An operation not completed at the end of the run counts with the measured part of its duration.

        Returns:
            Durations [ps], those of incomplete operations last; weights; and the sum of the times for which
            operations were outstanding [ps].
        """
        import pyarrow as pa

        counts, cut = list(self.counts.items()), list(self.cut_off_ps().items())
        whole = pa.chunked_array(self.whole_ps, type=pa.int64()).combine_chunks()
        parts = list(self.parts_ps.items())
        times = pa.concat_arrays(
            [
                whole,
                pa.array([time for time, _ in counts], pa.int64()),
                pa.array([time for (time, _), _ in parts], pa.int64()),
                pa.array([part for part, _ in cut], pa.int64()),
            ]
        )
        weights = pa.concat_arrays(
            [
                pa.repeat(1.0, len(whole)),
                pa.array([float(count) for _, count in counts], pa.float64()),
                pa.array([count * part / time for (time, part), count in parts], pa.float64()),
                pa.array([float(count) for _, count in cut], pa.float64()),
            ]
        )
        outstanding_ps = total(whole) + sum(time * count for time, count in counts + cut)
        return times, weights, outstanding_ps + sum(part * count for (_, part), count in parts)


_ALWAYS = (
    *("round", "status", "payload_bytes", "completed_ps", "fct_ps"),
    *("rx_frames", "retransmits", "out_of_order", "ecn_ce_rx", "cnp_tx"),
    *("latency_min_ps", "latency_mean_ps", "latency_max_ps"),
    *WIRE_COLUMNS,
)
_OF_TRAFFIC = ("unloaded_ps",)
_GB_PER_S = 1000
"""One byte per picosecond [GB/s]."""

_COUNTERS = ("rx_frames", "retransmits", "out_of_order", "ecn_ce_rx", "cnp_tx")


@dataclass
class RateMoments:
    """Moments of the rates of chunks of one size, where a rate is 1 / fct_ps.

    Attributes:
        count: Chunks.
        rate_sum: Sum of their rates.
        square_sum: Sum of the squares of their rates.
        fct_min_ps: Smallest completion time; none without chunks.
        fct_max_ps: Largest completion time.
    """

    count: int = 0
    rate_sum: float = 0.0
    square_sum: float = 0.0
    fct_min_ps: int | None = None
    fct_max_ps: int = 0

    def add(self, fct_ps: pa.Array) -> None:
        """Add chunks with these completion times."""
        rates = arrow_kernels.divide(1.0, arrow_kernels.as_float(fct_ps))
        self.count += len(fct_ps)
        self.rate_sum += arrow_kernels.total(rates).as_py() or 0.0
        self.square_sum += arrow_kernels.total(arrow_kernels.multiply(rates, rates)).as_py() or 0.0
        if len(fct_ps):
            span = arrow_kernels.min_max(fct_ps)
            self._add_extremes(span["min"].as_py(), span["max"].as_py())

    def add_repeated(self, fct_ps: int, count: int) -> None:
        """Add `count` chunks with the same completion time."""
        rate = 1.0 / fct_ps if fct_ps else math.inf
        self.count += count
        self.rate_sum += count * rate
        self.square_sum += count * rate * rate
        self._add_extremes(fct_ps, fct_ps)

    def _add_extremes(self, least_ps: int, largest_ps: int) -> None:
        self.fct_min_ps = least_ps if self.fct_min_ps is None else min(self.fct_min_ps, least_ps)
        self.fct_max_ps = max(self.fct_max_ps, largest_ps)

    def fairness(self) -> float:
        """Return Jain's index of the rates."""
        return self.rate_sum**2 / (self.count * self.square_sum)


@dataclass(frozen=True)
class Sizes:
    """Chunks of a job whose rounds have several data sizes.

    Attributes:
        cycle: Data size of each round until the sizes repeat [bytes].
        facts: Sums over the chunks of the rounds of each size, by that size.
    """

    cycle: Sequence[int]
    facts: Mapping[int, ChunkFacts]

    def of_round(self, number: int) -> ChunkFacts:
        """Return the sums for the data size of a round."""
        return self.facts[self.cycle[number % len(self.cycle)]]

    def add(self, rows: pa.RecordBatch) -> None:
        """Add some rows of the job."""
        of_rounds = rows.column("round")
        for number in arrow_kernels.unique(of_rounds).to_pylist():
            own = arrow_kernels.filtered(rows, arrow_kernels.equal(of_rounds, number))
            facts = self.of_round(number)
            facts.states.update(own.column("status").to_pylist())
            facts.add(own)


@dataclass
class ChunkFacts:
    """Sums over the chunk rows of one job, and the completion times of the chunks of complete rounds.

    Attributes:
        rounds: Complete measured rounds; chunks of later rounds are only in the counters.
        until_ps: End of the offer of open-loop traffic; 0 for other jobs.
        operations: Facts of a storage job.
        warm_up_rounds: Rounds before the measured ones; their chunks are only in the counters, too.
        sizes: Facts by data size, for a job whose rounds have several.
        states: Number of chunks by status, for the rounds of one size.
        fct_counts: Number of chunks by completion time, where the record has counts instead of rows.
        slowdown_counts: Number of chunks by slowdown, likewise.
    """

    rounds: int = 1
    until_ps: int = 0
    operations: OperationFacts | None = None
    warm_up_rounds: int = 0
    sizes: Sizes | None = None
    states: Counter[str] = field(default_factory=Counter)
    counters: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(_COUNTERS, 0))
    fct_ps: list[pa.Array] = field(default_factory=list)
    rates: dict[int, RateMoments] = field(default_factory=dict)
    latency_min_ps: int | None = None
    latency_max_ps: int | None = None
    latency_sum_ps: float = 0.0
    latency_frames: int = 0
    round_ends_ps: dict[int, int] = field(default_factory=dict)
    slowdowns: list[pa.Array] = field(default_factory=list)
    fct_counts: Counter[int] = field(default_factory=Counter)
    slowdown_counts: Counter[float] = field(default_factory=Counter)
    offered_bytes: int = 0
    delivered_bytes: int = 0
    wire: WireFacts = field(default_factory=WireFacts)

    def __post_init__(self) -> None:
        self.wire.until_ps = self.until_ps

    def add(self, rows: pa.RecordBatch) -> None:
        """Add some rows of the job."""
        if self.sizes is not None:
            self.sizes.add(rows)
        for name in _COUNTERS:
            self._count(name, rows.column(name))
        self._add_latency(rows)
        self.wire.add(rows)
        if self.until_ps:
            self._add_traffic(rows)
        if self.operations is not None:
            self.operations.add(rows)
        of_rounds = rows.column("round")
        is_counted = arrow_kernels.less(of_rounds, self.warm_up_rounds + self.rounds)
        if self.warm_up_rounds:
            is_counted = arrow_kernels.and_(
                is_counted, arrow_kernels.greater_equal(of_rounds, self.warm_up_rounds)
            )
        complete = arrow_kernels.filtered(
            rows.select(["round", "completed_ps", "fct_ps", "payload_bytes"]),
            arrow_kernels.and_(arrow_kernels.equal(rows.column("status"), "complete"), is_counted),
        )
        if not complete.num_rows:
            return
        self._add_ends(complete)
        fct_ps = complete.column("fct_ps")
        self.fct_ps.append(fct_ps)
        payload_bytes = complete.column("payload_bytes")
        sizes = arrow_kernels.unique(payload_bytes).to_pylist()
        for size in sizes:
            same = (
                fct_ps
                if len(sizes) == 1
                else arrow_kernels.filtered(fct_ps, arrow_kernels.equal(payload_bytes, size))
            )
            self.rates.setdefault(size, RateMoments()).add(same)

    def counts_round(self, index: int) -> bool:
        """Return whether a round is measured and complete."""
        return 0 <= index - self.warm_up_rounds < self.rounds

    def _count(self, name: str, values: pa.Array) -> None:
        """Add to a counter; it becomes none with the first value that was not measured."""
        self.counters[name] = sum_of(self.counters[name], measured_total(values))

    def _add_traffic(self, rows: pa.RecordBatch) -> None:
        payload_bytes = rows.column("payload_bytes")
        is_in_time = arrow_kernels.coalesce(
            arrow_kernels.less_equal(rows.column("delivered_ps"), self.until_ps), False
        )
        self.offered_bytes += total(payload_bytes)
        self.delivered_bytes += total(arrow_kernels.filtered(payload_bytes, is_in_time))
        complete = arrow_kernels.filtered(rows, arrow_kernels.equal(rows.column("status"), "complete"))
        # The unloaded time is null in measured records: endpoints do not know the latency of an idle path.
        # It is 0 where ranks share a memory without latency.
        has_time = arrow_kernels.coalesce(arrow_kernels.less(0, complete.column("unloaded_ps")), False)
        timed = arrow_kernels.filtered(complete, has_time)
        fct_ps = arrow_kernels.as_float(timed.column("fct_ps"))
        unloaded_ps = arrow_kernels.as_float(timed.column("unloaded_ps"))
        self.slowdowns.append(arrow_kernels.divide(fct_ps, unloaded_ps))

    def _add_ends(self, rows: pa.RecordBatch) -> None:
        for index, end_ps in _last_ends(rows):
            self.round_ends_ps[index] = max(end_ps, self.round_ends_ps.get(index, end_ps))

    def round_times_ps(self, start_ps: int) -> list[int]:
        """Return the time of each complete round, from the end of the previous one to its own [ps]."""
        ends = [start_ps, *(self.round_ends_ps[index] for index in sorted(self.round_ends_ps))]
        return [end - begin for begin, end in pairwise(ends)]

    def _add_latency(self, rows: pa.RecordBatch) -> None:
        measured = rows.select(["rx_frames", "latency_min_ps", "latency_mean_ps", "latency_max_ps"])
        if rows.column("latency_mean_ps").null_count:
            measured = arrow_kernels.filtered(
                measured, arrow_kernels.is_valid(rows.column("latency_mean_ps"))
            )
        if not measured.num_rows:
            return
        frames = measured.column("rx_frames")
        self.latency_sum_ps += arrow_kernels.total(
            arrow_kernels.multiply(measured.column("latency_mean_ps"), arrow_kernels.as_float(frames))
        ).as_py()
        self.latency_frames += total(frames)
        least = arrow_kernels.least(measured.column("latency_min_ps")).as_py()
        largest = arrow_kernels.largest(measured.column("latency_max_ps")).as_py()
        self.latency_min_ps = least if self.latency_min_ps is None else min(self.latency_min_ps, least)
        self.latency_max_ps = largest if self.latency_max_ps is None else max(self.latency_max_ps, largest)

    def completion_times_ps(self) -> pa.ChunkedArray:
        """Return the completion time of every complete chunk [ps]."""
        return pa.chunked_array(self.fct_ps, type=pa.int64())

    def slowdown_values(self) -> pa.ChunkedArray:
        """Return the slowdown of every complete message of open-loop traffic."""
        return pa.chunked_array(self.slowdowns, type=pa.float64())

    def payload_bytes(self) -> int:
        """Return the payload of the complete chunks of measured rounds."""
        return sum(size * moments.count for size, moments in self.rates.items())

    def busbw_gb_per_s(self) -> tuple[float, float, float] | None:
        """Return payload over completion time of the chunks [GB/s]: smallest, mean, largest.

        None without chunks, or where a chunk took no time, such as a copy in memory without latency.
        """
        sizes = {size: moments for size, moments in self.rates.items() if moments.count}
        if not sizes or any(not moments.fct_min_ps for moments in sizes.values()):
            return None
        least = min(size / moments.fct_max_ps for size, moments in sizes.items())
        largest = max(size / (moments.fct_min_ps or 1) for size, moments in sizes.items())
        together = math.fsum(size * moments.rate_sum for size, moments in sizes.items())
        mean = together / sum(moments.count for moments in sizes.values())
        return _GB_PER_S * least, _GB_PER_S * mean, _GB_PER_S * largest

    def fairness(self) -> float | None:
        """Return Jain's index over the rates of the most frequent chunk size, on a tie the larger."""
        if not self.rates:
            return None
        _, size = max((moments.count, size) for size, moments in self.rates.items())
        return self.rates[size].fairness()


def _last_ends(rows: pa.RecordBatch) -> list[tuple[int, int]]:
    """Return each round and the time when the last of its chunks completed [ps]; needs at least one row."""
    span = arrow_kernels.min_max(rows.column("round"))
    first, last = span["min"].as_py(), span["max"].as_py()
    if first == last:  # avoids loading the code that groups rows, which takes 20 ms
        return [(first, arrow_kernels.largest(rows.column("completed_ps")).as_py())]
    ends = pa.Table.from_batches([rows.select(["round", "completed_ps"])]).group_by("round")
    rows_by_round = ends.aggregate([("completed_ps", "max")]).to_pylist()
    return [(row["round"], row["completed_ps_max"]) for row in rows_by_round]


def columns_for(facts: Mapping[str, ChunkFacts]) -> list[str]:
    """Return the columns of `chunks` that the facts of some jobs need, so that no others are read."""
    jobs = facts.values()
    return [
        *(("job",) if len(facts) > 1 else ()),
        *_ALWAYS,
        *(_OF_TRAFFIC if any(job.until_ps for job in jobs) else ()),
    ]


def gather(batches: Iterable[pa.RecordBatch], facts: Mapping[str, ChunkFacts]) -> None:
    """Add the rows to the facts of each job.

    Args:
        batches: Rows of `chunks` with at least the columns of `columns_for`.
        facts: Facts of each job, by its name.
    """
    for batch in batches:
        for job, job_facts in facts.items():
            rows = (
                batch
                if len(facts) == 1
                else arrow_kernels.filtered(batch, arrow_kernels.equal(batch.column("job"), job))
            )
            if rows.num_rows:
                job_facts.add(rows)
