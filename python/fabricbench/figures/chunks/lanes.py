"""Which bars the timeline shows, and in which lane each stands.

A bar is a chunk; a lane is one row of the drawing; a rank that sends several chunks at once needs several
lanes. Where a run has more chunks or lanes than a browser draws well, some ranks are chosen evenly. Of each
of them, chunks sent one after the other are merged into longer bars, and chunks sent at the same time are
chosen evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any

import polars as pl

MAX_BARS = 3000
MAX_LANES = 240
_RANKS_WHEN_REDUCED = 16
_SEQUENTIAL_BELOW = 2.0
"""Chunks in flight at a sender on average, below which it counts as sending one after the other."""

SENDER = ("job", "src_rank")
_COLUMNS = (
    "job", "src_rank", "dst_rank", "step", "channel", "block", "qp", "status", "payload_bytes",
    "start_ps", "completed_ps", "fct_ps", "retransmits",
)  # fmt: skip
_OVERLAP_SHARE = 0.005
"""Share of the drawn time by which bars of one lane may overlap: a ring's next chunk starts when its data has
arrived, a moment before the last acknowledgement of the one before."""
_ORDER = ("start_ps", "end_ps", "dst_rank", "step", "qp")


class Reduction(StrEnum):
    """What was done to the chunks of a rank."""

    NONE = "none"
    MERGED = "merged"
    CHOSEN = "chosen"


@dataclass(frozen=True)
class Sender:
    """The lanes of one sending rank: `first_lane` and the `lanes` - 1 after it."""

    job: str
    rank: int
    first_lane: int
    lanes: int


@dataclass(frozen=True)
class Timeline:
    """What is to be drawn.

    Attributes:
        bars: One dictionary for each bar: the columns of its first chunk, `end_ps`, `lane`, and `chunks`
            merged.
        senders: Sending ranks from top to bottom.
        chunks_total: Chunks of the run that started.
        senders_total: Sending ranks of the run.
        reduction: What was done to the chunks of each rank shown.
    """

    bars: list[dict[str, Any]]
    senders: list[Sender]
    chunks_total: int
    senders_total: int
    reduction: Reduction

    @property
    def lanes(self) -> int:
        """Number of lanes of all senders."""
        return sum(sender.lanes for sender in self.senders)


def choose_timeline(
    chunks: pl.LazyFrame, end_ps: int, *, max_bars: int = MAX_BARS, max_lanes: int = MAX_LANES
) -> Timeline:
    """Choose the bars of the timeline and lay them out.

    Args:
        chunks: Table `chunks` of one trial.
        end_ps: End of the run, where the bar of a chunk that never completed ends [ps].
        max_bars: At most this many bars.
        max_lanes: At most this many lanes, unless the ranks chosen need more with two chunks each.
    """
    started = chunks.filter(pl.col("start_ps").is_not_null()).select(
        *_COLUMNS, pl.col("completed_ps").fill_null(end_ps).alias("end_ps"), pl.lit(1).alias("chunks")
    )
    counts = started.group_by(SENDER).agg(pl.len(), pl.col("end_ps").max()).sort(SENDER).collect()
    total = int(counts["len"].sum())
    if total <= max_bars:
        every = _lay_out(started.collect(), Reduction.NONE, total, counts.height)
        if every.lanes <= max_lanes:
            return every
    return _reduced(started, counts, max_bars, max_lanes)


def _reduced(started: pl.LazyFrame, counts: pl.DataFrame, max_bars: int, max_lanes: int) -> Timeline:
    senders = _senders_kept(counts, min(_RANKS_WHEN_REDUCED, max_lanes))
    chunks = started.join(senders.lazy(), on=list(SENDER), how="semi").collect().sort([*SENDER, *_ORDER])
    per_sender = max(2, max_bars // senders.height)
    total = int(counts["len"].sum())
    if _in_flight(chunks) < _SEQUENTIAL_BELOW:
        merged = _lay_out(_merged(chunks, per_sender), Reduction.MERGED, total, counts.height)
        if merged.lanes <= max_lanes:
            return merged
    while True:
        chosen = _lay_out(_evenly(chunks, per_sender), Reduction.CHOSEN, total, counts.height)
        if per_sender <= 2 or chosen.lanes <= max_lanes:
            return chosen
        per_sender = max(2, per_sender * 3 // 4)


def _senders_kept(counts: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Keep senders evenly, the first and the last of the list and the one that finished last among them."""
    if counts.height <= limit:
        return counts.select(SENDER)
    slowest = counts["end_ps"].arg_max() or 0
    even = {round(index * (counts.height - 1) / max(1, limit - 2)) for index in range(limit - 1)}
    return counts.select(SENDER)[sorted(even | {slowest})]


def _in_flight(chunks: pl.DataFrame) -> float:
    """Return how many chunks a sender has in flight on average, the largest over the senders."""
    busy = (pl.col("end_ps") - pl.col("start_ps")).sum()
    extent = pl.col("end_ps").max() - pl.col("start_ps").min()
    return float(str(chunks.group_by(SENDER).agg((busy / extent).alias("share"))["share"].max()))


def _merged(chunks: pl.DataFrame, per_sender: int) -> pl.DataFrame:
    """Merge consecutive chunks of each sender into at most `per_sender` bars."""
    place = pl.int_range(pl.len()).over(SENDER)
    group = (place * per_sender // pl.max_horizontal(pl.len().over(SENDER), per_sender)).alias("group")
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
    place = pl.int_range(pl.len()).over(SENDER)
    last = pl.len().over(SENDER) - 1
    share = (place * (per_sender - 1)) // pl.max_horizontal(last, 1)
    before = ((place - 1) * (per_sender - 1)) // pl.max_horizontal(last, 1)
    return chunks.filter((last < per_sender) | (place == 0) | (share > before))


def _lay_out(chunks: pl.DataFrame, reduction: Reduction, total: int, senders_total: int) -> Timeline:
    bars: list[dict[str, Any]] = []
    senders: list[Sender] = []
    ordered = chunks.sort([*SENDER, "start_ps", "dst_rank", "step", "qp"])
    lane = 0
    overlap_ps = int(_OVERLAP_SHARE * int(str(chunks["end_ps"].max() or 0)))
    for (job, rank), group in ordered.group_by(SENDER, maintain_order=True):
        own = group.to_dicts()
        lanes = _assign_lanes(own, lane, overlap_ps)
        senders.append(Sender(str(job), int(str(rank)), lane, lanes))
        bars.extend(own)
        lane += lanes
    return Timeline(bars, senders, total, senders_total, reduction)


def _assign_lanes(bars: list[dict[str, Any]], first_lane: int, overlap_ps: int) -> int:
    """Give each bar, in order of start, the lane that has been free longest; return the number of lanes."""
    free_at: list[tuple[int, int]] = []
    used = 0
    for bar in bars:
        if free_at and free_at[0][0] <= bar["start_ps"] + overlap_ps:
            lane = heappop(free_at)[1]
        else:
            lane = first_lane + used
            used += 1
        bar["lane"] = lane
        heappush(free_at, (bar["end_ps"], lane))
    return used
