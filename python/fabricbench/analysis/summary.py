"""From the record of a trial to one summary for each job."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fabricbench.analysis.bandwidth import (
    bus_factor,
    has_rounds_in_common,
    ideal_goodput_gb_per_s,
    shares_ports,
    uses_scale_up,
)
from fabricbench.analysis.evidence import warm_up_rounds_of

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.analysis.chunks import ChunkFacts
    from fabricbench.analysis.fabric import FabricFacts

COMPLETE = "complete"
STALLED = "stalled"

_PS_PER_MS = 1e9
_PS_PER_S = 1e12
_PS_PER_US = 1e6
_BYTES_PER_GB = 1e9
_COMPLETION = (
    "completion_time_ms",
    "round_ms_min",
    "round_ms_max",
    "algbw_gb_per_s",
    "busbw_gb_per_s",
    "busbw_gb_per_s_min",
    "busbw_gb_per_s_max",
    "ideal_percent",
)
_RANK_TIMES = {"rank_ms_min": "min_ps", "rank_ms_mean": "mean_ps", "rank_ms_max": "max_ps"}
_TRAFFIC = (
    "offered_gb_per_s",
    "delivered_gb_per_s",
    "slowdown_mean",
    "slowdown_p50",
    "slowdown_p95",
    "slowdown_p99",
    "slowdown_max",
)
_SLOWDOWN_SHARES = (0.5, 0.95, 0.99)
_FCT_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_MAX_STALLS = 3
_DIGITS = 9
"""Decimals kept of means and indices: the last bits of a sum of floats depend on the processor."""


class Tables(Protocol):
    """The record tables of a trial."""

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table, all columns or some."""


@dataclass(frozen=True)
class Summary:
    """What a trial shows about one job: the metrics of `fabricbench.analysis.metrics`, under their names.

    Attributes:
        job: Name of the job.
        collective: What its ranks did.
        algorithm: How; none of a measured job that does not say.
        ranks: How many there are.
        data_size_bytes: Data size S of the collective.
        status: `complete`; `incomplete` if a chunk never completed; `stalled` if that was because the run
            made no progress any more. Only a complete job has times, rates and FCT. A job that goes on until
            others end is complete unless a chunk failed.
        reason: Why it is not complete, with the chunks concerned and what stalled; empty otherwise.
        rounds: Complete rounds, without those to warm up; of a measured job how often it was measured, none
            where that is not said.
        chunks: Data chunks of all rounds, times the queue pairs that each is split over; of a job that goes
            on until others end, those posted. None of a measured job, as all that is counted by frame.
        chunks_complete: Those that completed.
        chunks_failed: Those whose queue pair ran out of retries.
    """

    job: str
    collective: str
    algorithm: str | None
    ranks: int
    data_size_bytes: int
    status: str
    reason: str
    rounds: int | None
    chunks: int | None
    chunks_complete: int | None
    chunks_failed: int | None
    completion_time_ms: float | None
    round_ms_min: float | None
    round_ms_max: float | None
    rank_ms_min: float | None
    rank_ms_mean: float | None
    rank_ms_max: float | None
    algbw_gb_per_s: float | None
    busbw_gb_per_s: float | None
    busbw_gb_per_s_min: float | None
    busbw_gb_per_s_max: float | None
    ideal_percent: float | None
    offered_gb_per_s: float | None
    delivered_gb_per_s: float | None
    slowdown_mean: float | None
    slowdown_p50: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None
    slowdown_max: float | None
    iops: float | None
    storage_gb_per_s: float | None
    operation_us_min: float | None
    operation_us_p50: float | None
    operation_us_p95: float | None
    operation_us_p99: float | None
    operation_us_p999: float | None
    operation_us_max: float | None
    operation_us_mean: float | None
    fct_ms_min: float | None
    fct_ms_p50: float | None
    fct_ms_p95: float | None
    fct_ms_p99: float | None
    fct_ms_p999: float | None
    fct_ms_max: float | None
    fct_mean_ms: float | None
    jain_fairness: float | None
    latency_us_min: float | None
    latency_us_mean: float | None
    latency_us_max: float | None
    pfc_rx: int | None
    ecn_ce_rx: int | None
    cnp_tx: int | None
    retransmits: int | None
    frames_lost: int | None
    out_of_order_percent: float | None
    link_load_max_to_mean: float | None
    queue_max_bytes: int | None

    def value(self, metric: str) -> float | int | None:
        """Return a metric by name; none where it could not be measured."""
        value: float | int | None = getattr(self, metric)
        return value


