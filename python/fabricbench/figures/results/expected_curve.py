"""Draws expected bus bandwidth against data size: band over seeds, bound, limit, ideal; measured results.

A single curve has NCCL's choice above it and a colour for each bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.results.studies.expected_curve import ExpectedPoint, ExpectedSeries, MeasuredSeries
from fabricbench.words import data_size

_BANDS: Final = (("least", "most", 0.16), ("lower", "upper", 0.28))
"""Ends of each band, and its opacity."""
_CURVES_MAX: Final = 14
"""Maximum curves of a plot: more would have no distinct colours."""
_MEASURED_SYMBOLS: Final = ("x", "cross", "triangle-up", "star")


def expected_plot(expected: Sequence[ExpectedSeries], measured: Sequence[MeasuredSeries] = ()) -> Plot:
    """Draw expected curves, and measured results next to them."""
    shown = expected[:_CURVES_MAX]
    is_single = len(shown) == 1
    figure = go.Figure()
    for index, series in enumerate(shown):
        colour = theme.curve(index)
        figure.add_traces([*_bands(series, colour), _median(series, colour, has_marks=not is_single)])
    if is_single:
        figure.add_traces([*_limits(shown[0]), *_bounds(shown[0])])
    for index, results in enumerate(measured):
        figure.add_trace(_measured(results, index))
    sizes = {point.data_size_bytes for series in shown for point in series.points}
    sizes |= {size for results in measured for size, _ in results.points}
    choices = list(_choices(shown[0])) if is_single else []
    figure.update_layout(
        theme.layout(
            height=460 if choices else 400,
            margin=theme.margin(t=118 if choices else 58, b=64),
            xaxis=theme.size_axis("data size (logarithmic; 1 MB = 2^20 bytes)", sizes),
            yaxis=theme.axis("busbw (GB/s; 1 GB = 10^9 bytes)", rangemode="tozero"),
            annotations=choices,
        )
    )
    if choices:
        figure.update_layout(legend={"y": 1.2})
    omitted = len(expected) - len(shown)
    return Plot(figure, _caption(shown, measured, omitted), reduced=omitted > 0)


def _bands(series: ExpectedSeries, colour: str) -> Iterator[go.Scatter]:
    """Yield the bands of a curve with several seeds: from the least to the most, and of the quartiles."""
    points = series.points
    if all(point.busbw.least == point.busbw.most for point in points):
        return
    sizes = [point.data_size_bytes for point in points]
    for low, high, opacity in _BANDS:
        yield go.Scatter(
            x=[*sizes, *reversed(sizes)],
            y=[
                *(getattr(point.busbw, high) for point in points),
                *(getattr(point.busbw, low) for point in reversed(points)),
            ],
            mode="lines",
            line={"width": 0.5, "color": colour},
            fill="toself",
            fillcolor=theme.transparent(colour, opacity),
            hoverinfo="skip",
            showlegend=False,
        )


def _median(series: ExpectedSeries, colour: str, *, has_marks: bool) -> go.Scatter:
    return go.Scatter(
        x=[point.data_size_bytes for point in series.points],
        y=[point.busbw.median for point in series.points],
        text=[_text(point) for point in series.points],
        name=f"expected, {series.name}",
        mode="lines+markers" if has_marks else "lines",
        line={"width": 2, "color": colour},
        marker={"size": 7, "color": colour},
        hovertemplate="%{text}<extra></extra>",
    )


def _text(point: ExpectedPoint) -> str:
    busbw = point.busbw
    lines = [data_size(point.data_size_bytes), f"expected {busbw.median:.4g} GB/s"]
    if busbw.least != busbw.most:
        lines.append(f"{busbw.least:.4g} to {busbw.most:.4g}, quartiles {busbw.lower:.4g}, {busbw.upper:.4g}")
    lines += [point.choice] if point.choice else []
    lines += [f"bound: {point.bound}, gain if lifted {point.gain}"] if point.bound else []
    lines += [] if point.accept_gb_per_s is None else [f"accept from {point.accept_gb_per_s:.4g} GB/s"]
    return "<br>".join(lines)


def _limits(series: ExpectedSeries) -> Iterator[go.Scatter]:
    """Yield the curves of the least bandwidth to accept, and of the ideal."""
    for name, attribute, line in (
        ("accept from", "accept_gb_per_s", {"dash": "dot", "width": 1.5, "color": theme.FAILED}),
        ("ideal", "ideal_gb_per_s", {"dash": "dash", "width": 1.5, "color": theme.IDEAL}),
    ):
        values = [getattr(point, attribute) for point in series.points]
        if any(value is not None for value in values):
            yield go.Scatter(
                x=[point.data_size_bytes for point in series.points],
                y=values,
                name=name,
                mode="lines",
                line=line,
                hovertemplate=f"{name} %{{y:.4g}} GB/s<extra></extra>",
            )


def _bounds(series: ExpectedSeries) -> Iterator[go.Scatter]:
    """Yield the points of a curve, those of one bound in one colour."""
    bounds = dict.fromkeys(point.bound for point in series.points)
    for index, bound in enumerate(bounds):
        points = [point for point in series.points if point.bound == bound]
        yield go.Scatter(
            x=[point.data_size_bytes for point in points],
            y=[point.busbw.median for point in points],
            text=[_text(point) for point in points],
            name=f"bound: {bound}",
            showlegend=bool(bound),
            mode="markers",
            marker={"size": 9, "color": theme.curve(index + 1 if bound else 0)},
            hovertemplate="%{text}<extra></extra>",
        )


def _choices(series: ExpectedSeries) -> Iterator[dict[str, Any]]:
    """Yield NCCL's choices, each above the middle of its sizes."""
    for choice, group in groupby(series.points, lambda point: point.choice):
        points = list(group)
        if choice:
            middle = points[len(points) // 2].data_size_bytes
            if len(points) % 2 == 0:
                middle = (middle * points[len(points) // 2 - 1].data_size_bytes) ** 0.5
            yield {
                "x": math.log10(middle),
                "y": 1.0,
                "yref": "paper",
                "yanchor": "bottom",
                "text": choice.replace(" ", "<br>"),
                "showarrow": False,
                "font": {"size": 11, "color": theme.MUTED},
            }


def _measured(results: MeasuredSeries, index: int) -> go.Scatter:
    colour = theme.category(1 + index)
    return go.Scatter(
        x=[size for size, _ in results.points],
        y=[busbw for _, busbw in results.points],
        text=[data_size(size) for size, _ in results.points],
        name=results.name,
        mode="lines+markers",
        line={"width": 1, "dash": "dot", "color": colour},
        marker={"size": 9, "symbol": _MEASURED_SYMBOLS[index % len(_MEASURED_SYMBOLS)], "color": colour},
        hovertemplate=f"%{{text}}<br>{results.name} %{{y:.4g}} GB/s<extra></extra>",
    )


def _caption(shown: Sequence[ExpectedSeries], measured: Sequence[MeasuredSeries], omitted: int) -> str:
    points = [point for series in shown for point in series.points]
    text = f"{'Expected' if shown else 'Measured'} bus bandwidth at each size"
    if any(point.busbw.least != point.busbw.most for point in points):
        text += ": line, the median of the seeds; dark band, their quartiles; light band, least to most"
    text += "."
    if len(shown) == 1:
        if any(point.choice for point in points):
            text += " Above: NCCL's algorithm, protocol and channels."
        if any(point.bound for point in points):
            text += " The colour of a point is its bound: lifting it gains most bandwidth."
    if measured:
        text += " Dotted curves with symbols are named in the legend."
    return text + (f" Not drawn: {omitted} more curves." if omitted else "")
