"""Draws congestion control over time: fraction of time that ports are paused, rates of queue pairs."""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.figure import SERIES, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.samples.downsampling import between_stretches, evenly, with_stretches
from fabricbench.figures.scales import TimeScale, time_text

MAX_PAUSE_LINES = 8
MAX_RATE_LINES = 16
_MAX_POINTS = 250
_BPS_PER_GBPS = 1e9


def pause_plot(series: pl.DataFrame, scale: TimeScale) -> Plot | None:
    """Draw the percentage of time that the longest paused ports were paused, between samples.

    Args:
        series: Table `series` of a trial.
        scale: The unit of time.

    Returns:
        The plot, or None when no sampled port was paused.
    """
    pauses = series.filter(pl.col("metric") == "paused_ps")
    if pauses.is_empty():
        return None
    port_columns = ["node", "port", "priority"]
    totals = pauses.group_by(port_columns).agg(pl.col("value").max().alias("paused"))
    longest = totals.sort(["paused", *port_columns], descending=[True, False, False, False]).head(
        MAX_PAUSE_LINES
    )
    figure = go.Figure()
    for index, (node, port, priority, paused) in enumerate(longest.iter_rows()):
        is_port = (pl.col("node") == node) & (pl.col("port") == port) & (pl.col("priority") == priority)
        name = f"{node} port {port}, priority {priority} ({time_text(paused)})"
        samples = evenly(pauses.filter(is_port).sort("time_ps"), _MAX_POINTS)
        figure.add_trace(_pause_line(samples, name, scale, index))
    figure.update_layout(_layout(scale, theme.axis("paused (% of the time)", range=[-2, 103])))
    text = (
        "Share of the time for which an egress port was paused, between one sample and the next. In brackets "
        "the time in all."
    )
    if longest.height < totals.height:
        text += f" Reduced: the {longest.height} of {totals.height:,} that were paused longest."
    return Plot(figure, text, longest.height < totals.height, scale)


def _pause_line(samples: pl.DataFrame, name: str, scale: TimeScale, index: int) -> go.Scatter:
    steps = samples.with_columns(
        (100 * pl.col("value").diff() / pl.col("time_ps").diff()).clip(0, 100).alias("share")
    ).drop_nulls("share")
    return go.Scatter(
        x=[round(time_ps / scale.ps, 7) for time_ps in steps["time_ps"]],
        y=[round(share, 3) for share in steps["share"]],
        name=name,
        mode="lines",
        line={"width": 1.6, "shape": "vh", "color": theme.category(index)},
        hovertemplate=f"{name}<br>%{{y:.3g}} % until %{{x:.5g}} {scale.unit}<extra></extra>",
    )


def rate_plot(series: pl.DataFrame, names: dict[int, str], scale: TimeScale) -> Plot | None:
    """Draw the rate of some queue pairs over time: those with the lowest minimum.

    Args:
        series: Table `series` of a trial.
        names: Job and ranks of each queue pair, as far as known.
        scale: The unit of time.

    Returns:
        The plot, or None when no rate was sampled or none ever fell.
    """
    rates = series.filter(pl.col("metric") == "rate_bps")
    if rates.is_empty():
        return None
    least = rates.group_by("qp").agg(pl.col("value").min().alias("least"))
    least = least.filter(pl.col("least") < rates["value"].max())
    if least.is_empty():
        return None
    lowest = least.sort(["least", "qp"]).head(MAX_RATE_LINES)
    figure = go.Figure()
    interval_ps = rates["time_ps"].unique().sort().diff().median()  # some are shorter
    for index, qp in enumerate(sorted(lowest["qp"])):
        qp_rates = with_stretches(rates.filter(pl.col("qp") == qp).sort("time_ps"), interval_ps)
        samples = between_stretches(evenly(qp_rates, _MAX_POINTS))
        name = ", ".join(part for part in (f"QP {qp}", names.get(qp, "")) if part)
        figure.add_trace(_rate_line(samples, name, scale, index))
    axis = theme.axis("rate allowed (Gb/s)", rangemode="tozero")
    figure.update_layout(_layout(scale, axis))
    text = (
        "Rate that its control allows a queue pair, at each sample at which it has something to send; in "
        "between the line is broken. Queue pairs whose rate never fell are left out."
    )
    if lowest.height < least.height:
        text += f" Reduced: the {lowest.height} of {least.height:,} sampled ones whose rate fell lowest."
    return Plot(figure, text, lowest.height < least.height, scale)


def _rate_line(samples: pl.DataFrame, name: str, scale: TimeScale, index: int) -> go.Scatter:
    return go.Scatter(
        x=[round(time_ps / scale.ps, 7) for time_ps in samples["time_ps"]],
        y=[None if value is None else round(value / _BPS_PER_GBPS, 4) for value in samples["value"]],
        connectgaps=False,
        name=name,
        mode="lines+markers" if samples.height <= 3 else "lines",
        line={"width": 1.4, "color": theme.category(index)},
        hovertemplate=f"{name}<br>%{{y:.4g}} Gb/s at %{{x:.5g}} {scale.unit}<extra></extra>",
    )


def _layout(scale: TimeScale, axis: dict[str, object]) -> dict[str, object]:
    return theme.layout(
        height=400,
        margin=theme.margin(t=96),
        xaxis=theme.time_axis(scale.unit, rangemode="tozero"),
        yaxis=axis,
    )


PAUSES_FIGURE: Final = Figure(
    name="pauses",
    title="Pauses over time",
    shows="For which share of the time the ports were paused that were paused longest.",
    section=SERIES,
    plot=lambda subject: pause_plot(subject.series, subject.time_scale),
    tables=("series",),
    metric="paused_ps",
    missing="no sampled port was paused",
)
RATES_FIGURE: Final = Figure(
    name="rates",
    title="Sending rates over time",
    shows="The rate that its control allows each of the sampled queue pairs whose rate fell.",
    section=SERIES,
    plot=lambda subject: rate_plot(subject.series, subject.queue_pairs, subject.time_scale),
    tables=("series",),
    metric="rate_bps",
    missing="no rate was sampled that fell",
    is_certain=False,
)
