"""Draws the percentage of each sending rank's chunks (transfers) that are complete, over time.

It is for runs whose timeline cannot show every chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.chunks.rank_rows import RankRows, Sender, rank_rows
from fabricbench.figures.chunks.timeline_lanes import Window
from fabricbench.figures.figure import TIMELINE, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import percent, time_scale

_TIME_BINS = 200
_SENDER = ("job", "src_rank")
_MAX_LABELS = 20


def progress_plot(
    chunks: pl.LazyFrame,
    end_ps: int,
    window: Window | None = None,
    racks: Callable[[], Mapping[int, str]] = dict,
) -> Plot | None:
    """Draw the percentage of complete chunks of each sending rank over time.

    Args:
        chunks: Table `chunks` of a trial.
        end_ps: End of the run [ps].
        window: The drawn time and the job; the whole run by default.
        racks: Returns the switch of each host, as far as known.

    Returns:
        The plot, or None when there is no chunk or no time has passed.
    """
    part = window or Window()
    own = part.at_any_time().of(chunks)
    senders = own.group_by(_SENDER).agg(pl.col("src_host").first(), pl.len()).sort(_SENDER).collect()
    if senders.is_empty() or end_ps == 0:
        return None
    rows = rank_rows([Sender(*columns) for columns in senders.drop("len").iter_rows()], racks())
    begin_ps, until_ps = part.span_ps(end_ps)
    shares = _completed_share(own, rows, senders, (begin_ps, until_ps))
    scale = time_scale(end_ps)
    step_ps = (until_ps - begin_ps) / _TIME_BINS
    names = [row.name for row in rows.rows]
    hover = f"rank %{{y}}<br>about %{{x:.4g}} {scale.unit}: %{{z:.1f}} % complete<extra></extra>"
    figure = go.Figure(
        go.Heatmap(
            x=[round((begin_ps + index * step_ps) / scale.ps, 7) for index in range(_TIME_BINS + 1)],
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
                "sending ranks",
                type="category",
                autorange="reversed",
                tickvals=names[:: -(-len(names) // _MAX_LABELS)],
                showgrid=False,
            ),
        )
    )
    return Plot(figure, _caption(senders.height, rows), time_scale=scale)


def _completed_share(
    chunks: pl.LazyFrame, rows: RankRows, senders: pl.DataFrame, span_ps: tuple[int, int]
) -> list[list[float]]:
    """Return the cumulative percentages of each row by time bin; the first has all that is earlier."""
    begin_ps, end_ps = span_ps
    row_of = pl.DataFrame(
        [(*sender[:2], index) for index, row in enumerate(rows.rows) for sender in row.senders],
        schema={name: senders.schema[name] for name in _SENDER} | {"row": pl.UInt32},
        orient="row",
    )
    totals = senders.join(row_of, on=_SENDER).group_by("row").agg(pl.col("len").sum())
    completed_ps = pl.col("completed_ps").cast(pl.Int64)
    time_bin = ((completed_ps - begin_ps) * _TIME_BINS // max(1, end_ps - begin_ps)).alias("bin")
    done = (
        chunks.filter(completed_ps <= end_ps)
        .join(row_of.lazy(), on=_SENDER)
        .group_by("row", time_bin.clip(0, _TIME_BINS - 1))
        .agg(pl.len())
        .collect()
    )
    grid = [[0] * _TIME_BINS for _ in rows.rows]
    for index, bin_index, count in done.iter_rows():
        grid[index][bin_index] = count
    total_of = dict(totals.iter_rows())
    return [_running_share(counts, total_of[index]) for index, counts in enumerate(grid)]


def _running_share(counts: list[int], total: int) -> list[float]:
    shares, done = [], 0
    for count in counts:
        done += count
        shares.append(percent(done / total))
    return shares


def _caption(ranks: int, rows: RankRows) -> str:
    text = (
        f"A row is {rows.description}; the colour is the share of its chunks that are complete. A row that "
        "becomes dark late lags."
    )
    if len(rows.rows) < ranks:
        text += f" Reduced: {ranks:,} sending ranks are drawn in {len(rows.rows)} rows."
    return text + f" Time is cut into {_TIME_BINS} equal bins."


PROGRESS_FIGURE: Final = Figure(
    name="progress",
    title="Share of chunks complete",
    shows="Which share of the chunks of each sending rank is complete, over time.",
    section=TIMELINE,
    plot=lambda subject: progress_plot(subject.chunks, subject.end_ps, subject.window, lambda: subject.racks),
    tables=("chunks",),
    draws_chunks=True,
)
