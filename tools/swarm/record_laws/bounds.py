"""Laws about the table `trials`: upper and lower bounds of its figures; figures of incomplete jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from tools.swarm.record import JobRecord, Record, Violation
from tools.swarm.record_laws.chunks import complete


def bound_laws(record: Record) -> Iterator[Violation]:
    """Yield figures beyond their bounds."""
    for job in record.parts:
        figures = job.results
        for rule, holds in _bounds(job, figures):
            if not holds:
                bounded_figures = {
                    name: value for name, value in figures.items() if name in _BOUNDED and value is not None
                }
                yield Violation(rule, f"trials: {job.name}: {bounded_figures}; {_slowest(job)}")


_BOUNDED = (
    "rounds",
    "completion_time_ms",
    "round_ms_min",
    "round_ms_max",
    "rank_ms_min",
    "rank_ms_mean",
    "rank_ms_max",
    "ideal_percent",
    "jain_fairness",
    "delivered_gb_per_s",
    "offered_gb_per_s",
)


def _bounds(job: JobRecord, figures: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    eps = 1 + 1e-9
    time_ms, ideal, fairness = (
        figures["completion_time_ms"],
        figures["ideal_percent"],
        figures["jain_fairness"],
    )
    # Times are rounded down to a picosecond, which shows where messages have no latency.
    of_rounding = 1 + job.chunks.height / (time_ms * 1e9) if time_ms else 1
    yield "a share of the ideal is at most 100 %", ideal is None or 0 < ideal <= 100 * eps * of_rounding
    yield "Jain's index is above 0 and at most 1", fairness is None or 0 < fairness <= eps
    if time_ms is None:
        return
    takes_time = bool(job.chunks.filter(pl.col("fct_ps") > 0).height)
    yield "a completion takes time", time_ms > 0 or not takes_time
    shortest, longest = figures["round_ms_min"], figures["round_ms_max"]
    if job.is_collective:
        # Without barriers rounds overlap, and together take less than their sum.
        in_order = shortest <= longest * eps and time_ms <= longest * eps
        yield "shortest round and mean <= longest", in_order
        yield from _round_bounds(job, time_ms * job.outcome["rounds"], shortest, longest)
    times = [figures[f"rank_ms_{name}"] for name in ("min", "mean", "max")]
    if None not in times:
        yield "rank times are in order", times[0] <= times[1] * eps and times[1] <= times[2] * eps
    if figures["offered_gb_per_s"] is not None:
        yield (
            "no more is delivered than offered",
            figures["delivered_gb_per_s"] <= figures["offered_gb_per_s"] * eps,
        )


def _round_bounds(
    job: JobRecord, total_ms: float, shortest_ms: float, longest_ms: float
) -> Iterator[tuple[str, bool]]:
    """Yield whether the times of rounds agree with those of their chunks, to a picosecond."""
    if not job.measured.height or job.has_overlapping_rounds:
        return
    total_ps, shortest_ps, longest_ps = (time_ms * 1e9 + 1 for time_ms in (total_ms, shortest_ms, longest_ms))
    yield "no completion below the slowest chunk", total_ps >= max(job.measured["fct_ps"].to_list())
    spans = _spans(job, ["round"])
    yield "the shortest round is no shorter than its chunks", shortest_ps >= min(spans)
    yield "the longest round is no shorter than its chunks", longest_ps >= max(spans)
    # Rounds of other sizes are in between.
    has_other_rounds = job.collective.get("barrier") or "round_bytes" in job.collective
    yield "rounds together hold what is measured", has_other_rounds or total_ps >= max(_spans(job, []))


def _spans(job: JobRecord, keys: list[str]) -> list[int]:
    """Return the shortest possible time of each round, or without keys of all measured rounds [ps].

    Between barriers it is the time from the first chunk posted to the last completed. Back to back it is the
    time of the slowest rank: from its first chunk until all chunks that it sends are acknowledged and all
    that it receives have arrived. Ranks that send nothing are left out.
    """
    sent = job.measured.select("round", "start_ps", rank="src_rank", end="completed_ps")
    if job.collective.get("barrier"):
        ranks = sent
        keys_of_rank = keys
    else:
        no_start = pl.lit(None, dtype=pl.Int64).alias("start_ps")
        arrived = job.measured.select("round", no_start, rank="dst_rank", end="delivered_ps")
        ranks, keys_of_rank = pl.concat([sent, arrived]), [*keys, "rank"]
    span = (pl.col("end").max() - pl.col("start_ps").min()).alias("span")
    rank_spans = ranks.group_by(keys_of_rank or pl.lit(0)).agg(span).drop_nulls("span")
    return rank_spans.group_by(keys or pl.lit(0)).agg(pl.col("span").max())["span"].to_list()


def _slowest(job: JobRecord) -> str:
    rows = job.measured.filter(complete()).sort("fct_ps", descending=True)
    if not rows.height:
        return "no chunk is complete"
    row = rows.row(0, named=True)
    return f"slowest chunk: transfer {row['transfer']}, round {row['round']}, fct_ps {row['fct_ps']}"


def incomplete_laws(record: Record) -> Iterator[Violation]:
    """Yield times, bandwidths and percentiles of jobs that are not complete."""
    names = (
        "completion_time_ms",
        "busbw_gb_per_s",
        "algbw_gb_per_s",
        "ideal_percent",
        "fct_ms_max",
        "jain_fairness",
    )
    for job in record.parts:
        figures = {name: job.results[name] for name in names if job.results[name] is not None}
        if not job.is_complete and figures:
            yield Violation("a job that is not complete has no times", f"trials: {job.name}: {figures}")


LAWS = (bound_laws, incomplete_laws)
