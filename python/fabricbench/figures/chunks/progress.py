"""Draws the percentage of each sending rank's chunks (transfers) that are complete, over time.

It is for runs whose timeline cannot show every chunk.
"""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.figure import TIMELINE, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import percent, time_scale

_MAX_ROWS = 250
_TIME_BINS = 200


def progress_plot(chunks: pl.LazyFrame, end_ps: int) -> Plot | None:
    """Draw the percentage of complete chunks of each sending rank over time.

    Args:
        chunks: Table `chunks` of a trial.
        end_ps: End of the run [ps].

    Returns:
        The plot, or None when there is no chunk or no time has passed.
    """
    ranks = int(chunks.select(pl.col("src_rank").max()).collect().item() or 0) + 1
    shares, sizes = _completed_share(chunks, end_ps, ranks)
    if not shares or end_ps == 0:
        return None
    scale = time_scale(end_ps)
    edges = [index * end_ps / _TIME_BINS / scale.ps for index in range(_TIME_BINS + 1)]
    names = [f"{first}" if first == last else f"{first}–{last}" for first, last in sizes]
    hover = f"rank %{{y}}<br>about %{{x:.4g}} {scale.unit}: %{{z:.1f}} % complete<extra></extra>"
    figure = go.Figure(
        go.Heatmap(
            x=[round(edge, 6) for edge in edges],
            y=names,
            z=shares,
            zmin=0,
            zmax=100,
            colorscale=theme.plotly_scale(theme.USE_SCALE),
            colorbar=theme.colour_bar("chunks<br>done (%)"),
            hovertemplate=hover,
        )
    )
    figure.update_layout(
        theme.layout(
            height=420,
            xaxis=theme.time_axis(scale.unit, showgrid=False),
            yaxis=theme.axis(
                "sending rank", type="category", autorange="reversed", nticks=12, showgrid=False
            ),
        )
    )
    return Plot(figure, _caption(ranks, len(names)), time_scale=scale)


def _completed_share(
    chunks: pl.LazyFrame, end_ps: int, ranks: int
) -> tuple[list[list[float]], list[tuple[int, int]]]:
    """Return the cumulative percentages of each group of ranks, by time bin, and its first and last rank."""
    per_row = -(-ranks // _MAX_ROWS)
    row = (pl.col("src_rank") // per_row).alias("row")
    time_bin = (pl.col("completed_ps") * _TIME_BINS // max(1, end_ps)).clip(0, _TIME_BINS - 1).alias("bin")
    totals = dict(chunks.group_by(row).agg(pl.len()).collect().iter_rows())
    done = chunks.filter(pl.col("completed_ps").is_not_null()).group_by(row, time_bin).agg(pl.len()).collect()
    grid = {index: [0] * _TIME_BINS for index in sorted(totals)}
    for index, bin_index, count in done.iter_rows():
        grid[index][bin_index] = count
    shares = [_running_share(counts, totals[index]) for index, counts in grid.items()]
    return shares, [(index * per_row, min(ranks, (index + 1) * per_row) - 1) for index in grid]


def _running_share(counts: list[int], total: int) -> list[float]:
    shares, done = [], 0
    for count in counts:
        done += count
        shares.append(percent(done / total))
    return shares


def _caption(ranks: int, rows: int) -> str:
    text = "Share of each sending rank's chunks that are complete at each moment; a row that turns late lags."
    if rows < ranks:
        text += f" Reduced: {ranks:,} ranks are drawn in {rows} rows of consecutive ranks."
    return text + f" Time is cut into {_TIME_BINS} equal bins."


PROGRESS_FIGURE: Final = Figure(
    name="progress",
    title="Share of chunks complete",
    shows="Which share of the chunks of each sending rank is complete, over time.",
    section=TIMELINE,
    plot=lambda subject: progress_plot(subject.chunks, subject.end_ps),
    tables=("chunks",),
    draws_chunks=True,
)