def summarise(run_spec: Mapping[str, Any], summary: Mapping[str, Any], tables: Tables) -> list[Summary]:
    """Compute the metrics of every job of a trial.

    Args:
        run_spec: The RunSpec that was run.
        summary: The backend's RunSummary: `status`, `jobs` in the order of the spec, `frames_lost` by cause.
        tables: The record tables; `chunks`, `ports` and `links` are read, batch by batch, and `events` of a
            stalled run.

    Returns:
        One summary for each job, in the order of the spec.
    """
    from fabricbench.analysis import chunks, fabric
    from fabricbench.analysis.measured import is_measured, measured_summary
    from fabricbench.analysis.operations import OperationFacts, operation_metrics

    if is_measured(run_spec):
        return [measured_summary(run_spec, summary)]
    jobs, stalls, cuts = run_spec["jobs"], _stalls(summary, tables), _cuts(summary, tables)
    chunk_facts = {
        job["name"]: chunks.ChunkFacts(
            _rounds(job, outcome), _offered_until_ps(job), OperationFacts.of(job), warm_up_rounds_of(outcome)
        )
        for job, outcome in zip(jobs, summary["jobs"], strict=True)
    }
    chunks.gather(tables.batches("chunks", chunks.COLUMNS), chunk_facts)
    fabric_facts = fabric.FabricFacts(
        tables.batches("ports", fabric.PORT_COLUMNS), tables.batches("links", fabric.LINK_COLUMNS)
    )
    return [
        Summary(
            **_identity(job, outcome, stalls, cuts),
            **_completion(run_spec, job, outcome, chunk_facts[job["name"]]),
            **_rank_times(job, outcome),
            **_traffic(job, outcome, chunk_facts[job["name"]]),
            **operation_metrics(chunk_facts[job["name"]], is_complete=outcome["status"] == COMPLETE),
            **_chunk_metrics(
                chunk_facts[job["name"]], outcome.get("late", {}), is_complete=outcome["status"] == COMPLETE
            ),
            **_latency(chunk_facts[job["name"]]),
            **_fabric_metrics(fabric_facts, job),
            frames_lost=_frames_lost(summary),
        )
        for job, outcome in zip(jobs, summary["jobs"], strict=True)
    ]


def _frames_lost(summary: Mapping[str, Any]) -> int | None:
    """Return the frames that were lost in the fabric; none where nobody looked."""
    lost = summary.get("frames_lost")
    return None if lost is None else sum(lost.values())


def _stalls(summary: Mapping[str, Any], tables: Tables) -> list[str] | None:
    """Return what held a stalled run up, from its events; none for any other run."""
    from fabricbench.analysis import deadlock

    if summary["status"] != STALLED:
        return None
    events = [row for batch in tables.batches("events") for row in batch.to_pylist()]
    circles = deadlock.circles(events)
    if circles:
        return [f"PFC deadlock at {deadlock.circle_text(circle)}" for circle in circles]
    return [f"{event['node']} {event['detail']}" for event in events if event["kind"] == STALLED]


def _cuts(summary: Mapping[str, Any], tables: Tables) -> Mapping[str, int]:
    """Return the links that were down when a run ended that is not complete, and since when [ps]."""
    from fabricbench.analysis.failures import links_down

    return {} if summary["status"] == COMPLETE else links_down(tables)


def _cut_off(job: Mapping[str, Any], cuts: Mapping[str, int]) -> list[str]:
    """Say which links of a job's hosts were down to the end."""
    hosts = {f"host{number}" for number in job["hosts"]}
    own = {link: at_ps for link, at_ps in cuts.items() if not hosts.isdisjoint(link.split("-"))}
    told = [f"{link} is down from {at_ps / _PS_PER_MS:g} ms on" for link, at_ps in own.items()]
    more = [f"and {len(told) - _MAX_STALLS} more"] if len(told) > _MAX_STALLS else []
    return [*told[:_MAX_STALLS], *more]


