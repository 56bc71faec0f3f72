"""The share of complete chunks over time: rows of each job, and the time before an idle rest."""

import polars as pl
from tests.report import synthetic

from fabricbench.figures.chunks.progress import progress_plot
from fabricbench.figures.chunks.timeline_lanes import Window

MS = 10**9


def two_jobs() -> pl.DataFrame:
    """Ranks 0 to 3 of two jobs: chunks of the first complete in order within 1 ms, none of the second."""
    chunks = synthetic.all_to_all_chunks(4, 2**20).sort("src_rank").with_row_index()
    times = {"start_ps": pl.lit(0, pl.Int64), "completed_ps": (pl.col("index") + 1).cast(pl.Int64) * MS // 12}
    first = chunks.with_columns(job=pl.lit("first"), **times)
    return pl.concat([first, first.with_columns(job=pl.lit("second"), completed_ps=pl.lit(None, pl.Int64))])


def test_ranks_of_different_jobs_share_no_row() -> None:
    plot = progress_plot(two_jobs().lazy(), MS)
    assert plot is not None
    (trace,) = plot.figure.data
    assert list(trace.y) == [f"{job} {rank}" for job in ("first", "second") for rank in range(4)]
    assert [row[-1] for row in trace.z] == [100.0] * 4 + [0.0] * 4


def test_bins_divide_the_drawn_time_not_the_idle_rest() -> None:
    plot = progress_plot(two_jobs().lazy(), 500 * MS, Window(0, 2 * MS))
    assert plot is not None
    (trace,) = plot.figure.data
    assert trace.x[-1] == 2.0
    assert len(set(trace.z[0])) == 4, "three chunks of rank 0, one after the other"


def test_a_later_window_starts_with_what_is_complete() -> None:
    plot = progress_plot(two_jobs().lazy(), MS, Window(MS // 2, MS))
    assert plot is not None
    (trace,) = plot.figure.data
    assert (trace.z[0][0], trace.z[3][0]) == (100.0, 0.0)
