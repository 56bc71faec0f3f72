"""Draws distributions of frame latency over a trial's chunks (transfers): smallest, mean, largest of each."""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.cumulative_distribution import EXACT_TAIL, MAX_POINTS, cdf_points
from fabricbench.figures.figure import LATENCY, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import time_scale

_COLUMNS = {
    "latency_min_ps": "smallest of the chunk",
    "latency_mean_ps": "mean of the chunk",
    "latency_max_ps": "largest of the chunk",
}


def latency_plot(chunks: pl.LazyFrame) -> Plot | None:
    """Draw the distributions of the smallest, mean and largest frame latency of each chunk.

    Args:
        chunks: Table `chunks` of a trial.

    Returns:
        The plot, or None when no frame was accepted.
    """
    table = chunks.select(list(_COLUMNS)).drop_nulls().collect()
    if table.is_empty():
        return None
    scale = time_scale(float(str(table["latency_mean_ps"].median())))
    figure = go.Figure()
    reduced = False
    for index, (column, name) in enumerate(_COLUMNS.items()):
        values, shares, is_reduced = cdf_points(table[column])
        reduced |= is_reduced
        hover = f"{name}<br>%{{y:.4g}} % of chunks: at most %{{x:.6g}} {scale.unit}<extra></extra>"
        figure.add_trace(
            go.Scatter(
                x=[round(value / scale.ps, 6) for value in values],
                y=[round(share, 3) for share in shares],
                name=name,
                mode="lines",
                line={"shape": "hv", "width": 1.8, "color": theme.category(index)},
                hovertemplate=hover,
            )
        )
    figure.update_layout(
        theme.layout(
            height=370,
            margin=theme.margin(t=58),
            xaxis=theme.spread_axis(
                f"frame latency ({scale.unit})", *(edge / scale.ps for edge in _range_ps(table))
            ),
            yaxis=theme.axis("chunks (%)", range=[-2, 103]),
        )
    )
    return Plot(figure, _caption(reduced))


def _range_ps(table: pl.DataFrame) -> tuple[float, float]:
    return float(str(table["latency_min_ps"].min())), float(str(table["latency_max_ps"].max()))


def _caption(reduced: bool) -> str:
    text = (
        "Latency of accepted data frames from their first bit on the first link to their last bit off the "
        "last link, NIC latency excluded. The record keeps the smallest, the mean and the largest of each "
        "chunk; a curve is the share of chunks whose value is at most the one on the axis."
    )
    if reduced:
        text += (
            f" Reduced: {MAX_POINTS:,} points a curve, the lowest and highest {EXACT_TAIL} values exactly."
        )
    return text


LATENCY_FIGURE: Final = Figure(
    name="latency",
    title="Frame latency",
    shows="Distribution over the chunks of their smallest, mean and largest frame latency.",
    section=LATENCY,
    plot=lambda subject: latency_plot(subject.chunks),
    tables=("chunks",),
    result=lambda row: row.summary.value("latency_us_min") is not None,
    draws_chunks=True,
)
