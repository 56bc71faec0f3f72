"""Storage operations of a job in the measured time, from the chunk rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.distribution import total, weighted_rank

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.analysis.chunks import ChunkFacts

_PS_PER_S = 1e12
_PS_PER_US = 1e6
_BYTES_PER_GB = 1e9
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


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
        storage = job.get("storage")
        if not storage:
            return None
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


def operation_metrics(facts: ChunkFacts, *, is_complete: bool) -> dict[str, Any]:
    """Return the metrics of a storage job; without latencies if it is not complete."""
    from fabricbench.analysis import kernels

    operations = facts.operations
    if operations is None or not operations.completed:
        return {}
    until_ps = operations.last_ps if operations.until_ps is None else operations.until_ps
    measured_ps = until_ps - operations.from_ps
    seconds = measured_ps / _PS_PER_S
    rates = {
        "iops": operations.completed / seconds,
        "storage_gb_per_s": operations.payload_bytes / seconds / _BYTES_PER_GB,
    }
    if not is_complete:
        return rates
    times, weights, outstanding_ps = operations.weighted()
    values = weighted_rank(times, weights, list(_SHARES.values()))
    times_us = {
        f"operation_us_{name}": value / _PS_PER_US for name, value in zip(_SHARES, values, strict=True)
    }
    ended = times.slice(0, len(times) - len(operations.cut_off_ps()))
    return (
        rates
        | times_us
        | {
            "operation_us_min": kernels.least(ended).as_py() / _PS_PER_US,
            "operation_us_mean": outstanding_ps / math.fsum(weights.to_pylist()) / _PS_PER_US,
            "operations_outstanding": outstanding_ps / measured_ps,
        }
    )
