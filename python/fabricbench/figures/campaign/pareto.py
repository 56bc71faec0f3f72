"""Draws two metrics of a campaign as a scatter plot of its settings, with their Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.metrics import Metric
from fabricbench.results.studies.factor_effects import Front
from fabricbench.words import counted

_POINTS_MAX: Final = 4_000
_HEIGHT_PX: Final = 420


def pareto_plot(front: Front) -> Plot | None:
    """Draw the settings over two metrics, or return `None` if no setting has both."""
    if not front.points:
        return None
    best = set(front.best)
    others = [number for number in range(len(front.points)) if number not in best]
    step = -(-len(others) // _POINTS_MAX) or 1
    figure = go.Figure(
        [
            _points(front, others[::step], "other settings", colour=theme.MUTED, mode="markers"),
            _points(front, front.best, "Pareto front", colour=theme.category(0), mode="lines+markers"),
        ]
    )
    xs, ys = ([point[axis] for point in front.points] for axis in (0, 1))
    figure.update_layout(
        theme.layout(height=_HEIGHT_PX),
        xaxis=theme.spread_axis(_title(front.metrics[0]), min(xs), max(xs) or 1),
        yaxis=theme.spread_axis(_title(front.metrics[1]), min(ys), max(ys) or 1),
    )
    first, second = (f"{metric.title} ({metric.direction} is better)" for metric in front.metrics)
    caption = (
        f"{first} and {second}: means of each setting. No other setting is better in both than "
        f"{counted(len(front.best), 'setting')}."
    )
    if step > 1:
        caption += f" Drawn besides: one in {step} of the {len(others):,} others."
    return Plot(figure, caption, reduced=step > 1)


def _points(front: Front, numbers: Sequence[int], name: str, *, colour: str, mode: str) -> go.Scatter:
    return go.Scatter(
        x=[front.points[number][0] for number in numbers],
        y=[front.points[number][1] for number in numbers],
        text=[front.label(number) for number in numbers],
        name=name,
        mode=mode,
        line={"shape": "linear", "width": 1.6, "color": colour},
        marker={"size": 7, "color": colour},
        hovertemplate="%{text}: %{x:.4g}, %{y:.4g}<extra></extra>",
    )


def _title(metric: Metric) -> str:
    return f"{metric.label or metric.title}{f' ({metric.unit})' if metric.unit else ''}"
