"""Bus bandwidth and per cent of the ideal against data size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.words import data_size


@dataclass(frozen=True)
class BandwidthPoint:
    """One row of the summary.

    Attributes:
        series: Rows of one name are joined by a line (variant, job), unless a size stands twice (iterations).
        size_bytes: Data size S or message size, as the plan swept them [bytes].
        busbw_gb_per_s: Bus bandwidth [GB/s], None when incomplete.
        ideal_percent: Per cent of the ideal goodput, None when incomplete.
        ideal_gb_per_s: The ideal goodput [GB/s].
        published_busbw_gb_per_s: Published bus bandwidth, if there is one.
        published_ideal_percent: Published per cent of the ideal, if there is one.
        focus: Whether this is the trial that the detailed plots show.
    """

    series: str
    size_bytes: int
    busbw_gb_per_s: float | None
    ideal_percent: float | None
    ideal_gb_per_s: float | None
    published_busbw_gb_per_s: float | None = None
    published_ideal_percent: float | None = None
    focus: bool = False


def bandwidth_plots(points: Sequence[BandwidthPoint], size_title: str = "data size") -> list[Plot]:
    """Draw bus bandwidth, and its share of the ideal; nothing when no trial has a bandwidth.

    Args:
        points: One for each row.
        size_title: What their sizes are.
    """
    measured = [point for point in points if point.busbw_gb_per_s is not None]
    if not measured:
        return []
    incomplete = len(points) - len(measured)
    shared = [point for point in measured if point.ideal_percent is not None]
    quantities = ((_BUSBW, measured), (_IDEAL_PERCENT, shared))
    return [_plot(quantity, found, incomplete, size_title) for quantity, found in quantities if found]


@dataclass(frozen=True)
class _Quantity:
    """One of the two drawings: which fields of the points it shows, and how."""

    key: str
    ours: str
    published: str
    hover: str
    axis: dict[str, Any]
    caption: str


_BUSBW = _Quantity(
    "busbw",
    "busbw_gb_per_s",
    "published_busbw_gb_per_s",
    "busbw %{y:.4f} GB/s",
    theme.axis("busbw (GB/s; 1 GB = 10^9 bytes)", rangemode="tozero"),
    "Bus bandwidth of each trial. The outlined point is the trial that the detailed plots below show.",
)
_IDEAL_PERCENT = _Quantity(
    "ideal",
    "ideal_percent",
    "published_ideal_percent",
    "%{y:.3f} % of ideal",
    theme.axis("busbw / ideal goodput (%; not from 0)"),
    "The same as a share of the ideal goodput of a port: line rate less the headers of full frames.",
)


def _plot(quantity: _Quantity, points: Sequence[BandwidthPoint], incomplete: int, size_title: str) -> Plot:
    figure = go.Figure()
    names = list(dict.fromkeys(point.series for point in points))
    for index, name in enumerate(names):
        own = sorted((p for p in points if p.series == name), key=lambda p: p.size_bytes)
        figure.add_trace(_measured(quantity, name, own, theme.curve(index)))
    published = [point for point in points if getattr(point, quantity.published) is not None]
    if published:
        figure.add_trace(_published(quantity, published))
    ideal = _ideal(quantity, points)
    if ideal is not None:
        figure.add_trace(ideal)
    sizes = sorted({point.size_bytes for point in points})
    labels = {"tickvals": sizes, "ticktext": [data_size(size) for size in sizes], "tickangle": -45}
    size_axis = theme.axis(f"{size_title} (logarithmic; 1 MB = 2^20 bytes)", type="log", **labels)
    figure.update_layout(
        theme.layout(height=380, margin=theme.margin(t=58, b=64), xaxis=size_axis, yaxis=quantity.axis)
    )
    return Plot(quantity.key, figure, _caption(quantity, bool(published), incomplete))


def _measured(quantity: _Quantity, name: str, points: Sequence[BandwidthPoint], colour: str) -> go.Scatter:
    sizes = [point.size_bytes for point in points]
    edge = [2.5 if point.focus else 0 for point in points]
    return go.Scatter(
        x=sizes,
        y=[getattr(point, quantity.ours) for point in points],
        text=[f"{name}, {data_size(size)}" for size in sizes],
        name=name,
        mode="lines+markers" if len(set(sizes)) == len(sizes) else "markers",
        line={"width": 2, "color": colour},
        marker={"size": 8, "color": colour, "line": {"width": edge, "color": theme.INK}},
        hovertemplate=f"%{{text}}<br>{quantity.hover}<extra></extra>",
    )


def _published(quantity: _Quantity, points: Sequence[BandwidthPoint]) -> go.Scatter:
    return go.Scatter(
        x=[point.size_bytes for point in points],
        y=[getattr(point, quantity.published) for point in points],
        text=[data_size(point.size_bytes) for point in points],
        name="published",
        mode="markers",
        marker={"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": theme.CATEGORIES[1]}},
        hovertemplate=f"%{{text}}<br>{quantity.hover}<extra>published</extra>",
    )


def _ideal(quantity: _Quantity, points: Sequence[BandwidthPoint]) -> go.Scatter | None:
    ideals = {p.size_bytes: p.ideal_gb_per_s for p in points if p.ideal_gb_per_s is not None}
    if not ideals:
        return None
    sizes = sorted(ideals)
    return go.Scatter(
        x=sizes,
        y=[ideals[size] for size in sizes] if quantity is _BUSBW else [100.0] * len(sizes),
        name="ideal goodput",
        mode="lines" if len(sizes) > 1 else "markers",
        marker={"symbol": "line-ew", "size": 40, "line": {"width": 1.5, "color": theme.IDEAL}},
        line={"dash": "dash", "width": 1.5, "color": theme.IDEAL},
        hovertemplate="ideal %{y:.4f}<extra></extra>",
    )


def _caption(quantity: _Quantity, published: bool, incomplete: int) -> str:
    text = quantity.caption
    if published:
        text += " Crosses are published measurements."
    if incomplete:
        text += f" Not drawn: {incomplete} results without a bandwidth, incomplete or of no bytes."
    return text
