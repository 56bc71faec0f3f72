"""Reads a trial's real hosts: facts, device counters, clock errors; finds times below the clock error."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.store import Trial


class HostCounterJson(TypedDict):
    """A counter of a device that changed during a trial; `counter` is null for names of a vendor only.

    Records older than table `counters` have no `source`.
    """

    device: str
    source: NotRequired[str]
    counter: str | None
    vendor_name: str
    meaning: str | None
    unit: str | None
    before: int
    after: int


class TrialHostJson(TypedDict):
    """A host of a measured trial; earlier records lack some fields.

    `completion_times` is the source of the completion times of chunks (`adapter`, `software` or both),
    `endpoint` has the counters of its endpoint by name.
    """

    host: str
    plays: list[int]
    address: str
    driver: str
    settings: dict[str, str | int | float | bool | None]
    version: str
    facts: dict[str, str]
    clock_offset_ns: float
    clock_error_ns: float
    clock_drift_ns: NotRequired[float]
    completion_times: NotRequired[str]
    endpoint: dict[str, int]
    counters: list[HostCounterJson]


def hosts_of(trial: Trial) -> list[dict[str, Any]]:
    """Return the hosts of a finished trial; empty for a trial without real hosts.

    Each has the facts that its backend stores, and in `counters` the counters that changed while it ran:
    `device`, `source`, `counter` (the neutral name), `vendor_name`, `meaning`, `unit`, `before` and `after`.

    Raises:
        StoreError: The table `counters` cannot be read.
    """
    hosts = [dict(host) for host in trial.engine.get("hosts") or ()]
    # Earlier records, without that table, have the counters among the facts.
    if hosts and trial.has("counters"):
        changed = _changed(trial)
        hosts = [host | {"counters": changed.get(host["host"], [])} for host in hosts]
    return hosts


_TIMES: Final = (
    *("completion_time_ms", "round_ms_min", "round_ms_max"),
    *("rank_ms_min", "rank_ms_mean", "rank_ms_max"),
)
"""Metrics whose interval ends at another host than it begins, or begins with the common start."""
_OF_TIMES: Final = (
    *("algbw_gb_per_s", "busbw_gb_per_s", "busbw_gb_per_s_min", "busbw_gb_per_s_max", "ideal_percent"),
    *("busbw_percent", "jct_ratio"),
)
"""Metrics that are a size over such a time."""


def clock_error_ms(trial: Trial) -> float | None:
    """Return the error of times between two hosts of a trial [ms]; none with fewer than two.

    The offset of each host from the controller's clock has an error, plus that of an adapter's clock if it
    times the ends of chunks. The result is the sum of the two largest errors.
    """
    hosts = trial.engine.get("hosts") or ()
    errors_ns = [
        host["clock_error_ns"] + host["endpoint"].get("completion_clock_error_ns", 0)
        for host in hosts
        if host.get("clock_error_ns") is not None
    ]
    return sum(sorted(errors_ns)[-2:]) / 1e6 if len(errors_ns) > 1 else None


def known_above_ms(trial: Trial, summary: Summary, metric: str) -> float | None:
    """Return the error of the clocks [ms] if a metric is, or is computed from, a time below that error."""
    error_ms = clock_error_ms(trial)
    source = metric if metric in _TIMES else "completion_time_ms" if metric in _OF_TIMES else None
    value = summary.value(source) if error_ms and source else None
    return error_ms if error_ms and value is not None and value < error_ms else None


def is_time(metric: str) -> bool:
    """Return whether a metric is a time between hosts."""
    return metric in _TIMES


def _changed(trial: Trial) -> dict[str, list[dict[str, Any]]]:
    rows_by_host: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for batch in trial.tables.batches("counters"):
        for row in batch.to_pylist():
            # Counters of a lab's links belong to its devices, not to hosts.
            if row["before"] != row["after"] and row["source"] != "lab":
                host = row.pop("host")
                rows_by_host[host].append({"counter": row.pop("name"), **row})
    return rows_by_host
