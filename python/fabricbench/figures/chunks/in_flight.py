"""Draws a heat map of ranks with a chunk in flight over time, where a timeline would need too many lanes.

A chunk is the part of a collective's data that one rank sends to another in one transfer. Nothing is left
out: every rank is in a row, and every moment of every chunk in a cell. A cell is the percentage of its time
bin, averaged over its ranks, in which they had at least one chunk in flight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.chunks.rank_rows import RankRows, Sender, rank_rows
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import TimeScale, percent

TIME_BINS = 240
_SENDER = ("job", "src_rank")
_MAX_LABELS = 20
_MIN_HEIGHT_PX = 420
_ROW_PX = 5
_NONE_BELOW = 1e-5
"""Fraction of the colour scale that is white: one rank of thousands for a moment is still coloured."""


def in_flight_plot(
    started: pl.LazyFrame,
    span_ps: tuple[int, int],
    scale: TimeScale,
    racks: Mapping[int, str],
) -> Plot:
    """Draw, for groups of sending ranks, the percentage of their time with a chunk in flight.

    Args:
        started: Started chunks of the whole run, with `end_ps`, the end of their bars [ps].
        span_ps: Begin and end of the drawn time [ps].
        scale: Unit of the time axis.
        racks: Switch of each host, as far as known.
    """
    senders = started.group_by(_SENDER).agg(pl.col("src_host").first(), pl.col("end_ps").max()).sort(_SENDER)
    ranks = senders.collect()
    rows = rank_rows([Sender(*columns) for columns in ranks.select(*_SENDER, "src_host").iter_rows()], racks)
    shares = shares_in_flight(started, rows, span_ps)
    begin, step = span_ps[0], (span_ps[1] - span_ps[0]) / TIME_BINS
    edges = [round((begin + index * step) / scale.ps, 7) for index in range(TIME_BINS + 1)]
    figure = go.Figure(_heatmap(edges, [row.name for row in rows.rows], shares, scale))
    figure.update_layout(_layout(rows, scale, edges))
    return Plot(figure, _caption(rows, ranks, scale), reduced=True, time_scale=scale)


def shares_in_flight(started: pl.LazyFrame, rows: RankRows, span_ps: tuple[int, int]) -> list[list[float]]:
    """Return each row's percentage of rank time with a chunk in flight, in `TIME_BINS` equal bins.

    Args:
        started: Chunks with `job`, `src_rank`, `start_ps` and `end_ps`.
        rows: Ranks of each row; ranks in no row are ignored.
        span_ps: Begin of the first bin and end of the last [ps].
    """
    begin_ps, end_ps = span_ps
    sender_rows = _sender_rows(rows)
    in_span = (pl.col("end_ps") > begin_ps) & (pl.col("start_ps") < end_ps)
    times = pl.col("start_ps", "end_ps").cast(pl.Int64).clip(begin_ps, end_ps) - begin_ps
    # Of chunks with equal start, the longest suffices: few remain if a rank posts several at once.
    chunks = (
        started.filter(in_span).select(*_SENDER, times).group_by(*_SENDER, "start_ps").agg(pl.max("end_ps"))
    )
    spans = _busy_spans(
        chunks.join(sender_rows.lazy(), on=list(_SENDER)).select("row", "sender", "start_ps", "end_ps")
    )
    busy_ps = _busy_ps(spans.collect(), len(rows.rows), end_ps - begin_ps)
    bins_ps = [len(row.senders) * (end_ps - begin_ps) / TIME_BINS for row in rows.rows]
    return [
        [percent(min(1.0, max(0.0, busy / bin_ps))) for busy in row]
        for row, bin_ps in zip(busy_ps, bins_ps, strict=True)
    ]


def _sender_rows(rows: RankRows) -> pl.DataFrame:
    """Return the row of each sender, and a number for it that is shorter than its name."""
    senders = [(index, sender) for index, row in enumerate(rows.rows) for sender in row.senders]
    return pl.DataFrame(
        {
            "job": [sender.job for _, sender in senders],
            "src_rank": [sender.rank for _, sender in senders],
            "row": pl.Series([index for index, _ in senders], dtype=pl.UInt32),
            "sender": pl.Series(range(len(senders)), dtype=pl.UInt32),
        }
    )


def _busy_spans(chunks: pl.LazyFrame) -> pl.LazyFrame:
    """Merge overlapping or adjacent chunks of a sender into spans with any chunk in flight."""
    reach_ps = pl.col("end_ps").cum_max().shift(1).over("sender")
    is_first = reach_ps.is_null() | (pl.col("start_ps") > reach_ps)
    ordered = chunks.sort("sender", "start_ps").with_columns(is_first.cum_sum().alias("span"))
    return ordered.group_by("span").agg(
        pl.col("row").first(), pl.col("start_ps").first(), pl.col("end_ps").max()
    )


def _busy_ps(spans: pl.DataFrame, rows: int, length_ps: int) -> list[list[float]]:
    """Return for each row and bin the total time of spans in it [ps].

    A span is the time after its start minus the time after its end. The time after a moment fills every later
    bin, and a part of the moment's own bin.
    """
    width_ps = length_ps / TIME_BINS
    moments = pl.concat(
        [
            spans.select("row", pl.col(column).alias("moment"), pl.lit(sign).alias("sign"))
            for column, sign in (("start_ps", 1), ("end_ps", -1))
        ]
    )
    bin_index = (pl.col("moment") * TIME_BINS // length_ps).clip(0, TIME_BINS - 1).alias("bin")
    rest_ps = (pl.col("sign") * ((pl.col("bin") + 1) * width_ps - pl.col("moment"))).alias("rest_ps")
    sums = moments.with_columns(bin_index).with_columns(rest_ps).group_by("row", "bin").agg(
        pl.col("rest_ps").sum(), pl.col("sign").sum()
    )  # fmt: skip
    grid = pl.DataFrame({"row": pl.Series(range(rows), dtype=pl.UInt32)}).join(
        pl.DataFrame({"bin": range(TIME_BINS)}), how="cross"
    )
    filled = grid.join(sums, on=["row", "bin"], how="left").fill_null(0).sort("row", "bin")
    before = (pl.col("sign").cum_sum() - pl.col("sign")).over("row")
    busy = filled.with_columns((pl.col("rest_ps") + before * width_ps).alias("busy_ps"))
    return busy.group_by("row", maintain_order=True).agg("busy_ps")["busy_ps"].to_list()


def _heatmap(
    edges: Sequence[float], names: Sequence[str], shares: Sequence[Sequence[float]], scale: TimeScale
) -> go.Heatmap:
    coloured = [(max(_NONE_BELOW, position), colour) for position, colour in theme.USE_SCALE]
    return go.Heatmap(
        x=edges,
        y=names,
        z=shares,
        zmin=0,
        zmax=100,
        colorscale=theme.plotly_scale(((0.0, "#ffffff"), *coloured)),
        colorbar=theme.colour_bar("rank time<br>with chunks<br>in flight (%)"),
        hovertemplate=f"%{{y}}<br>about %{{x:.6g}} {scale.unit}: %{{z:.3g}} %<extra></extra>",
    )


def _layout(rows: RankRows, scale: TimeScale, edges: Sequence[float]) -> dict[str, Any]:
    names = [row.name for row in rows.rows]
    labelled = names[:: -(-len(names) // _MAX_LABELS)]
    y_axis = theme.axis(
        "sending ranks", type="category", autorange="reversed", tickvals=labelled, showgrid=False
    )
    return theme.layout(
        height=max(_MIN_HEIGHT_PX, len(names) * _ROW_PX + 90),
        xaxis=theme.time_axis(scale.unit, range=[edges[0], edges[-1]], showgrid=False),
        yaxis=y_axis,
    )


def _caption(rows: RankRows, ranks: pl.DataFrame, scale: TimeScale) -> str:
    last = ranks.row(int(ranks["end_ps"].arg_max() or 0), named=True)
    text = (
        f"A row is {rows.description}; the colour is the share of rank time with a data chunk in flight, "
        "from its first byte offered to the NIC to its last byte acknowledged. Blank: none; the end of the "
        "scale: all of it."
    )
    if len(rows.rows) < ranks.height:
        text += f" Reduced: {ranks.height:,} sending ranks are drawn in {len(rows.rows)} rows, none left out."
    text += f" Time is cut into {TIME_BINS} equal bins; a shorter stretch or fewer ranks show more."
    job = f"{last['job']} " if ranks["job"].n_unique() > 1 else ""
    return f"{text} The last to finish is rank {job}{last['src_rank']}, at {scale.text(last['end_ps'])}."
