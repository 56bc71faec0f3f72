"""Draws the timeline of chunks: a bar from the first byte offered to the last byte acknowledged.

A chunk is the part of a collective's data that one rank sends to another in one transfer. If ranks need more
lanes than a drawing has, it is a heat map; see `in_flight`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.chunks.in_flight import in_flight_plot
from fabricbench.figures.chunks.timeline_lanes import (
    Reduction,
    Timeline,
    Window,
    choose_timeline,
    started_chunks,
)
from fabricbench.figures.figure import TIMELINE, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import TimeScale, byte_count_text, time_scale

_MIN_LANE_PX = 5
_MAX_LANE_PX = 18
_TARGET_PX = 620
_MAX_RANK_LABELS = 64
_MAX_BARS_WITH_EDGES = 1000


def timeline_plot(
    chunks: pl.LazyFrame,
    end_ps: int,
    window: Window | None = None,
    racks: Callable[[], Mapping[int, str]] = dict,
) -> Plot | None:
    """Draw the chunk transfers of a trial by rank, or by groups of ranks if there are too many.

    Args:
        chunks: Table `chunks` of the trial.
        end_ps: End of the run [ps].
        window: Selection of chunks; the fewer there are, the more detail is drawn. All by default.
        racks: Returns the switch of each host, as far as known.

    Returns:
        The plot, or None when no chunk was ever started.
    """
    part = window or Window()
    timeline = choose_timeline(started_chunks(part.of(chunks), end_ps))
    if timeline is None:
        started = started_chunks(part.at_any_time().of(chunks), end_ps)
        return in_flight_plot(started, part.span_ps(end_ps), time_scale(end_ps), racks())
    if not timeline.bars:
        return None
    scale = time_scale(end_ps)
    colour_column, colour_title = _colour_by(timeline)
    figure = go.Figure()
    complete = [bar for bar in timeline.bars if bar["status"] == "complete"]
    incomplete = [bar for bar in timeline.bars if bar["status"] != "complete"]
    if complete:
        hover = [_hover(bar, scale) for bar in complete]
        figure.add_trace(bar_trace(complete, scale, numbered_colours(complete, colour_column), hover))
        figure.add_trace(colour_bar_trace(complete, colour_column, colour_title))
    if incomplete:
        failed = {"color": "white", "line": {"color": theme.FAILED, "width": 1}}
        failed["pattern"] = {"shape": "/", "fgcolor": theme.FAILED, "size": 5}
        hover = [_hover(bar, scale) for bar in incomplete]
        figure.add_trace(bar_trace(incomplete, scale, failed, hover))
    figure.update_layout(_layout(timeline, scale))
    caption = _caption(timeline, colour_title, bool(incomplete))
    return Plot(figure, caption, timeline.reduction is not Reduction.NONE, scale)


def _colour_by(timeline: Timeline) -> tuple[str, str]:
    steps = {bar["step"] for bar in timeline.bars}
    return ("step", "step") if len(steps) > 1 else ("dst_rank", "receiving rank")


def numbered_colours(bars: Sequence[dict[str, Any]], column: str) -> dict[str, Any]:
    """Return the marker of bars that are coloured by the numbers of a column."""
    low = min(bar[column] for bar in bars)
    span = max(1, max(bar[column] for bar in bars) - low)
    colours = [theme.colour_at(theme.ORDER_SCALE, (bar[column] - low) / span) for bar in bars]
    edge = 0.5 if len(bars) <= _MAX_BARS_WITH_EDGES else 0
    return {"color": colours, "line": {"width": edge, "color": "white"}}


def colour_bar_trace(bars: Sequence[dict[str, Any]], column: str, title: str) -> go.Scatter:
    """Return an empty trace with a colour bar: individually coloured bars have none."""
    values = sorted({bar[column] for bar in bars})
    ticks = {"tickvals": values} if len(values) <= 9 else {"tickformat": "d"}
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={
            "color": [values[0]],
            "cmin": values[0],
            "cmax": values[-1],
            "colorscale": theme.plotly_scale(theme.ORDER_SCALE),
            "colorbar": theme.colour_bar(title.replace(" ", "<br>"), **ticks),
            "showscale": len(values) > 1,
        },
        hoverinfo="skip",
        showlegend=False,
    )


def bar_trace(
    bars: Sequence[dict[str, Any]], scale: TimeScale, marker: dict[str, Any], hover: Sequence[str]
) -> go.Bar:
    """Return bars from `start_ps` to `end_ps` in their `lane`, with a text for each."""
    return go.Bar(
        orientation="h",
        base=[round(bar["start_ps"] / scale.ps, 7) for bar in bars],
        x=[round((bar["end_ps"] - bar["start_ps"]) / scale.ps, 7) for bar in bars],
        y=[bar["lane"] for bar in bars],
        width=0.86,
        marker=marker,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _hover(bar: dict[str, Any], scale: TimeScale) -> str:
    ended = f"{scale.text(bar['completed_ps'])}, FCT {scale.text(bar['fct_ps'])}"
    if bar["status"] != "complete":
        ended = f"not completed ({bar['status']})"
    is_counted = bar["retransmits"] is not None
    resent = f"<br>retransmitted frames {bar['retransmits']:,}" if is_counted else ""
    if bar["chunks"] > 1:
        return (
            f"rank {bar['src_rank']}: {bar['chunks']} chunks from step {bar['step']} on<br>"
            f"{byte_count_text(bar['payload_bytes'])}<br>"
            f"{scale.text(bar['start_ps'])} → {scale.text(bar['end_ps'])} ({bar['status']}){resent}"
        )
    return (
        f"rank {bar['src_rank']} → rank {bar['dst_rank']}, step {bar['step']}, block {bar['block']}<br>"
        f"{byte_count_text(bar['payload_bytes'])}, QP {bar['qp']}, channel {bar['channel']}<br>"
        f"{scale.text(bar['start_ps'])} → {ended}{resent}"
    )


def _layout(timeline: Timeline, scale: TimeScale) -> dict[str, Any]:
    lanes = timeline.senders[-1].first_lane + timeline.senders[-1].lanes
    many_jobs = len({sender.job for sender in timeline.senders}) > 1
    labelled = timeline.senders[:: -(-len(timeline.senders) // _MAX_RANK_LABELS)]
    y_axis = theme.axis(
        "sending rank",
        range=[lanes - 0.5, -0.5],
        tickvals=[sender.first_lane + (sender.lanes - 1) / 2 for sender in labelled],
        ticktext=[f"{sender.job} {sender.rank}" if many_jobs else str(sender.rank) for sender in labelled],
        showgrid=False,
    )
    return lanes_layout(lanes, scale, y_axis, [sender.first_lane for sender in timeline.senders[1:]])


def lanes_layout(
    lanes: int, scale: TimeScale, y_axis: dict[str, Any], separated: Sequence[int]
) -> dict[str, Any]:
    """Return the layout of bars over time in lanes, with a line above each separated lane."""
    lane_px = min(_MAX_LANE_PX, max(_MIN_LANE_PX, _TARGET_PX // lanes))
    return theme.layout(
        height=max(240, lanes * lane_px + 90),
        xaxis=theme.time_axis(scale.unit, rangemode="tozero"),
        yaxis=y_axis,
        shapes=[_separator(lane) for lane in separated],
        barmode="overlay",
        hovermode="closest",
    )


def _separator(first_lane: int) -> dict[str, Any]:
    edge = first_lane - 0.5
    line = {"color": theme.GRID, "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": edge, "y1": edge, "line": line}


def _caption(timeline: Timeline, colour: str, broken: bool) -> str:
    text = (
        "Each bar is a data chunk, from its first byte offered to the NIC to its last byte acknowledged; "
        f"the colour is the {colour}."
    )
    if broken:
        text += " Hatched bars never completed."
    if timeline.reduction is not Reduction.NONE:
        text += (
            f" Reduced: {_REDUCED_HOW[timeline.reduction]} {timeline.chunks_total:,} chunks are drawn as "
            f"{len(timeline.bars):,} bars."
        )
    return text


_REDUCED_HOW = {
    Reduction.MERGED: "consecutive chunks of a rank are merged into one bar, coloured as its first chunk.",
    Reduction.CHOSEN: "of each rank the chunks are taken evenly in order of start, its first and last always "
    "among them.",
}


TIMELINE_FIGURE: Final = Figure(
    name="timeline",
    title="Chunk transfers",
    shows="The chunk transfers as bars over time, by sending rank; of very many ranks as shares.",
    section=TIMELINE,
    plot=lambda subject: timeline_plot(subject.chunks, subject.end_ps, subject.window, lambda: subject.racks),
    tables=("chunks",),
    draws_chunks=True,
    zooms=True,
)
