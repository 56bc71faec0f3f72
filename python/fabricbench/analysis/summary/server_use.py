"""Computes the use of adapters and scale-up domains by jobs that NCCL runs, from table `channels`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.summary.bandwidth import ideal_goodput_gb_per_s
from fabricbench.analysis.summary.job_summary import COMPLETE

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("job", "host", "send_nic", "network_bytes", "scale_up_bytes")
"""Columns of `channels` that are read."""

_BITS_PER_BYTE = 8
_PS_PER_S = 1e12
_BYTES_PER_GB = 1e9
_DIGITS = 9


def use_metrics(
    run_spec: Mapping[str, Any], summary: Mapping[str, Any], channels: Iterable[pa.RecordBatch]
) -> dict[str, dict[str, float]]:
    """Return the metrics of the use of servers by the name of each complete job that NCCL runs.

    Args:
        run_spec: The RunSpec that was run.
        summary: The backend's RunSummary.
        channels: Rows of `channels` with at least `COLUMNS`.
    """
    sent: dict[str, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    inside: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for batch in channels:
        columns = (batch.column(name).to_pylist() for name in COLUMNS)
        for job, host, nic, network_bytes, scale_up_bytes in zip(*columns, strict=True):
            inside[job][host] += scale_up_bytes
            if nic is not None:
                sent[job][host, nic] += network_bytes
    jobs = zip(run_spec["jobs"], summary["jobs"], strict=True)
    return {
        job["name"]: _uses(run_spec, job, outcome, sent[job["name"]], inside[job["name"]])
        for job, outcome in jobs
        if job["name"] in inside and outcome["status"] == COMPLETE and outcome["end_ps"] is not None
    }


def _uses(
    run_spec: Mapping[str, Any],
    job: Mapping[str, Any],
    outcome: Mapping[str, Any],
    sent: Mapping[tuple[int, int], int],
    inside: Mapping[int, int],
) -> dict[str, float]:
    seconds = (outcome["end_ps"] - outcome["start_ps"]) / _PS_PER_S
    if seconds <= 0:
        return {}
    near = run_spec["fabric"]["server"]["adapters_of_gpu"]
    gpus: dict[int, set[int]] = defaultdict(set)
    for host, gpu in zip(job["hosts"], job["gpus"], strict=True):
        gpus[host].add(gpu)
    adapters = {(host, nic) for host, own in gpus.items() for gpu in own for nic in near[gpu]}
    adapter_bytes = ideal_goodput_gb_per_s(run_spec) * _BYTES_PER_GB * seconds
    gpu_bytes = run_spec["fabric"]["shared_memory"]["rate_bps"] / _BITS_PER_BYTE * seconds
    of_adapters = [sent.get(adapter, 0) / adapter_bytes for adapter in adapters | sent.keys()]
    of_servers = [inside[host] / (len(own) * gpu_bytes) for host, own in gpus.items()]
    network = _spread("adapter_use_percent", of_adapters) if len(gpus) > 1 else {}
    return network | _spread("scale_up_use_percent", of_servers)


def _spread(name: str, uses: list[float]) -> dict[str, float]:
    values = {"min": min(uses), "median": median(uses), "max": max(uses)}
    return {f"{name}_{suffix}": round(100 * value, _DIGITS) for suffix, value in values.items()}
