"""Computes every metric of each job of a trial from its record (result tables): times, rates, counters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.analysis.record.percentiles import nearest_rank, total
from fabricbench.analysis.record.round_sizes import facts_by_size, size_parts
from fabricbench.analysis.record.run_spec import is_measured, warm_up_rounds_of
from fabricbench.analysis.record.tables import Tables
from fabricbench.analysis.summary import kpis, server_use
from fabricbench.analysis.summary.bandwidth import (
    bus_factor,
    busbw_limit,
    compute_ps,
    has_rounds_in_common,
    ideal_goodput_gb_per_s,
    line_rate_bps,
    uses_scale_up,
)
from fabricbench.analysis.summary.job_summary import COMPLETE, STALLED, Summary
from fabricbench.metrics import JobKind
from fabricbench.work import job_kind, pattern_of

if TYPE_CHECKING:
    from fabricbench.analysis.record.chunk_facts import ChunkFacts
    from fabricbench.analysis.summary.fabric_facts import FabricFacts


_PS_PER_MS = 1e9
_PS_PER_S = 1e12
_PS_PER_US = 1e6
_BYTES_PER_GB = 1e9
_SLOWDOWN_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_FCT_SHARES = {"min": 1e-9, "p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
"""Percentiles of completion times. The smallest value is rank 1; any fraction of at most 1/n gives it."""
_OF_RANKS = ("min", "mean", "max")
_MAX_STALLS = 3
_DIGITS = 9
"""Decimals of means and indices: the last bits of a sum of floats depend on the processor."""


def summarise(run_spec: Mapping[str, Any], summary: Mapping[str, Any], tables: Tables) -> list[Summary]:
    """Compute the metrics of every job of a trial.

    Args:
        run_spec: The RunSpec that was run.
        summary: The backend's RunSummary: `status`, `jobs` in the order of the spec, `frames_lost` by cause.
        tables: The record tables; `chunks` or its counts, `channels`, `ports`, `links` and `series` are read,
            batch by batch, and `events` of a stalled run.

    Returns:
        One summary for each job, in the order of the spec; for a job whose rounds have several data sizes,
        one for each of them, ascending.
    """
    from fabricbench.analysis.record.chunk_counts import gather_facts
    from fabricbench.analysis.record.chunk_facts import ChunkFacts, OperationFacts
    from fabricbench.analysis.summary.fabric_facts import LINK_COLUMNS, PORT_COLUMNS, FabricFacts
    from fabricbench.analysis.summary.measured import measured_summary

    if is_measured(run_spec):
        return [measured_summary(run_spec, summary)]
    jobs, stalls, links_down = run_spec["jobs"], _stalls(summary, tables), _links_down_at_end(summary, tables)
    chunk_facts = {
        job["name"]: ChunkFacts(
            _rounds(job, outcome),
            _offered_until_ps(job),
            OperationFacts.of(job),
            warm_up_rounds_of(outcome),
            facts_by_size(job, _rounds(job, outcome)),
        )
        for job, outcome in zip(jobs, summary["jobs"], strict=True)
    }
    gather_facts(run_spec, tables, chunk_facts)
    fabric_facts = FabricFacts(tables.batches("ports", PORT_COLUMNS), tables.batches("links", LINK_COLUMNS))
    run_metrics = _run_metrics(fabric_facts, summary) | _sampled_metrics(
        run_spec, summary, tables, fabric_facts
    )
    server_uses = server_use.use_metrics(run_spec, summary, tables.batches("channels", server_use.COLUMNS))
    parts: list[tuple[Mapping[str, Any], Mapping[str, Any], ChunkFacts]] = []
    for job, outcome in zip(jobs, summary["jobs"], strict=True):
        facts = chunk_facts[job["name"]]
        of_sizes = facts.sizes and size_parts(job, outcome, facts.sizes)
        parts += of_sizes or [(job, outcome, facts)]
    return [
        Summary.of(
            job_kind(job),
            _facts(job, outcome, stalls, _link_texts(fabric_facts.names(job["hosts"]), links_down)),
            _with_lost_at_most(_frames_lost(summary), _job_metrics(run_spec, job, outcome, facts))
            | {"pfc_rx": fabric_facts.pfc_rx(sorted(set(job["hosts"])))}
            | server_uses.get(job["name"], {})
            | run_metrics,
        )
        for job, outcome, facts in parts
    ]


def _job_metrics(
    run_spec: Mapping[str, Any], job: Mapping[str, Any], outcome: Mapping[str, Any], facts: ChunkFacts
) -> dict[str, Any]:
    """Return the metrics of a job from its outcome and chunks, including those of its kind."""
    from fabricbench.analysis.summary.storage_metrics import operation_metrics

    is_complete = outcome["status"] == COMPLETE
    own: dict[str, Any] = {}
    match job_kind(job):
        case JobKind.COLLECTIVE:
            own = _bandwidths(run_spec, job, outcome, facts) | _rank_times(outcome)
        case JobKind.OPEN_LOOP:
            own = _traffic(job, outcome, facts)
        case JobKind.STORAGE:
            own = operation_metrics(facts, is_complete=is_complete)
    late = outcome.get("late", {})
    return (
        _completion(outcome, facts)
        | own
        | _goodput(job, outcome, own, facts)
        | facts.wire.metrics(run_spec, facts.counters["rx_frames"], late.get("frames", 0))
        | _chunk_metrics(facts, late, is_complete=is_complete)
        | _messages(outcome)
        | _latency(facts)
        | kpis.of_frames(facts, late)
    )


def _messages(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages lost on unreliable connections."""
    messages = outcome.get("messages")
    return {} if messages is None else {"messages_lost": messages["sent"] - messages["received"]}


