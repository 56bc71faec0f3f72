"""Laws about what figures of the table `trials` can be at most and at least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from tools.swarm.laws_chunks import complete
from tools.swarm.record import JobRecord, Record, Violation


def bound_laws(record: Record) -> Iterator[Violation]:
    """Yield figures beyond what they can be."""
    for job in record.parts:
        found = job.results
        for rule, is_right in _bounds(job, found):
            if not is_right:
                figures = {
                    name: value for name, value in found.items() if name in _BOUNDED and value is not None
                }
                yield Violation(rule, f"trials: {job.name}: {figures}; {_slowest(job)}")


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


def _bounds(job: JobRecord, found: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    eps = 1 + 1e-9
    time_ms, ideal, fairness = found["completion_time_ms"], found["ideal_percent"], found["jain_fairness"]
    yield "a share of the ideal is at most 100 %", ideal is None or 0 < ideal <= 100 * eps
    yield "Jain's index is above 0 and at most 1", fairness is None or 0 < fairness <= eps
    if time_ms is None:
        return
    takes_time = bool(job.chunks.filter(pl.col("fct_ps") > 0).height)
    yield "a completion takes time", time_ms > 0 or not takes_time
    shortest, longest = found["round_ms_min"], found["round_ms_max"]
    if job.is_collective:
        # Without barriers rounds overlap, and together take less than their sum.
        in_order = shortest <= longest * eps and time_ms <= longest * eps
        yield "shortest round and mean <= longest", in_order
        yield from _round_bounds(job, time_ms * job.outcome["rounds"], shortest, longest)
    times = [found[f"rank_ms_{name}"] for name in ("min", "mean", "max")]
    if None not in times:
        yield "rank times are in order", times[0] <= times[1] * eps and times[1] <= times[2] * eps
    if found["offered_gb_per_s"] is not None:
        yield (
            "no more is delivered than offered",
            found["delivered_gb_per_s"] <= found["offered_gb_per_s"] * eps,
        )


def _round_bounds(
    job: JobRecord, total_ms: float, shortest_ms: float, longest_ms: float
) -> Iterator[tuple[str, bool]]:
    """Yield whether the times of rounds hold what the chunks say of them, to a picosecond."""
    if not job.measured.height:
        return
    total_ps, shortest_ps, longest_ps = (each * 1e9 + 1 for each in (total_ms, shortest_ms, longest_ms))
    yield "no completion below the slowest chunk", total_ps >= max(job.measured["fct_ps"].to_list())
    spans = _spans(job, ["round"])
    yield "the shortest round is no shorter than its chunks", shortest_ps >= min(spans)
    yield "the longest round is no shorter than its chunks", longest_ps >= max(spans)
    # Rounds of other sizes are in between.
    is_apart = job.spec["barrier"] or "round_bytes" in job.spec
    yield "rounds together hold what is measured", is_apart or total_ps >= max(_spans(job, []))


def _spans(job: JobRecord, keys: list[str]) -> list[int]:
    """Return the least that each round took, or without keys all that were measured.

    Between barriers that is from the first chunk that was posted to the last that completed. Back to back it
    is the time of the slowest rank: from its first chunk until what it sends is acknowledged and what it
    receives has arrived. A rank that sends nothing tells nothing here.
    """
    sent = job.measured.select("round", "start_ps", rank="src_rank", end="completed_ps")
    if job.spec["barrier"]:
        ranks = sent
        keys_of_rank = keys
    else:
        nothing = pl.lit(None, dtype=pl.Int64).alias("start_ps")
        arrived = job.measured.select("round", nothing, rank="dst_rank", end="delivered_ps")
        ranks, keys_of_rank = pl.concat([sent, arrived]), [*keys, "rank"]
    span = (pl.col("end").max() - pl.col("start_ps").min()).alias("span")
    found = ranks.group_by(keys_of_rank or pl.lit(0)).agg(span).drop_nulls("span")
    return found.group_by(keys or pl.lit(0)).agg(pl.col("span").max())["span"].to_list()


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
        told = {name: job.results[name] for name in names if job.results[name] is not None}
        if not job.is_complete and told:
            yield Violation("a job that is not complete has no times", f"trials: {job.name}: {told}")


LAWS = (bound_laws, incomplete_laws)