def _identity(
    job: Mapping[str, Any],
    outcome: Mapping[str, Any],
    stalls: Sequence[str] | None,
    cuts: Mapping[str, int],
) -> dict[str, Any]:
    copied = ("rounds", "chunks", "chunks_complete", "chunks_failed")
    status, reason = outcome["status"], outcome["reason"]
    if status != COMPLETE:
        reason = "; ".join([*_cut_off(job, cuts), reason])
    if stalls is not None and status != COMPLETE:
        status, rest = STALLED, len(stalls) - _MAX_STALLS
        more = [f"and {rest} more"] if rest > 0 else []
        reason = "; ".join([part for part in (reason,) if part] + [*stalls[:_MAX_STALLS], *more])
    return {
        "status": status,
        "reason": reason,
        "job": job["name"],
        "collective": job["collective"],
        "algorithm": job["algorithm"],
        "ranks": len(job["hosts"]),
        "data_size_bytes": job["data_bytes"],
    } | {name: outcome[name] for name in copied}


def _completion(
    run_spec: Mapping[str, Any], job: Mapping[str, Any], outcome: Mapping[str, Any], facts: ChunkFacts
) -> dict[str, Any]:
    """Return completion time and bandwidths of a round; none of them unless every chunk of it completed."""
    if outcome["status"] != COMPLETE or outcome["end_ps"] is None:
        return dict.fromkeys(_COMPLETION)
    total_ps, shortest_ps, longest_ps = _round_times(outcome, facts)
    mean_ps = total_ps / outcome["rounds"]
    if job.get("arrivals") or job.get("storage"):
        # How long it takes follows from how long messages are offered; see `_traffic`.
        return dict.fromkeys(_COMPLETION) | {"completion_time_ms": mean_ps / _PS_PER_MS}
    times = (mean_ps / _PS_PER_MS, shortest_ps / _PS_PER_MS, longest_ps / _PS_PER_MS)
    known = dict.fromkeys(_COMPLETION) | dict(zip(_COMPLETION, times, strict=False))
    if not shortest_ps or not mean_ps:
        # What takes no time, such as a copy in memory without latency, has no bandwidth.
        return known
    factor = bus_factor(job["collective"], len(job["hosts"]))
    algbw, slowest, fastest = (
        job["data_bytes"] / (time_ps / _PS_PER_S) / _BYTES_PER_GB
        for time_ps in (mean_ps, longest_ps, shortest_ps)
    )
    has_ideal = not (shares_ports(job) or uses_scale_up(run_spec, job) or has_rounds_in_common(job))
    ideal_percent = 100 * algbw * factor / ideal_goodput_gb_per_s(run_spec) if has_ideal else None
    bandwidths = (algbw, algbw * factor, slowest * factor, fastest * factor, ideal_percent)
    return known | dict(zip(_COMPLETION[len(times) :], bandwidths, strict=True))


def _round_times(outcome: Mapping[str, Any], facts: ChunkFacts) -> tuple[int, int, int]:
    """Return what the rounds took together, and the shortest and the longest of them [ps]."""
    if times := outcome.get("round_times"):
        return times["sum_ps"], times["min_ps"], times["max_ps"]
    # The record of an engine that had neither rounds to warm up nor barriers.
    total_ps = outcome["end_ps"] - outcome["start_ps"]
    times_ps = [total_ps] if outcome["rounds"] == 1 else facts.round_times_ps(outcome["start_ps"])
    return total_ps, min(times_ps), max(times_ps)