def _goodput(
    job: Mapping[str, Any], outcome: Mapping[str, Any], own: Mapping[str, Any], facts: ChunkFacts
) -> dict[str, float | None]:
    """Return the goodput of the application [Gb/s]; for a collective only if every chunk completed."""
    for name in ("delivered_gb_per_s", "storage_gb_per_s"):
        if name in own:
            return {"goodput_gbps": None if own[name] is None else 8 * own[name]}
    if outcome["status"] != COMPLETE or outcome["end_ps"] is None:
        return {}
    total_ps, _, _ = _round_times(outcome, facts)
    payload_bits, spent_ps = 8 * facts.payload_bytes(), total_ps - outcome["rounds"] * compute_ps(job)
    return {"goodput_gbps": payload_bits / (spent_ps / _PS_PER_S) / _BYTES_PER_GB} if spent_ps > 0 else {}


def _frames_lost(summary: Mapping[str, Any]) -> int | None:
    """Return the frames that were lost in the fabric; none if not counted."""
    lost = summary.get("frames_lost")
    return None if lost is None else sum(lost.values())


def _with_lost_at_most(lost: int | None, metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of a job, limited to frames lost, as frames in flight at the end are not lost."""
    own = metrics.get("data_frames_lost")
    return metrics if lost is None or own is None else metrics | {"data_frames_lost": min(own, lost)}


def _stalls(summary: Mapping[str, Any], tables: Tables) -> list[str] | None:
    """Return the causes of a stalled run from its events; none for any other run."""
    if summary["status"] != STALLED:
        return None
    from fabricbench.analysis.faults import deadlock

    events = [row for batch in tables.batches("events") for row in batch.to_pylist()]
    cycles = deadlock.circles(events)
    if cycles:
        return [f"PFC deadlock at {deadlock.circle_text(cycle)}" for cycle in cycles]
    return [f"{event['node']} {event['detail']}" for event in events if event["kind"] == STALLED]


def _links_down_at_end(summary: Mapping[str, Any], tables: Tables) -> Mapping[str, int]:
    """Return the links that were down at the end of an incomplete run, and since when [ps]."""
    if summary["status"] == COMPLETE:
        return {}
    from fabricbench.analysis.faults.remaining_links import links_down

    return links_down(tables)


def _link_texts(hosts: Sequence[str], links_down: Mapping[str, int]) -> list[str]:
    """Return a description of the links of some hosts that were down until the end."""
    own_links = {
        link: at_ps for link, at_ps in links_down.items() if not set(hosts).isdisjoint(link.split("-"))
    }
    descriptions = [f"{link} is down from {at_ps / _PS_PER_MS:g} ms on" for link, at_ps in own_links.items()]
    more = [f"and {len(descriptions) - _MAX_STALLS} more"] if len(descriptions) > _MAX_STALLS else []
    return [*descriptions[:_MAX_STALLS], *more]


def _facts(
    job: Mapping[str, Any],
    outcome: Mapping[str, Any],
    stalls: Sequence[str] | None,
    cut_off: Sequence[str],
) -> dict[str, Any]:
    copied = ("rounds", "chunks", "chunks_complete", "chunks_failed")
    pattern, status, reason = pattern_of(job), outcome["status"], outcome["reason"]
    if status != COMPLETE:
        reason = "; ".join([*cut_off, reason])
    if stalls is not None and status != COMPLETE:
        status, unnamed = STALLED, len(stalls) - _MAX_STALLS
        more = [f"and {unnamed} more"] if unnamed > 0 else []
        reason = "; ".join([part for part in (reason,) if part] + [*stalls[:_MAX_STALLS], *more])
    return {
        "status": status,
        "reason": reason,
        "job": job["name"],
        "collective": pattern["collective"],
        "algorithm": pattern["algorithm"],
        "ranks": len(job["hosts"]),
        "data_size_bytes": pattern["data_bytes"],
    } | {name: outcome[name] for name in copied}


def _completion(outcome: Mapping[str, Any], facts: ChunkFacts) -> dict[str, Any]:
    """Return the completion time; none unless every chunk completed.

    For open-loop traffic and storage it follows from the duration of the offer.
    """
    if outcome["status"] != COMPLETE or outcome["end_ps"] is None:
        return {}
    total_ps, _, _ = _round_times(outcome, facts)
    return {"completion_time_ms": total_ps / outcome["rounds"] / _PS_PER_MS}


def _bandwidths(
    run_spec: Mapping[str, Any], job: Mapping[str, Any], outcome: Mapping[str, Any], facts: ChunkFacts
) -> dict[str, Any]:
    """Return the times and bandwidths of rounds; empty unless every chunk completed."""
    if outcome["status"] != COMPLETE or outcome["end_ps"] is None:
        return {}

    total_ps, shortest_ps, longest_ps = _round_times(outcome, facts)
    mean_ps = total_ps / outcome["rounds"]
    times = {"round_ms_min": shortest_ps / _PS_PER_MS, "round_ms_max": longest_ps / _PS_PER_MS}
    spent_ps = compute_ps(job)
    if min(shortest_ps, mean_ps) <= spent_ps:
        # Operations without duration, such as a copy in memory without latency, have no bandwidth.
        return times
    pattern = pattern_of(job)
    factor = bus_factor(pattern["collective"], len(job["hosts"]))
    algbw, slowest, fastest = (
        pattern["data_bytes"] / ((time_ps - spent_ps) / _PS_PER_S) / _BYTES_PER_GB
        for time_ps in (mean_ps, longest_ps, shortest_ps)
    )
    line_bps = busbw_limit(run_spec, job, line_rate_bps(run_spec), 1)
    line_bps = None if has_rounds_in_common(job) else line_bps
    ideal = busbw_limit(run_spec, job, ideal_goodput_gb_per_s(run_spec))
    has_ideal = line_bps is not None and ideal is not None and not uses_scale_up(run_spec, job)
    return times | {
        "algbw_gb_per_s": algbw,
        "busbw_gb_per_s": algbw * factor,
        "busbw_gb_per_s_min": slowest * factor,
        "busbw_gb_per_s_max": fastest * factor,
        "ideal_percent": 100 * algbw * factor / ideal if has_ideal and ideal else None,
        **(kpis.of_bandwidth(line_bps, algbw * factor, spent_ps / mean_ps) if line_bps and factor else {}),
    }


def _round_times(outcome: Mapping[str, Any], facts: ChunkFacts) -> tuple[int, int, int]:
    """Return the total time of the rounds, and the shortest and longest round [ps]."""
    if times := outcome.get("round_times"):
        return times["sum_ps"], times["min_ps"], times["max_ps"]
    # Records of an engine without warm-up rounds and barriers.
    total_ps = outcome["end_ps"] - outcome["start_ps"]
    times_ps = [total_ps] if outcome["rounds"] == 1 else facts.round_times_ps(outcome["start_ps"])
    return total_ps, min(times_ps), max(times_ps)


def _rank_times(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the times of a round at single ranks."""
    times = outcome.get("rank_times")
    return {f"rank_ms_{name}": times[f"{name}_ps"] / _PS_PER_MS for name in _OF_RANKS} if times else {}


def _rounds(job: Mapping[str, Any], outcome: Mapping[str, Any]) -> int:
    """Return the number of measured rounds; the operations of a storage job are in one."""
    return 1 if job_kind(job) is JobKind.STORAGE else int(outcome["rounds"])


def _offered_until_ps(job: Mapping[str, Any]) -> int:
    """Return when the last message of open-loop traffic may be offered; 0 for any other job."""
    is_offered = job_kind(job) is JobKind.OPEN_LOOP
    return int(job["start_ps"] + job["work"]["duration_ps"]) if is_offered else 0


def _traffic(job: Mapping[str, Any], outcome: Mapping[str, Any], facts: ChunkFacts) -> dict[str, Any]:
    """Return offered and delivered rate and the slowdowns of open-loop traffic."""
    from fabricbench.analysis.record.chunk_counts import mean_of_floats, ranked

    seconds = job["work"]["duration_ps"] / _PS_PER_S
    rates = {
        "offered_gb_per_s": facts.offered_bytes / seconds / _BYTES_PER_GB,
        "delivered_gb_per_s": facts.delivered_bytes / seconds / _BYTES_PER_GB,
    }
    if facts.offered_bytes:
        rates["delivered_percent"] = 100 * facts.delivered_bytes / facts.offered_bytes
    if job["work"]["process"] == "constant":
        rates["out_of_service_us"] = facts.wire.out_of_service_us(job["work"]["rate_bps"])
    slowdowns, fractions = facts.slowdown_values(), list(_SLOWDOWN_SHARES.values())
    if outcome["status"] != COMPLETE or not (len(slowdowns) or facts.slowdown_counts):
        return rates
    if facts.slowdown_counts:
        values, mean = ranked(facts.slowdown_counts, fractions), mean_of_floats(facts.slowdown_counts)
    else:
        values = nearest_rank(slowdowns, fractions)
        mean = math.fsum(slowdowns.to_pylist()) / len(slowdowns)
    slowdown_metrics: dict[str, float] = dict(zip(_SLOWDOWN_SHARES, values, strict=True)) | {"mean": mean}
    return rates | {f"slowdown_{name}": round(value, _DIGITS) for name, value in slowdown_metrics.items()}


def _chunk_metrics(facts: ChunkFacts, late: Mapping[str, int], *, is_complete: bool) -> dict[str, Any]:
    """Return counters, and flow completion times unless these would omit the worst chunks.

    Frames that arrived `late`, after their chunk had been delivered, are in the counters but in no row.
    """
    counters = {
        name: None if count is None else count + late.get(name, 0) for name, count in facts.counters.items()
    }
    rx_frames, out_of_order = counters.pop("rx_frames"), counters.pop("out_of_order")
    percentage = None
    if rx_frames and out_of_order is not None:
        percentage = round(100 * out_of_order / rx_frames, _DIGITS)
    return counters | {"out_of_order_percent": percentage} | _flow_completion(facts if is_complete else None)


def _flow_completion(facts: ChunkFacts | None) -> dict[str, Any]:
    from fabricbench.analysis.record.chunk_counts import mean_of_integers, ranked

    if facts is None or not (facts.fct_ps or facts.fct_counts):
        return {}
    fractions = list(_FCT_SHARES.values())
    if facts.fct_counts:
        values, mean_ps = ranked(facts.fct_counts, fractions), mean_of_integers(facts.fct_counts)
    else:
        times_ps = facts.completion_times_ps()
        values, mean_ps = nearest_rank(times_ps, fractions), total(times_ps) / len(times_ps)
    fairness, rates = facts.fairness(), facts.busbw_gb_per_s()
    of_chunks = {
        f"chunk_busbw_gb_per_s_{name}": round(rate, _DIGITS)
        for name, rate in zip(("min", "mean", "max"), rates or (), strict=False)
    }
    times = {f"fct_ms_{name}": value / _PS_PER_MS for name, value in zip(_FCT_SHARES, values, strict=True)}
    return (times | of_chunks) | {
        "fct_mean_ms": mean_ps / _PS_PER_MS,
        "jain_fairness": None if fairness is None else round(fairness, _DIGITS),
    }


def _latency(facts: ChunkFacts) -> dict[str, Any]:
    if not facts.latency_frames or facts.latency_min_ps is None or facts.latency_max_ps is None:
        return {}
    return {
        "latency_us_min": facts.latency_min_ps / _PS_PER_US,
        "latency_us_mean": round(facts.latency_sum_ps / facts.latency_frames / _PS_PER_US, _DIGITS),
        "latency_us_max": facts.latency_max_ps / _PS_PER_US,
    }


def _run_metrics(facts: FabricFacts, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics that all jobs of a trial have in common."""
    ratio = facts.link_load_max_to_mean
    return kpis.of_fabric(facts, summary) | {
        "frames_lost": _frames_lost(summary),
        "link_load_max_to_mean": None if ratio is None else round(ratio, _DIGITS),
        "queue_max_bytes": facts.queue_max_bytes,
    }


def _sampled_metrics(
    run_spec: Mapping[str, Any], summary: Mapping[str, Any], tables: Tables, facts: FabricFacts
) -> dict[str, Any]:
    """Return the metrics of a run that need samples, if there are any."""
    from fabricbench.analysis.record import series_facts
    from fabricbench.analysis.summary import convergence

    sampled = series_facts.SampleFacts(tables.batches("series", series_facts.COLUMNS))
    return {
        "queue_p95_bytes": sampled.queue_p95_bytes(facts.hosts, facts.switch_ports),
        "convergence_us": convergence.convergence(run_spec, summary, tables, sampled).us,
    }
