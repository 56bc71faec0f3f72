"""Draws a metric of a published table (paper, vendor's test report) and of our trials against data size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.plot import Plot
from fabricbench.figures.results.compared_trials import metric_axis, value_text
from fabricbench.metrics import Metric
from fabricbench.words import data_size

_NO_DEVIATION: Final = "no trial of ours"
_BOTH: Final = "Crosses are published values, the line is ours."
_PUBLISHED_ALONE: Final = "Crosses are published values; no trial of ours has this metric."


def published_plot(rows: Sequence[Mapping[str, Any]], metric: Metric, size_title: str) -> Plot | None:
    """Draw a metric of a published table as crosses, and ours as a line.

    Args:
        rows: For each size `data_size_bytes`, `trial` (id of ours, or `None`) and `metrics`: by name
            `published`, `ours` and `deviation_percent`.
        metric: The metric.
        size_title: Name of the sizes.

    Returns:
        The plot, or None if the table does not have the metric.
    """
    shown = sorted(
        (row for row in rows if metric.name in row["metrics"]), key=lambda row: row["data_size_bytes"]
    )
    if not shown:
        return None
    result_rows = [row for row in shown if row["metrics"][metric.name]["ours"] is not None]
    figure = go.Figure(_scatter(shown, metric, "published", mode="markers", marker=theme.PUBLISHED_MARK))
    if result_rows:
        figure.add_trace(_result_line(result_rows, metric))
    title = f"{size_title} (logarithmic; 1 MB = 2^20 bytes)"
    values = [value for trace in figure.data for value in trace.y]
    figure.update_layout(
        theme.layout(
            height=300,
            margin=theme.margin(t=40, b=64),
            showlegend=True,
            xaxis=theme.size_axis(title, (row["data_size_bytes"] for row in shown)),
            yaxis=metric_axis(metric, values),
        )
    )
    return Plot(figure, _BOTH if result_rows else _PUBLISHED_ALONE)


def _result_line(rows: Sequence[Mapping[str, Any]], metric: Metric) -> go.Scatter:
    colour = theme.curve(0)
    style = {"line": {"width": 2, "color": colour}, "marker": {"size": 7, "color": colour}}
    return _scatter(rows, metric, "ours", mode="lines+markers", **style)


def _scatter(rows: Sequence[Mapping[str, Any]], metric: Metric, kind: str, **style: Any) -> go.Scatter:
    return go.Scatter(
        x=[row["data_size_bytes"] for row in rows],
        y=[row["metrics"][metric.name][kind] for row in rows],
        text=[_deviation(row, metric) for row in rows],
        customdata=[data_size(row["data_size_bytes"]) for row in rows],
        name=kind,
        hovertemplate=f"%{{customdata}}<br>{value_text(metric)}<br>%{{text}}<extra>{kind}</extra>",
        **style,
    )


def _deviation(row: Mapping[str, Any], metric: Metric) -> str:
    percent = row["metrics"][metric.name]["deviation_percent"]
    return _NO_DEVIATION if percent is None else f"deviation {percent:+.3g} %, trial {row['trial']}"