def _rank_times(job: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the times of a round at single ranks; none of open-loop traffic and of storage."""
    times = outcome.get("rank_times")
    if not times or job.get("arrivals") or job.get("storage"):
        return dict.fromkeys(_RANK_TIMES)
    return {name: times[key] / _PS_PER_MS for name, key in _RANK_TIMES.items()}


def _rounds(job: Mapping[str, Any], outcome: Mapping[str, Any]) -> int:
    """Return how many rounds count; the operations of a storage job are all of one."""
    return 1 if job.get("storage") else int(outcome["rounds"])


def _offered_until_ps(job: Mapping[str, Any]) -> int:
    """Return when the last message of open-loop traffic may be offered; 0 for any other job."""
    arrivals = job.get("arrivals")
    return int(job["start_ps"] + arrivals["duration_ps"]) if arrivals else 0


def _traffic(job: Mapping[str, Any], outcome: Mapping[str, Any], facts: ChunkFacts) -> dict[str, Any]:
    """Return offered and delivered rate and the slowdowns of open-loop traffic; none of any other job."""
    from fabricbench.analysis.distribution import nearest_rank

    if not job.get("arrivals"):
        return dict.fromkeys(_TRAFFIC)
    seconds = job["arrivals"]["duration_ps"] / _PS_PER_S
    rates = [each / seconds / _BYTES_PER_GB for each in (facts.offered_bytes, facts.delivered_bytes)]
    slowdowns = facts.slowdown_values()
    if outcome["status"] != COMPLETE or not len(slowdowns):
        return dict.fromkeys(_TRAFFIC) | dict(zip(_TRAFFIC, rates, strict=False))
    ranked = [round(value, _DIGITS) for value in nearest_rank(slowdowns, [*_SLOWDOWN_SHARES, 1.0])]
    mean = round(math.fsum(slowdowns.to_pylist()) / len(slowdowns), _DIGITS)
    return dict(zip(_TRAFFIC, (*rates, mean, *ranked), strict=True))


def _chunk_metrics(facts: ChunkFacts, late: Mapping[str, int], *, is_complete: bool) -> dict[str, Any]:
    """Return counters, and the figures of flow completion unless they would leave out the worst chunks.

    Frames that came `late`, after their chunk had been delivered, are in the counters and in no chunk's row.
    """
    counters = {
        name: None if count is None else count + late.get(name, 0) for name, count in facts.counters.items()
    }
    rx_frames, out_of_order = counters.pop("rx_frames"), counters.pop("out_of_order")
    share = None
    if rx_frames and out_of_order is not None:
        share = round(100 * out_of_order / rx_frames, _DIGITS)
    return counters | {"out_of_order_percent": share} | _flow_completion(facts if is_complete else None)


def _flow_completion(facts: ChunkFacts | None) -> dict[str, Any]:
    from fabricbench.analysis.distribution import nearest_rank, total

    names = [f"fct_ms_{name}" for name in ("min", *_FCT_SHARES, "max")]
    if facts is None or not facts.fct_ps:
        return dict.fromkeys((*names, "fct_mean_ms", "jain_fairness"))
    times_ps = facts.completion_times_ps()
    # The smallest value is rank 1; any share of at most 1/n gives it.
    ranked = nearest_rank(times_ps, [1e-9, *_FCT_SHARES.values(), 1.0])
    fairness = facts.fairness()
    return {name: value / _PS_PER_MS for name, value in zip(names, ranked, strict=True)} | {
        "fct_mean_ms": total(times_ps) / len(times_ps) / _PS_PER_MS,
        "jain_fairness": None if fairness is None else round(fairness, _DIGITS),
    }


def _latency(facts: ChunkFacts) -> dict[str, Any]:
    if not facts.latency_frames or facts.latency_min_ps is None or facts.latency_max_ps is None:
        return dict.fromkeys(("latency_us_min", "latency_us_mean", "latency_us_max"))
    return {
        "latency_us_min": facts.latency_min_ps / _PS_PER_US,
        "latency_us_mean": round(facts.latency_sum_ps / facts.latency_frames / _PS_PER_US, _DIGITS),
        "latency_us_max": facts.latency_max_ps / _PS_PER_US,
    }


def _fabric_metrics(facts: FabricFacts, job: Mapping[str, Any]) -> dict[str, Any]:
    ratio = facts.link_load_max_to_mean
    return {
        "pfc_rx": facts.pfc_rx(sorted(set(job["hosts"]))),
        "link_load_max_to_mean": None if ratio is None else round(ratio, _DIGITS),
        "queue_max_bytes": facts.queue_max_bytes,
    }
