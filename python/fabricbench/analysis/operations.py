"""Storage operations of a job: those of the measured time, from the chunk rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.distribution import nearest_rank, total

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.analysis.chunks import ChunkFacts

_PS_PER_S = 1e12
_PS_PER_US = 1e6
_BYTES_PER_GB = 1e9
_SHARES = {"min": 1e-9, "p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
"""The smallest value is rank 1; any share of at most 1/n gives it."""


@dataclass
class OperationFacts:
    """The operations of a storage job in the measured time.

    Attributes:
        from_ps: Its beginning: the warm-up is over.
        until_ps: Its end: no operation is issued from then on. None for that of the last operation.
        completed: Operations that completed in it.
        payload_bytes: Their data.
        last_ps: When the last operation completed.
        times_ps: Time from issue to completion of each one issued in it, also of those that completed later.
        time_counts: How many took how long, where rows are not read but counts.
    """

    from_ps: int
    until_ps: int | None
    completed: int = 0
    payload_bytes: int = 0
    last_ps: int = 0
    times_ps: list[pa.Array] = field(default_factory=list)
    time_counts: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, job: Mapping[str, Any]) -> OperationFacts | None:
        """Return what is to be gathered of a job of a run spec; nothing of any but a storage job."""
        storage = job.get("storage")
        if not storage:
            return None
        start_ps, length = job["start_ps"], storage["length"]
        is_timed = length["kind"] == "duration" and job["repeat"]["kind"] == "rounds"
        until_ps = start_ps + length["duration_ps"] if is_timed else None
        return cls(start_ps + storage["warm_up_ps"], until_ps)

    def add(self, rows: pa.RecordBatch) -> None:
        """Take some rows of the job."""
        import pyarrow as pa
        import pyarrow.compute as pc

        complete = rows.filter(pc.equal(rows.column("status"), "complete"))
        if not complete.num_rows:
            return
        ends = complete.column("completed_ps")
        is_in_time = pc.greater_equal(ends, self.from_ps)
        if self.until_ps is not None:
            is_in_time = pc.and_(is_in_time, pc.less(ends, self.until_ps))
        self.completed += total(is_in_time.cast(pa.int64()))
        self.payload_bytes += total(complete.column("payload_bytes").filter(is_in_time))
        self.last_ps = max(self.last_ps, pc.max(ends).as_py())
        issued = pc.greater_equal(complete.column("start_ps"), self.from_ps)
        self.times_ps.append(complete.column("fct_ps").filter(issued))


def operation_metrics(facts: ChunkFacts, *, is_complete: bool) -> dict[str, Any]:
    """Return the metrics of a storage job; of one that is not complete, no latency."""
    import pyarrow as pa

    from fabricbench.analysis.chunk_counts import mean_of_integers, ranked

    operations = facts.operations
    if operations is None or not operations.completed:
        return {}
    until_ps = operations.last_ps if operations.until_ps is None else operations.until_ps
    seconds = (until_ps - operations.from_ps) / _PS_PER_S
    rates = {
        "iops": operations.completed / seconds,
        "storage_gb_per_s": operations.payload_bytes / seconds / _BYTES_PER_GB,
    }
    times_ps = pa.chunked_array(operations.times_ps, type=pa.int64())
    counts, shares = operations.time_counts, list(_SHARES.values())
    if not is_complete or not (len(times_ps) or counts):
        return rates
    if counts:
        values, mean_ps = ranked(counts, shares), mean_of_integers(counts)
    else:
        values, mean_ps = nearest_rank(times_ps, shares), total(times_ps) / len(times_ps)
    times_us = {
        f"operation_us_{name}": value / _PS_PER_US for name, value in zip(_SHARES, values, strict=True)
    }
    return rates | times_us | {"operation_us_mean": mean_ps / _PS_PER_US}
