"""Sums times and error counters of a job's transfers by pair of ranks, from table `chunks` of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabricbench.analysis.record.tables import Tables

if TYPE_CHECKING:
    import polars as pl


COUNTERS: Final = ("timeouts", "retransmits", "naks", "out_of_order", "ecn_ce_rx", "cnp_rx")
"""Counters of `chunks` that are compared, the most serious first."""

_PAIR: Final = ("src_rank", "dst_rank", "src_host", "dst_host")
_COLUMNS: Final = ("job", *_PAIR, "status", "start_ps", "fct_ps", *COUNTERS)


@dataclass(frozen=True)
class RankPair:
    """The chunks from one rank to another.

    Attributes:
        src_rank: Sending rank.
        dst_rank: Receiving rank.
        src_host: Its host.
        dst_host: The host of the receiving rank.
        start_ps: Start of the first chunk since the start of the run [ps]; none if none was started.
        fct_ps: Mean completion time of the complete chunks [ps]; none without one.
        counters: Sums of `COUNTERS`; none where a value was not measured.
    """

    src_rank: int
    dst_rank: int
    src_host: int
    dst_host: int
    start_ps: int | None
    fct_ps: float | None
    counters: Mapping[str, int | None]

    @property
    def ranks(self) -> tuple[int, int]:
        """Sending and receiving rank."""
        return self.src_rank, self.dst_rank


def rank_pairs(tables: Tables, job: str) -> list[RankPair]:
    """Return the pairs of ranks of a job that sent to each other, in order of their ranks.

    Raises:
        StoreError: The table cannot be read.
    """
    sums = list(_batch_sums(tables, job))
    return [_pair(row) for row in _joined(sums).iter_rows(named=True)] if sums else []


def totals(pairs: Sequence[RankPair]) -> dict[str, int | None]:
    """Return the sum of each counter over pairs; none where a value was not measured."""
    sums: dict[str, int | None] = {}
    for name in COUNTERS:
        values = [pair.counters[name] for pair in pairs]
        measured = [value for value in values if value is not None]
        sums[name] = sum(measured) if len(measured) == len(values) else None
    return sums


def first_starts_ps(pairs: Sequence[RankPair]) -> dict[int, int]:
    """Return when each sending rank offered its first byte [ps]; ranks that never did are left out."""
    starts: dict[int, int] = {}
    for pair in pairs:
        if pair.start_ps is not None:
            starts[pair.src_rank] = min(pair.start_ps, starts.get(pair.src_rank, pair.start_ps))
    return starts


def _batch_sums(tables: Tables, job: str) -> Iterator[pl.DataFrame]:
    import polars as pl

    for batch in tables.batches("chunks", _COLUMNS):
        rows = pl.DataFrame(batch).filter(pl.col("job") == job)
        if rows.height:
            is_complete = pl.col("status") == "complete"
            yield rows.group_by(_PAIR).agg(
                pl.col("start_ps").min(),
                pl.col("fct_ps").filter(is_complete).cast(pl.Float64).sum().alias("fct_sum_ps"),
                is_complete.sum().cast(pl.Int64).alias("complete"),
                *map(_sum_or_null, COUNTERS),
            )


def _joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    sums = (pl.col("fct_sum_ps", "complete").sum(), *map(_sum_or_null, COUNTERS))
    joined = pl.concat(parts, how="vertical_relaxed").group_by(_PAIR).agg(pl.col("start_ps").min(), *sums)
    return joined.sort(_PAIR)


def _sum_or_null(name: str) -> pl.Expr:
    """Return the sum of a column, null if one of its values is."""
    import polars as pl

    column = pl.col(name).cast(pl.Int64)
    return pl.when(column.null_count() == 0).then(column.sum()).alias(name)


def _pair(row: Mapping[str, Any]) -> RankPair:
    fct_ps = row["fct_sum_ps"] / row["complete"] if row["complete"] else None
    return RankPair(
        src_rank=row["src_rank"],
        dst_rank=row["dst_rank"],
        src_host=row["src_host"],
        dst_host=row["dst_host"],
        start_ps=row["start_ps"],
        fct_ps=fct_ps,
        counters={name: row[name] for name in COUNTERS},
    )
