"""Bus bandwidth and per cent of the ideal against data size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricbench.report.html import theme
from fabricbench.report.html.plots.plot import Plot
from fabricbench.report.text_table import data_size


@dataclass(frozen=True)
class BandwidthPoint:
    """One row of the summary.

    Attributes:
        series: Rows of one name are joined by a line (variant, job), unless a size stands twice (iterations).
        data_size_bytes: Data size S [bytes].
        busbw_gb_per_s: Bus bandwidth [GB/s], None when incomplete.
        ideal_percent: Per cent of the ideal goodput, None when incomplete.
        ideal_gb_per_s: The ideal goodput [GB/s].
        published_busbw_gb_per_s: Published bus bandwidth, if there is one.
        published_ideal_percent: Published per cent of the ideal, if there is one.
        focus: Whether this is the trial that the detailed plots show.
    """

    series: str
    data_size_bytes: int
    busbw_gb_per_s: float | None
    ideal_percent: float | None
    ideal_gb_per_s: float | None
    published_busbw_gb_per_s: float | None = None
    published_ideal_percent: float | None = None
    focus: bool = False


def bandwidth_plot(points: Sequence[BandwidthPoint]) -> Plot | None:
    """Draw measured, published and ideal bandwidth; None when no trial has a bandwidth."""
    measured = [point for point in points if point.busbw_gb_per_s is not None]
    if not measured:
        return None
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.1)
    names = list(dict.fromkeys(point.series for point in measured))
    for index, name in enumerate(names):
        own = sorted((p for p in measured if p.series == name), key=lambda p: p.data_size_bytes)
        _add_measured(figure, name, own, theme.category(index * 2))
    published = [point for point in measured if point.published_busbw_gb_per_s is not None]
    _add_published(figure, published)
    _add_ideal(figure, measured)
    _lay_out(figure, sorted({point.data_size_bytes for point in points}))
    return Plot("bandwidth", figure, _caption(bool(published), len(points) - len(measured)))


def _add_measured(figure: go.Figure, name: str, points: Sequence[BandwidthPoint], colour: str) -> None:
    sizes = [point.data_size_bytes for point in points]
    texts = [f"{name}, {data_size(point.data_size_bytes)}" for point in points]
    edge = [2.5 if point.focus else 0 for point in points]
    marker = {"size": 8, "color": colour, "line": {"width": edge, "color": theme.INK}}
    columns = (
        ([point.busbw_gb_per_s for point in points], "busbw %{y:.4f} GB/s"),
        ([point.ideal_percent for point in points], "%{y:.3f} % of ideal"),
    )
    for column, (values, template) in enumerate(columns, start=1):
        trace = go.Scatter(
            x=sizes,
            y=values,
            text=texts,
            name=name,
            legendgroup=name,
            showlegend=column == 1,
            mode="lines+markers" if len(set(sizes)) == len(sizes) else "markers",
            line={"width": 2, "color": colour},
            marker=marker,
            hovertemplate=f"%{{text}}<br>{template}<extra>simulated</extra>",
        )
        figure.add_trace(trace, row=1, col=column)


def _add_published(figure: go.Figure, points: Sequence[BandwidthPoint]) -> None:
    columns = (
        ([point.published_busbw_gb_per_s for point in points], "busbw %{y:.4f} GB/s"),
        ([point.published_ideal_percent for point in points], "%{y:.3f} % of ideal"),
    )
    for column, (values, template) in enumerate(columns, start=1):
        if not any(value is not None for value in values):
            continue
        trace = go.Scatter(
            x=[point.data_size_bytes for point in points],
            y=values,
            text=[data_size(point.data_size_bytes) for point in points],
            name="published",
            legendgroup="published",
            showlegend=column == 1,
            mode="markers",
            marker={"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": theme.CATEGORIES[1]}},
            hovertemplate=f"%{{text}}<br>{template}<extra>published</extra>",
        )
        figure.add_trace(trace, row=1, col=column)


def _add_ideal(figure: go.Figure, points: Sequence[BandwidthPoint]) -> None:
    ideals = {
        point.data_size_bytes: point.ideal_gb_per_s for point in points if point.ideal_gb_per_s is not None
    }
    line = {"dash": "dash", "width": 1.5, "color": theme.IDEAL}
    sizes = sorted(ideals)
    levels = [ideals[size] for size in sizes]
    for column, values in ((1, levels), (2, [100.0] * len(sizes))):
        trace = go.Scatter(
            x=sizes,
            y=values,
            name="ideal goodput",
            legendgroup="ideal",
            showlegend=column == 1,
            mode="lines" if len(sizes) > 1 else "markers",
            marker={"symbol": "line-ew", "size": 40, "line": {"width": 1.5, "color": theme.IDEAL}},
            line=line,
            hovertemplate="ideal %{y:.4f}<extra></extra>",
        )
        figure.add_trace(trace, row=1, col=column)


def _lay_out(figure: go.Figure, sizes: Sequence[int]) -> None:
    figure.update_layout(theme.layout(height=390, margin={"l": 64, "r": 16, "t": 44, "b": 64}))
    labels = {"tickvals": list(sizes), "ticktext": [data_size(size) for size in sizes], "tickangle": -45}
    figure.update_xaxes(theme.axis("data size (logarithmic; 1 MB = 2^20 bytes)", type="log", **labels))
    figure.update_yaxes(theme.axis("busbw (GB/s; 1 GB = 10^9 bytes)", rangemode="tozero"), row=1, col=1)
    figure.update_yaxes(theme.axis("busbw / ideal goodput (%; not from 0)"), row=1, col=2)


def _caption(published: bool, incomplete: int) -> str:
    text = (
        "Bus bandwidth of each trial, and its share of the ideal goodput of a port (line rate less the "
        "headers of full frames). The outlined point is the trial that the detailed plots below show."
    )
    if published:
        text += " Crosses are published measurements."
    if incomplete:
        text += f" {incomplete} incomplete trials have no bandwidth and are not drawn."
    return text
