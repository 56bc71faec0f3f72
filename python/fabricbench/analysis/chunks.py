"""One pass over the chunk rows that collects the input of each job's metrics, in memory of 8 bytes a row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa

from fabricbench.analysis import kernels
from fabricbench.analysis.distribution import measured_total, sum_of, total
from fabricbench.analysis.operations import OperationFacts
from fabricbench.analysis.wire import COLUMNS as WIRE_COLUMNS
from fabricbench.analysis.wire import WireFacts

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
        rates = kernels.divide(1.0, kernels.as_float(fct_ps))
        self.count += len(fct_ps)
        self.rate_sum += kernels.total(rates).as_py() or 0.0
        self.square_sum += kernels.total(kernels.multiply(rates, rates)).as_py() or 0.0
        if len(fct_ps):
            span = kernels.min_max(fct_ps)
            self._add_extremes(span["min"].as_py(), span["max"].as_py())

    def add_alike(self, fct_ps: int, count: int) -> None:
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
        for number in kernels.unique(of_rounds).to_pylist():
            own = kernels.filtered(rows, kernels.equal(of_rounds, number))
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
        is_counted = kernels.less(of_rounds, self.warm_up_rounds + self.rounds)
        if self.warm_up_rounds:
            is_counted = kernels.and_(is_counted, kernels.greater_equal(of_rounds, self.warm_up_rounds))
        complete = kernels.filtered(
            rows.select(["round", "completed_ps", "fct_ps", "payload_bytes"]),
            kernels.and_(kernels.equal(rows.column("status"), "complete"), is_counted),
        )
        if not complete.num_rows:
            return
        self._add_ends(complete)
        fct_ps = complete.column("fct_ps")
        self.fct_ps.append(fct_ps)
        payload_bytes = complete.column("payload_bytes")
        sizes = kernels.unique(payload_bytes).to_pylist()
        for size in sizes:
            same = fct_ps if len(sizes) == 1 else kernels.filtered(fct_ps, kernels.equal(payload_bytes, size))
            self.rates.setdefault(size, RateMoments()).add(same)

    def counts_round(self, index: int) -> bool:
        """Return whether a round is measured and complete."""
        return 0 <= index - self.warm_up_rounds < self.rounds

    def _count(self, name: str, values: pa.Array) -> None:
        """Add to a counter; it becomes none with the first value that was not measured."""
        self.counters[name] = sum_of(self.counters[name], measured_total(values))

    def _add_traffic(self, rows: pa.RecordBatch) -> None:
        payload_bytes = rows.column("payload_bytes")
        is_in_time = kernels.coalesce(kernels.less_equal(rows.column("delivered_ps"), self.until_ps), False)
        self.offered_bytes += total(payload_bytes)
        self.delivered_bytes += total(kernels.filtered(payload_bytes, is_in_time))
        complete = kernels.filtered(rows, kernels.equal(rows.column("status"), "complete"))
        fct_ps = kernels.as_float(complete.column("fct_ps"))
        # The unloaded time is null in measured records: endpoints do not know the latency of an idle path.
        slowdowns = kernels.divide(fct_ps, kernels.as_float(complete.column("unloaded_ps")))
        self.slowdowns.append(slowdowns.drop_null())

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
            measured = kernels.filtered(measured, kernels.is_valid(rows.column("latency_mean_ps")))
        if not measured.num_rows:
            return
        frames = measured.column("rx_frames")
        self.latency_sum_ps += kernels.total(
            kernels.multiply(measured.column("latency_mean_ps"), kernels.as_float(frames))
        ).as_py()
        self.latency_frames += total(frames)
        least = kernels.least(measured.column("latency_min_ps")).as_py()
        largest = kernels.largest(measured.column("latency_max_ps")).as_py()
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
    span = kernels.min_max(rows.column("round"))
    first, last = span["min"].as_py(), span["max"].as_py()
    if first == last:  # avoids loading the code that groups rows, which takes 20 ms
        return [(first, kernels.largest(rows.column("completed_ps")).as_py())]
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
                batch if len(facts) == 1 else kernels.filtered(batch, kernels.equal(batch.column("job"), job))
            )
            if rows.num_rows:
                job_facts.add(rows)
