"""Draws the ECN thresholds Kmin and Kmax over time, for ports that change them (dynamic ECN)."""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.figure import SERIES, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import TimeScale, byte_count_text

MAX_THRESHOLD_PORTS = 6
_MAX_POINTS = 250
_METRICS = {"ecn_kmin_bytes": ("Kmin", "solid"), "ecn_kmax_bytes": ("Kmax", "dot")}
_WHERE = ["node", "port", "priority"]
_BYTES_PER_KB = 1e3


def threshold_plot(series: pl.DataFrame, scale: TimeScale) -> Plot | None:
    """Draw Kmin and Kmax of the ports that changed them, those with the longest queues first.

    Args:
        series: Table `series` of a trial.
        scale: The unit of time.

    Returns:
        The plot, or None when no sampled port changed its thresholds.
    """
    thresholds = series.filter(pl.col("metric").is_in(list(_METRICS)))
    changed = _changed_ports(series, thresholds)
    if changed.is_empty():
        return None
    drawn = changed.head(MAX_THRESHOLD_PORTS)
    figure = go.Figure()
    for index, port_key in enumerate(drawn.select(_WHERE).iter_rows()):
        for metric in _METRICS:
            port_filters = [pl.col(name) == value for name, value in zip(_WHERE, port_key, strict=True)]
            samples = thresholds.filter(pl.col("metric") == metric, *port_filters).sort("time_ps")
            figure.add_trace(_line(_corners(samples), metric, port_key, scale, index))
    figure.update_layout(
        theme.layout(
            height=400,
            margin=theme.margin(t=96),
            xaxis=theme.time_axis(scale.unit, rangemode="tozero"),
            yaxis=theme.axis("thresholds (kB, decimal)", rangemode="tozero"),
        )
    )
    text = (
        "Kmin (lines) and Kmax (dots) of ECN at each sample, of ports that moved them. Every change of a "
        "port counts in the table of ports; the first 16 of each are events, with what led to them."
    )
    if drawn.height < changed.height:
        text += f" Reduced: the {drawn.height} of {changed.height:,} ports whose queue grew longest."
    return Plot(figure, text, drawn.height < changed.height, scale)


def _changed_ports(series: pl.DataFrame, thresholds: pl.DataFrame) -> pl.DataFrame:
    """Return the ports and priorities whose Kmin changed, the longest queue first."""
    kmin = thresholds.filter(pl.col("metric") == "ecn_kmin_bytes")
    ports = kmin.group_by(_WHERE).agg(pl.col("value").n_unique().alias("values"))
    queues = series.filter(pl.col("metric") == "queue_bytes")
    peaks = queues.group_by("node", "port").agg(pl.col("value").max().alias("peak"))
    ports = ports.filter(pl.col("values") > 1).join(peaks, on=["node", "port"], how="left")
    return ports.sort(["peak", *_WHERE], descending=[True, False, False, False], nulls_last=True)


def _line(
    samples: pl.DataFrame, metric: str, port_key: tuple[object, ...], scale: TimeScale, index: int
) -> go.Scatter:
    title, dash = _METRICS[metric]
    node, port, priority = port_key
    name = f"{node} port {port}, priority {priority}: {title}"
    return go.Scatter(
        x=[round(time_ps / scale.ps, 7) for time_ps in samples["time_ps"]],
        y=[value / _BYTES_PER_KB for value in samples["value"]],
        name=name,
        mode="lines",
        line={"width": 1.6, "shape": "hv", "dash": dash, "color": theme.category(index)},
        customdata=[byte_count_text(value) for value in samples["value"]],
        hovertemplate=f"{name}<br>%{{customdata}} at %{{x:.5g}} {scale.unit}<extra></extra>",
    )


def _corners(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the samples at which the value changes, at most `_MAX_POINTS`, including the last."""
    changed = (pl.col("value") != pl.col("value").shift(1)).fill_null(value=True)
    corners = pl.concat([samples.filter(changed), samples.tail(1)]).unique(maintain_order=True)
    step = -(-corners.height // _MAX_POINTS)
    if step <= 1:
        return corners
    return pl.concat([corners.gather_every(step), corners.tail(1)]).unique(maintain_order=True)


THRESHOLDS_FIGURE: Final = Figure(
    name="thresholds",
    title="ECN thresholds over time",
    shows="Kmin and Kmax of the ports that moved them.",
    section=SERIES,
    plot=lambda subject: threshold_plot(subject.series, subject.time_scale),
    tables=("series",),
    metric="ecn_kmin_bytes",
    missing="no sampled port moved its thresholds",
    is_certain=False,
)
