"""Which metrics the table of the trials has: those of the kinds of jobs that are in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricbench.analysis.kinds import JobKind, job_kind
from fabricbench.report.held import held_metrics

if TYPE_CHECKING:
    from fabricbench.report.html.rows import ResultRow

_TIME = {"completion_time_ms": "time"}
_ROUNDS = {"rounds": "rounds", "round_ms_min": "shortest", "round_ms_max": "longest"}
"""Of jobs that repeat, after the time, which is the mean of a round."""
_RANKS = {
    "rounds": "rounds",
    "rank_ms_min": "rank min",
    "rank_ms_mean": "rank mean",
    "rank_ms_max": "rank max",
}
"""Of jobs with barriers between rounds, in place of those: what MPI benchmarks print."""
_BANDWIDTH = {"algbw_gb_per_s": "algbw", "busbw_gb_per_s": "busbw", "ideal_percent": "of ideal"}
_TRAFFIC = {
    "offered_gb_per_s": "offered",
    "delivered_gb_per_s": "delivered",
    "slowdown_p50": "P50",
    "slowdown_p99": "P99",
}
_STORAGE = {
    "iops": "IOPS",
    "storage_gb_per_s": "throughput",
    "operation_us_mean": "latency mean",
    "operation_us_p50": "P50",
    "operation_us_p95": "P95",
    "operation_us_p99": "P99",
    "operation_us_p999": "P99.9",
    "operation_us_max": "max",
}
_FCT = {
    "fct_ms_min": "FCT min",
    "fct_ms_p50": "FCT P50",
    "fct_ms_p95": "FCT P95",
    "fct_ms_max": "FCT max",
}
_COUNTERS = {
    "pfc_rx": "PFC",
    "ecn_ce_rx": "ECN-CE",
    "cnp_tx": "CNP",
    "retransmits": "retrans.",
    "frames_lost": "lost",
}
_ONCE = {"kind": "rounds", "rounds": 1}


def titles(rows: Sequence[ResultRow]) -> dict[str, str]:
    """Return the metrics of the table that hold something, each with its title."""
    found = _titles_of_kinds(rows)
    return {name: found[name] for name in held_metrics(found, rows)}


def _titles_of_kinds(rows: Sequence[ResultRow]) -> dict[str, str]:
    """Return the metrics of the kinds of the jobs; measured results have the fewest."""
    if not any(row.trial.has("chunks") for row in rows):
        return _TIME | _BANDWIDTH
    kinds = {job_kind(row.job_spec) for row in rows}
    if kinds == {JobKind.STORAGE}:
        return _STORAGE | _COUNTERS
    first = _STORAGE if JobKind.STORAGE in kinds else {}
    traffic = _TRAFFIC if JobKind.OPEN_LOOP in kinds else {}
    bandwidth = _BANDWIDTH if JobKind.COLLECTIVE in kinds else {}
    return first | _TIME | _repeated(rows) | traffic | bandwidth | _FCT | _COUNTERS


def _repeated(rows: Sequence[ResultRow]) -> dict[str, str]:
    """Return the columns of rounds, where a collective has several or has barriers between them."""
    specs = [row.job_spec for row in rows if job_kind(row.job_spec) is JobKind.COLLECTIVE]
    has_barriers = any(spec.get("barrier") for spec in specs)
    repeats = has_barriers or any(spec.get("repeat", _ONCE) != _ONCE for spec in specs)
    return _RANKS if has_barriers else _ROUNDS if repeats else {}
