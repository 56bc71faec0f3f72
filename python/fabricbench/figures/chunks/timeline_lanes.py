"""Selects the chunks of a timeline by time window and filters, and lays out their bars in lanes.

A bar is a chunk (a transfer from one rank to another); a lane is one row of the drawing; a rank that sends
several chunks at once needs several lanes. If a few ranks have more chunks or lanes than a browser draws
well, sequential chunks of a rank are merged into longer bars, and concurrent chunks are selected evenly. More
ranks than that are drawn as a heat map: see `in_flight`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

import polars as pl


@dataclass(frozen=True)
class Window:
    """A selection of a timeline: the chunks that are active in a time span, with optional filters.

    Attributes:
        from_ps: Its begin [ps].
        to_ps: Its end [ps]; `None` for the end of the run.
        job: Only chunks of this job.
        ranks: Only chunks of these sending ranks.
        status: Only chunks with this status.
    """

    from_ps: int = 0
    to_ps: int | None = None
    job: str | None = None
    ranks: Sequence[int] = ()
    status: str | None = None

    def of(self, chunks: pl.LazyFrame) -> pl.LazyFrame:
        """Return the chunks in the window."""
        chunks = chunks.filter(pl.col("completed_ps").is_null() | (pl.col("completed_ps") >= self.from_ps))
        if self.to_ps is not None:
            chunks = chunks.filter(pl.col("start_ps") <= self.to_ps)
        if self.ranks:
            chunks = chunks.filter(pl.col("src_rank").is_in(list(self.ranks)))
        for name, value in (("job", self.job), ("status", self.status)):
            chunks = chunks if value is None else chunks.filter(pl.col(name) == value)
        return chunks

    def span_ps(self, end_ps: int) -> tuple[int, int]:
        """Return begin and end of the time axis for a run that ends at `end_ps` [ps]."""
        to_ps = end_ps if self.to_ps is None else min(self.to_ps, end_ps)
        return self.from_ps, max(to_ps, self.from_ps + 1)

    def at_any_time(self) -> Window:
        """Return the same filters for the whole run."""
        return replace(self, from_ps=0, to_ps=None)


MAX_BARS = 3000
MAX_LANES = 240
MAX_RANKS_REDUCED = 16
_SEQUENTIAL_BELOW = 2.0
"""Average number of chunks in flight below which a sender counts as sequential."""

SENDER = ("job", "src_rank")
_COLUMNS = (
    "job", "src_rank", "dst_rank", "step", "channel", "block", "qp", "status", "payload_bytes",
    "start_ps", "completed_ps", "fct_ps", "retransmits",
)  # fmt: skip
_OVERLAP_SHARE = 0.005
"""Fraction of the drawn time by which bars of one lane may overlap: a ring's next chunk starts when its data
has arrived, a moment before the last acknowledgement of the previous chunk."""
_ORDER = ("start_ps", "end_ps", "dst_rank", "step", "qp")


class Reduction(StrEnum):
    """How the chunks of a rank were reduced."""

    NONE = "none"
    MERGED = "merged"
    CHOSEN = "chosen"


@dataclass(frozen=True)
class Sender:
    """Lanes of one sending rank: `first_lane` and the `lanes` - 1 after it."""

    job: str
    rank: int
    first_lane: int
    lanes: int


@dataclass(frozen=True)
class Timeline:
    """Bars of a timeline.

    Attributes:
        bars: One dictionary per bar: the columns of its first chunk, `end_ps`, `lane`, and the number of
            merged `chunks`.
        senders: Sending ranks from top to bottom.
        chunks_total: Chunks of these ranks that started.
        reduction: How the chunks of each rank were reduced.
    """

    bars: list[dict[str, Any]]
    senders: list[Sender]
    chunks_total: int
    reduction: Reduction

    @property
    def lanes(self) -> int:
        """Number of lanes of all senders."""
        return sum(sender.lanes for sender in self.senders)


def started_chunks(chunks: pl.LazyFrame, end_ps: int) -> pl.LazyFrame:
    """Return the started chunks, with the end of their bars: `end_ps` if they never completed.

    Args:
        chunks: Table `chunks` of one trial.
        end_ps: End of the run [ps].
    """
    started = chunks.filter(pl.col("start_ps").is_not_null())
    return started.with_columns(pl.col("completed_ps").fill_null(end_ps).alias("end_ps"))


def choose_timeline(
    started: pl.LazyFrame, *, max_bars: int = MAX_BARS, max_lanes: int = MAX_LANES
) -> Timeline | None:
    """Select the bars of the timeline and lay them out.

    Args:
        started: The chunks, from `started_chunks`.
        max_bars: Maximum number of bars.
        max_lanes: Maximum number of lanes, unless the ranks need more with two chunks each.

    Returns:
        The bars, or `None` if there are too many, from more than `MAX_RANKS_REDUCED` ranks.
    """
    started = started.select(*_COLUMNS, "end_ps", pl.lit(1).alias("chunks"))
    total, senders = started.select(pl.len(), pl.struct(SENDER).n_unique().alias("senders")).collect().row(0)
    if total <= max_bars:
        timeline = _lay_out(started.collect(), Reduction.NONE, total)
        if timeline.lanes <= max_lanes:
            return timeline
    if senders > min(MAX_RANKS_REDUCED, max_lanes):
        return None
    return _reduced(started.collect().sort([*SENDER, *_ORDER]), senders, max_bars, max_lanes)


def _reduced(chunks: pl.DataFrame, senders: int, max_bars: int, max_lanes: int) -> Timeline:
    per_sender = max(2, max_bars // senders)
    total = chunks.height
    if _in_flight(chunks) < _SEQUENTIAL_BELOW:
        merged = _lay_out(_merged(chunks, per_sender), Reduction.MERGED, total)
        if merged.lanes <= max_lanes:
            return merged
    while True:
        chosen = _lay_out(_evenly(chunks, per_sender), Reduction.CHOSEN, total)
        if per_sender <= 2 or chosen.lanes <= max_lanes:
            return chosen
        per_sender = max(2, per_sender * 3 // 4)


def _in_flight(chunks: pl.DataFrame) -> float:
    """Return the average number of chunks in flight of the sender with the most."""
    busy = (pl.col("end_ps") - pl.col("start_ps")).sum()
    extent = pl.col("end_ps").max() - pl.col("start_ps").min()
    return float(str(chunks.group_by(SENDER).agg((busy / extent).alias("share"))["share"].max()))


def _merged(chunks: pl.DataFrame, per_sender: int) -> pl.DataFrame:
    """Merge consecutive chunks of each sender into at most `per_sender` bars."""
    position = pl.int_range(pl.len()).over(SENDER)
    group = (position * per_sender // pl.max_horizontal(pl.len().over(SENDER), per_sender)).alias("group")
    sums = ("payload_bytes", "retransmits", "chunks")
    first = [name for name in _COLUMNS if name not in (*SENDER, *sums, "completed_ps", "status")]
    broken = pl.col("status").filter(pl.col("status") != "complete").first()
    return chunks.group_by(*SENDER, group, maintain_order=True).agg(
        pl.col(first).first(),
        pl.col(sums).sum(),
        pl.col("end_ps", "completed_ps").max(),
        pl.coalesce(broken, pl.lit("complete")).alias("status"),
    )


def _evenly(chunks: pl.DataFrame, per_sender: int) -> pl.DataFrame:
    """Keep at most `per_sender` chunks of each sender, evenly in order of start, first and last included."""
    position = pl.int_range(pl.len()).over(SENDER)
    last = pl.len().over(SENDER) - 1
    share = (position * (per_sender - 1)) // pl.max_horizontal(last, 1)
    before = ((position - 1) * (per_sender - 1)) // pl.max_horizontal(last, 1)
    return chunks.filter((last < per_sender) | (position == 0) | (share > before))


def _lay_out(chunks: pl.DataFrame, reduction: Reduction, total: int) -> Timeline:
    bars: list[dict[str, Any]] = []
    senders: list[Sender] = []
    ordered = chunks.sort([*SENDER, "start_ps", "dst_rank", "step", "qp"])
    lane = 0
    overlap_ps = int(_OVERLAP_SHARE * int(str(chunks["end_ps"].max() or 0)))
    for (job, rank), group in ordered.group_by(SENDER, maintain_order=True):
        sender_bars = group.to_dicts()
        lanes = _assign_lanes(sender_bars, lane, overlap_ps)
        senders.append(Sender(str(job), int(str(rank)), lane, lanes))
        bars.extend(sender_bars)
        lane += lanes
    return Timeline(bars, senders, total, reduction)


def _assign_lanes(bars: list[dict[str, Any]], first_lane: int, overlap_ps: int) -> int:
    """Give each bar, in order of start, the lane that has been free longest; return the number of lanes."""
    free_at: list[tuple[int, int]] = []
    lanes = 0
    for bar in bars:
        if free_at and free_at[0][0] <= bar["start_ps"] + overlap_ps:
            lane = heappop(free_at)[1]
        else:
            lane = first_lane + lanes
            lanes += 1
        bar["lane"] = lane
        heappush(free_at, (bar["end_ps"], lane))
    return lanes
