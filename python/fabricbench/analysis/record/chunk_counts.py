"""Sums each job's chunks from counts, for records in which not every chunk has a row; percentiles of counts.

A chunk is the part of a collective's data that one rank sends to another in one transfer. Tables
`chunk_steps` and `chunk_times` hold the counts of the simulator; see `docs/records.md`. Times, rates and
counters are the same as those from the rows of all chunks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from fabricbench.analysis.record.chunk_facts import (
    ChunkFacts,
    OperationFacts,
    RateMoments,
    columns_for,
    gather,
)
from fabricbench.analysis.record.percentiles import rank_of, sum_of
from fabricbench.analysis.record.tables import ALL, Tables, observed_chunks


def gather_facts(run_spec: Mapping[str, Any], tables: Tables, facts: Mapping[str, ChunkFacts]) -> None:
    """Add the chunks of a record to the facts of some jobs: from their rows, or from counts.

    Args:
        run_spec: The RunSpec.
        tables: The record.
        facts: Facts of each job, by its name.
    """
    if observed_chunks(run_spec) == ALL:
        gather(tables.batches("chunks", columns_for(facts)), facts)
        return
    for row in _rows(tables, "chunk_steps"):
        if row["job"] in facts:
            _add_step(facts[row["job"]], row)
    for row in _rows(tables, "chunk_times"):
        if row["job"] in facts:
            _add_times(facts[row["job"]], row)


def _rows(tables: Tables, table: str) -> Iterator[dict[str, Any]]:
    for batch in tables.batches(table):
        yield from batch.to_pylist()


def _add_step(facts: ChunkFacts, row: Mapping[str, Any]) -> None:
    if facts.sizes is not None:
        _add_step(facts.sizes.of_round(row["round"]), row)
    open_chunks = row["chunks"] - row["complete"] - row["failed"]
    facts.states.update(complete=row["complete"], failed=row["failed"], unfinished=open_chunks)
    for name, count in facts.counters.items():
        facts.counters[name] = sum_of(count, row[name])
    facts.wire.add_step(row)
    if row["latency_mean_ps"] is not None:
        facts.latency_sum_ps += row["latency_mean_ps"] * row["latency_frames"]
        facts.latency_frames += row["latency_frames"]
        min_ps, max_ps = row["latency_min_ps"], row["latency_max_ps"]
        facts.latency_min_ps = min_ps if facts.latency_min_ps is None else min(facts.latency_min_ps, min_ps)
        facts.latency_max_ps = max_ps if facts.latency_max_ps is None else max(facts.latency_max_ps, max_ps)
    end_ps = row["completed_ps"]
    if end_ps is not None and facts.counts_round(row["round"]):
        index = row["round"]
        facts.round_ends_ps[index] = max(end_ps, facts.round_ends_ps.get(index, end_ps))
    if facts.operations is not None and end_ps is not None:
        facts.operations.last_ps = max(facts.operations.last_ps, end_ps)


def _add_times(facts: ChunkFacts, row: Mapping[str, Any]) -> None:
    if facts.sizes is not None:
        _add_times(facts.sizes.of_round(row["round"]), row)
    chunks, size, fct_ps = row["chunks"], row["payload_bytes"], row["fct_ps"]
    is_complete = row["status"] == "complete"
    if facts.until_ps:
        facts.offered_bytes += chunks * size
        facts.delivered_bytes += chunks * size * row["is_ended_in_time"]
        if is_complete and row["unloaded_ps"]:
            facts.slowdown_counts[fct_ps / row["unloaded_ps"]] += chunks
    if facts.operations is not None and row["in_time_ps"] is not None:
        _add_operations(facts.operations, row)
    if is_complete and facts.counts_round(row["round"]):
        facts.fct_counts[fct_ps] += chunks
        facts.rates.setdefault(size, RateMoments()).add_repeated(fct_ps, chunks)


def _add_operations(operations: OperationFacts, row: Mapping[str, Any]) -> None:
    chunks, part_ps = row["chunks"], row["in_time_ps"]
    operations.completed += chunks * row["is_ended_in_time"]
    operations.payload_bytes += chunks * row["payload_bytes"] * row["is_ended_in_time"]
    if row["fct_ps"] is None:
        operations.add_cut(part_ps, chunks)
    elif part_ps == row["fct_ps"]:
        operations.counts[part_ps] += chunks
    else:
        operations.add_part(row["fct_ps"], part_ps, chunks)


def ranked(counts: Counter[Any], shares: Sequence[float]) -> list[Any]:
    """Return percentiles by nearest rank of values with their counts; see `nearest_rank`."""
    ranks = [rank_of(fraction, counts.total()) for fraction in shares]
    value_of_rank, cumulated = dict.fromkeys(ranks), 0
    open_ranks = sorted(value_of_rank, reverse=True)
    for value in sorted(counts):
        cumulated += counts[value]
        while open_ranks and open_ranks[-1] <= cumulated:
            value_of_rank[open_ranks.pop()] = value
    return [value_of_rank[rank] for rank in ranks]


def mean_of_integers(counts: Counter[int]) -> float:
    """Return the mean of integers: their exact sum over their number."""
    return sum(value * count for value, count in counts.items()) / counts.total()


def mean_of_floats(counts: Counter[float]) -> float:
    """Return the mean of floats: their sum, rounded once, over their number."""
    return math.fsum(_expanded(counts.items())) / counts.total()


def _expanded(items: Iterable[tuple[float, int]]) -> Iterator[float]:
    return chain.from_iterable(repeat(value, count) for value, count in items)
