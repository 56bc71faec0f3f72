"""The timeline of many ranks: every rank in a row, every moment in a cell."""

from collections.abc import Sequence

import polars as pl
import pytest
from tests.report import synthetic

from fabricbench.figures.chunks.in_flight import TIME_BINS, shares_in_flight
from fabricbench.figures.chunks.rank_rows import MAX_ROWS, RankRow, RankRows, Sender, rank_rows, ranks_text
from fabricbench.figures.chunks.timeline import timeline_plot
from fabricbench.figures.chunks.timeline_lanes import Window, started_chunks

RANKS = 40


def scattered() -> pl.DataFrame:
    """Chunks that overlap, touch, leave gaps and, one in 13, never complete."""
    chunks = synthetic.all_to_all_chunks(RANKS, 2**24).with_row_index()
    start = (pl.col("index") * 7_919_113 % 100_000_007).cast(pl.Int64)
    length = (pl.col("index") * 104_729 % 3_000_000).cast(pl.Int64)
    done = pl.when(pl.col("index") % 13 > 0).then(start + length)
    return chunks.with_columns(start_ps=start, completed_ps=done).filter(pl.col("index") % 31 < 7)


def one_by_one(chunks: pl.DataFrame, ranks: Sequence[int], begin_ps: float, end_ps: float) -> float:
    """Add up the time with a chunk in flight, moment by moment, as the figure does not."""
    busy = 0.0
    for rank in ranks:
        reached = begin_ps
        own = chunks.filter(src_rank=rank).sort("start_ps")
        for start, end in own.select("start_ps", "end_ps").iter_rows():
            busy += max(0.0, min(end, end_ps) - max(start, reached))
            reached = max(reached, min(end, end_ps))
    return busy


@pytest.mark.parametrize("span_ps", [(0, 103_000_000), (20_000_001, 20_700_000)])
def test_each_cell_is_the_time_in_flight_added_up_chunk_by_chunk(span_ps: tuple[int, int]) -> None:
    started = started_chunks(scattered().lazy(), 103_000_000)
    groups = [list(range(0, 40, 2)), [1, 3, 5], list(range(7, 40, 2))]
    rows = RankRows(
        [RankRow(str(each), [Sender("test", rank, rank) for rank in each]) for each in groups], ""
    )
    shares = shares_in_flight(started, rows, span_ps)
    width_ps = (span_ps[1] - span_ps[0]) / TIME_BINS
    chunks = started.collect()
    for group, row in zip(groups, shares, strict=True):
        assert len(row) == TIME_BINS
        busy_ps = sum(row) / 100 * width_ps * len(group)
        assert busy_ps == pytest.approx(one_by_one(chunks, group, *span_ps), rel=2e-3)
        for place in range(0, TIME_BINS, 17):
            begin_ps = span_ps[0] + place * width_ps
            expected = one_by_one(chunks, group, begin_ps, begin_ps + width_ps) / width_ps / len(group)
            assert row[place] == pytest.approx(100 * expected, abs=0.05001)


def senders(count: int) -> list[Sender]:
    return [Sender("test", rank, rank) for rank in range(count)]


@pytest.mark.parametrize("count", [17, 128, 129, 1000, 1024, 32_768])
@pytest.mark.parametrize("hosts_per_rack", [None, 1, 8, 32, 512])
def test_every_rank_is_in_exactly_one_row(count: int, hosts_per_rack: int | None) -> None:
    racks = {host: f"leaf{host // hosts_per_rack}" for host in range(count)} if hosts_per_rack else {}
    rows = rank_rows(senders(count), racks).rows
    assert len(rows) <= MAX_ROWS
    assert sorted(sender.rank for row in rows for sender in row.senders) == list(range(count))
    assert len({row.name for row in rows}) == len(rows)


def test_rows_are_racks_and_say_which_ranks_they_show() -> None:
    rows = rank_rows(senders(1024), {host: f"leaf{host // 32}" for host in range(1024)}).rows
    assert [row.name for row in rows[:3]] == ["leaf0: 0–31", "leaf1: 32–63", "leaf2: 64–95"]
    strided = rank_rows(senders(1024), {host: f"rail{host % 8}" for host in range(1024)}).rows
    assert strided[3].name == "rail3: 3, 11 … 1019"
    assert ranks_text([0, 1, 2, 7]) == "0–2, 7"


def test_rows_of_several_jobs_name_the_job() -> None:
    both = [Sender(job, rank, rank) for job in ("a", "b") for rank in range(300)]
    rows = rank_rows(both, {host: f"leaf{host // 30}" for host in range(300)}).rows
    assert [rows[0].name, rows[10].name] == ["leaf0: a 0–29", "leaf0: b 0–29"]


def test_zooming_keeps_the_rows_and_few_ranks_are_shown_one_by_one() -> None:
    chunks = synthetic.all_to_all_chunks(300, 2**26)
    end_ps = int(str(chunks["completed_ps"].max()))
    late = Window(end_ps * 97 // 100, end_ps)
    whole, zoomed, few = (
        timeline_plot(chunks.lazy(), end_ps, window) for window in (None, late, Window(ranks=range(20, 50)))
    )
    assert whole is not None
    assert zoomed is not None
    assert few is not None
    assert len(whole.figure.data[0].y) == 100
    assert zoomed.figure.data[0].y == whole.figure.data[0].y
    assert zoomed.figure.data[0].x[0] > 0.96 * whole.figure.data[0].x[-1]
    assert list(few.figure.data[0].y) == [str(rank) for rank in range(20, 50)]
    assert "300 sending ranks are drawn in 100 rows, none left out" in whole.caption
    assert "The last to finish is rank 299" in whole.caption
