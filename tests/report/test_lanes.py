import polars as pl
import pytest
from tests.report import synthetic

from fabricbench.figures.chunks.timeline_lanes import Reduction, Timeline, choose_timeline, started_chunks


def end_ps(chunks: pl.DataFrame) -> int:
    return int(str(chunks["completed_ps"].max()))


def timeline_of(chunks: pl.DataFrame, **limits: int) -> Timeline:
    timeline = choose_timeline(started_chunks(chunks.lazy(), end_ps(chunks)), **limits)
    assert timeline is not None
    return timeline


def assert_no_overlap(timeline: Timeline, tolerance_ps: int) -> None:
    lanes: dict[int, int] = {}
    for bar in sorted(timeline.bars, key=lambda bar: bar["start_ps"]):
        assert lanes.get(bar["lane"], 0) <= bar["start_ps"] + tolerance_ps
        lanes[bar["lane"]] = bar["end_ps"]


def test_a_small_run_is_drawn_whole() -> None:
    timeline = timeline_of(synthetic.all_to_all_chunks(8, 2**27))
    assert timeline.reduction is Reduction.NONE
    assert len(timeline.bars) == timeline.chunks_total == 56
    assert [sender.lanes for sender in timeline.senders] == [7] * 8
    assert_no_overlap(timeline, 0)


def test_a_ring_takes_one_lane_for_each_rank() -> None:
    chunks = synthetic.ring_chunks(4, 2**27)
    timeline = timeline_of(chunks)
    assert [sender.lanes for sender in timeline.senders] == [1] * 4
    assert_no_overlap(timeline, end_ps(chunks) // 200)


def test_every_lane_belongs_to_one_sender() -> None:
    timeline = timeline_of(synthetic.all_to_all_chunks(6, 2**20))
    for sender in timeline.senders:
        own = {bar["lane"] for bar in timeline.bars if bar["src_rank"] == sender.rank}
        assert own == set(range(sender.first_lane, sender.first_lane + sender.lanes))


def test_chunks_at_the_same_time_are_chosen_within_the_limits() -> None:
    chunks = synthetic.all_to_all_chunks(16, 2**24)
    timeline = timeline_of(chunks, max_bars=120, max_lanes=60)
    assert timeline.reduction is Reduction.CHOSEN
    assert len(timeline.bars) <= 120
    assert timeline.lanes <= 60
    assert timeline.chunks_total == 16 * 15
    assert len(timeline.senders) == 16


def test_the_rank_that_finished_last_and_its_last_chunk_are_always_drawn() -> None:
    chunks = synthetic.all_to_all_chunks(16, 2**24)
    last = chunks.row(-1, named=True)
    bars = timeline_of(chunks, max_bars=120, max_lanes=60).bars
    assert (last["src_rank"], last["dst_rank"]) in {(bar["src_rank"], bar["dst_rank"]) for bar in bars}


def test_chunks_one_after_the_other_are_merged_without_losing_any() -> None:
    chunks = synthetic.ring_chunks(16, 2**24)
    timeline = timeline_of(chunks, max_bars=200)
    assert timeline.reduction is Reduction.MERGED
    assert len(timeline.bars) <= 200
    assert sum(bar["chunks"] for bar in timeline.bars) == chunks.height
    assert sum(bar["payload_bytes"] for bar in timeline.bars) == chunks["payload_bytes"].sum()
    assert max(bar["end_ps"] for bar in timeline.bars) == end_ps(chunks)


def test_a_merged_bar_with_a_failed_chunk_says_so() -> None:
    chunks = synthetic.ring_chunks(16, 2**24)
    failed = (pl.col("src_rank") == 0) & (pl.col("step") == 20)
    chunks = chunks.with_columns(status=pl.when(failed).then(pl.lit("failed")).otherwise("status"))
    bars = timeline_of(chunks, max_bars=200).bars
    assert [bar["src_rank"] for bar in bars if bar["status"] == "failed"] == [0]


def test_an_incomplete_chunk_lasts_to_the_end_and_one_never_started_is_left_out() -> None:
    chunks = synthetic.all_to_all_chunks(3, 2**20).with_row_index()
    last = end_ps(chunks)
    chunks = chunks.with_columns(
        completed_ps=pl.when(pl.col("index") < 2).then(None).otherwise("completed_ps"),
        start_ps=pl.when(pl.col("index") < 1).then(None).otherwise("start_ps"),
    )
    timeline = choose_timeline(started_chunks(chunks.lazy(), last))
    assert timeline is not None
    bars = timeline.bars
    assert len(bars) == 5
    assert [bar["end_ps"] for bar in bars if bar["completed_ps"] is None] == [last]


@pytest.mark.parametrize("ranks", [2, 3])
def test_nothing_started_gives_nothing(ranks: int) -> None:
    chunks = synthetic.all_to_all_chunks(ranks, 2**20).with_columns(start_ps=pl.lit(None, pl.Int64))
    timeline = choose_timeline(started_chunks(chunks.lazy(), 10))
    assert timeline is not None
    assert timeline.bars == []
    assert timeline.senders == []
