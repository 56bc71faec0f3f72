"""Computes IOPS, throughput and latencies of a storage job's operations within the measured time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.record.percentiles import weighted_rank

if TYPE_CHECKING:
    from fabricbench.analysis.record.chunk_facts import ChunkFacts

_PS_PER_S = 1e12
_PS_PER_US = 1e6
_BYTES_PER_GB = 1e9
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


def operation_metrics(facts: ChunkFacts, *, is_complete: bool) -> dict[str, Any]:
    """Return the metrics of a storage job; without latencies if it is not complete."""
    from fabricbench.analysis.record import arrow_kernels

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
            "operation_us_min": arrow_kernels.least(ended).as_py() / _PS_PER_US,
            "operation_us_mean": outstanding_ps / math.fsum(weights.to_pylist()) / _PS_PER_US,
            "operations_outstanding": outstanding_ps / measured_ps,
        }
    )
