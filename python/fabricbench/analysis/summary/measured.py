"""Computes the metrics of an imported benchmark result, as far as the benchmark measures them.

The specification of a measured trial has `measured`: the benchmark and the facts about the machines that it
printed; and `jobs`: the operations it ran. It has `fabric` and `transport`, with the fields that the ideal
needs, if the user named a plan of the same fabric. Frames, chunks and queues are unknown: none, not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricbench.analysis.record.run_spec import has_fabric
from fabricbench.analysis.summary.bandwidth import (
    BUS_FACTORS,
    bus_factor,
    busbw_limit,
    ideal_goodput_gb_per_s,
    line_rate_bps,
)
from fabricbench.analysis.summary.job_summary import COMPLETE, Summary
from fabricbench.analysis.summary.kpis import of_bandwidth
from fabricbench.metrics import JobKind

_US_PER_MS = 1e3
_US_PER_S = 1e6
_BYTES_PER_GB = 1e9


def measured_summary(run_spec: Mapping[str, Any], summary: Mapping[str, Any]) -> Summary:
    """Compute the metrics of a measured trial.

    Args:
        run_spec: Its specification; `jobs` has one job.
        summary: `jobs` with `status` and `reason` of the job, `result` with `time_us` (of one operation, the
            mean), `time_us_min`, `time_us_max` (over iterations), `rank_us_min`, `rank_us_max` (over ranks),
            `gb_per_s` (where a rate is measured) and `iterations`, each none where the benchmark does not
            print it.
    """
    job, outcome, result = run_spec["jobs"][0], summary["jobs"][0], summary["result"]
    facts = {
        "job": job["name"],
        "collective": job["collective"],
        "algorithm": None,
        "ranks": job["ranks"],
        "data_size_bytes": job["data_bytes"],
        "status": outcome["status"],
        "reason": outcome["reason"],
        "rounds": result["iterations"],
        "chunks": None,
        "chunks_complete": None,
        "chunks_failed": None,
    }
    is_complete = outcome["status"] == COMPLETE
    metrics = _times(result) | _rates(run_spec, job, result) if is_complete else {}
    return Summary.of(JobKind.COLLECTIVE, facts, metrics)


def _times(result: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the mean time of an operation and, where known, the shortest and longest."""
    names = {"completion_time_ms": "time_us", "round_ms_min": "time_us_min", "round_ms_max": "time_us_max"}
    times = {name: result[key] / _US_PER_MS if result[key] else None for name, key in names.items()}
    # Earlier records have no times by rank.
    if result["time_us"] is None or result.get("rank_us_min") is None or result["rank_us_max"] is None:
        return times
    of_ranks = {"rank_ms_min": "rank_us_min", "rank_ms_mean": "time_us", "rank_ms_max": "rank_us_max"}
    return times | {name: result[key] / _US_PER_MS for name, key in of_ranks.items()}


_EQUIVALENT_COLLECTIVES: Mapping[str, str] = {"hypercube": "all-gather"}
"""Collectives that only benchmarks have, with one of a plan that moves the same bytes through each port."""


def _rates(
    run_spec: Mapping[str, Any], job: Mapping[str, Any], result: Mapping[str, Any]
) -> dict[str, float | None]:
    """Return algorithm and bus bandwidth; empty for a size of 0 or a time that the clock rounds to 0."""
    collective, ranks, size = job["collective"], job["ranks"], job["data_bytes"]
    if not size or not (result["time_us"] or result["gb_per_s"]):
        return {}
    if result["time_us"]:
        algbw = size / (result["time_us"] / _US_PER_S) / _BYTES_PER_GB
    else:
        algbw = result["gb_per_s"]
    equivalent = _EQUIVALENT_COLLECTIVES.get(collective, collective)
    if equivalent not in BUS_FACTORS:
        return {"algbw_gb_per_s": algbw}
    busbw = algbw * bus_factor(equivalent, ranks)
    rates = {"algbw_gb_per_s": algbw, "busbw_gb_per_s": busbw}
    for name, key in (("busbw_gb_per_s_min", "time_us_max"), ("busbw_gb_per_s_max", "time_us_min")):
        if result["time_us"] and result[key]:
            rates[name] = busbw * result["time_us"] / result[key]
    if has_fabric(run_spec) and not job["shares_ports"]:
        # Jobs that ran in parallel have their own ports.
        of_a_port = busbw / job.get("pooled_jobs", 1)
        goodput, line_bps = ideal_goodput_gb_per_s(run_spec), float(line_rate_bps(run_spec))
        if run_spec["fabric"].get("server"):
            ideal, line = busbw_limit(run_spec, job, goodput), busbw_limit(run_spec, job, line_bps, 1)
            if ideal is None or line is None:
                return rates
            goodput, line_bps = ideal, line
        rates["ideal_percent"] = 100 * of_a_port / goodput
        rates |= of_bandwidth(line_bps, of_a_port) if busbw else {}
    return rates
