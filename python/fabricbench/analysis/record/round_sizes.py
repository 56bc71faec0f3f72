"""Splits the results of a job by data size, if its rounds (repeated collectives) have several sizes.

Each size is summarised like a job of that size alone, over the rounds that have it. The time of a round is
that of its slowest rank; as ranks that finish early begin the next round, rounds overlap and count in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricbench.work import collective_of, pattern_of

if TYPE_CHECKING:
    from fabricbench.analysis.record.chunk_facts import ChunkFacts, Sizes

_COMPLETE = "complete"
_TIMES = ("sum_ps", "min_ps", "max_ps")


def round_cycle(job: Mapping[str, Any]) -> Sequence[int]:
    """Return the data size of each round until the sizes repeat [bytes]; one entry if all are equal."""
    sizes: Sequence[int] = collective_of(job).get("round_bytes") or [pattern_of(job)["data_bytes"]]
    return sizes


def bytes_of_rounds(job: Mapping[str, Any], rounds: int) -> int:
    """Return the total data size of the first rounds [bytes]."""
    cycle = round_cycle(job)
    whole, rest = divmod(rounds, len(cycle))
    return whole * sum(cycle) + sum(cycle[:rest])


def facts_by_size(job: Mapping[str, Any], rounds: int) -> Sizes | None:
    """Return empty facts of chunks for each data size of a job; none if it has one size.

    Args:
        job: The job of the RunSpec.
        rounds: Its complete rounds.
    """
    from fabricbench.analysis.record.chunk_facts import ChunkFacts, Sizes

    cycle = round_cycle(job)
    if len(cycle) == 1:
        return None
    return Sizes(cycle, {size: ChunkFacts(rounds) for size in sorted(set(cycle))})


def size_parts(
    job: Mapping[str, Any], outcome: Mapping[str, Any], sizes: Sizes
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], ChunkFacts]]:
    """Yield for each data size of a job its spec, outcome and chunks, restricted to the rounds of that size.

    Frames that arrived after their chunk had been delivered belong to the job, not to a size.

    Args:
        job: The job of the RunSpec.
        outcome: The job in the run's summary.
        sizes: The chunks, by size.
    """
    times = {row["data_bytes"]: row for row in outcome.get("size_times", ())}
    planned = job["repeat"].get("rounds")
    for size, facts in sizes.facts.items():
        round_times = times.get(size)
        rounds = round_times["rounds"] if round_times else 0
        chunks = facts.states.total()
        status, reason = outcome["status"], outcome["reason"]
        if planned is not None:
            planned_of_size = planned // len(sizes.cycle) * list(sizes.cycle).count(size)
            chunks = outcome["chunks"] // planned * planned_of_size
            if facts.states[_COMPLETE] == chunks and rounds == planned_of_size:
                status, reason = _COMPLETE, ""
        yield (
            {**job, "work": {**job["work"], "pattern": {**pattern_of(job), "data_bytes": size}}},
            {
                **outcome,
                "status": status,
                "reason": reason,
                "rounds": rounds,
                "end_ps": max(facts.round_ends_ps.values(), default=None) if rounds else None,
                "round_times": {name: round_times[name] for name in _TIMES} if round_times else None,
                "rank_times": None,
                "chunks": chunks,
                "chunks_complete": facts.states[_COMPLETE],
                "chunks_failed": facts.states["failed"],
                "late": {},
            },
            facts,
        )
