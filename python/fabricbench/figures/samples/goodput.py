"""Draws delivered payload over time: per job, and for selected TCP connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.analysis.summary.tcp_connections import SAMPLED, ConnectionResult
from fabricbench.figures import theme
from fabricbench.figures.figure import SERIES, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.samples.downsampling import evenly
from fabricbench.figures.scales import TimeScale

MAX_JOBS = 8
MAX_CONNECTIONS = 8
_MAX_POINTS = 400
_MAX_CONNECTION_POINTS = 100
_GB_PER_S = ("GB/s", 1e3)
_GBPS = ("Gb/s", 8e3)


def goodput_plot(series: pl.DataFrame, colours: Mapping[str, str], scale: TimeScale) -> Plot | None:
    """Draw the rate of delivered payload of each job between samples.

    Args:
        series: Table `series` of a trial.
        colours: The colour of each job.
        scale: The unit of time.

    Returns:
        The plot, or None when nothing was sampled or delivered.
    """
    delivered = series.filter(pl.col("metric") == "delivered_bytes")
    totals = delivered.group_by("job").agg(pl.col("value").max().alias("total"))
    totals = totals.filter(pl.col("total") > 0).sort(["total", "job"], descending=[True, False])
    if totals.is_empty():
        return None
    figure = go.Figure()
    for job in map(str, totals["job"].head(MAX_JOBS)):
        samples = delivered.filter(pl.col("job") == job).sort("time_ps")
        figure.add_trace(_line(evenly(samples, _MAX_POINTS), job, scale, colours[job], _GB_PER_S))
    figure.update_layout(
        theme.layout(
            height=360,
            margin=theme.margin(t=58),
            showlegend=True,
            xaxis=theme.time_axis(scale.unit, rangemode="tozero"),
            yaxis=theme.axis("delivered (GB/s)", rangemode="tozero"),
        )
    )
    is_reduced = totals.height > MAX_JOBS
    return Plot(figure, _caption(totals.height), is_reduced, scale)


def _line(
    samples: pl.DataFrame, name: str, scale: TimeScale, colour: str, unit: tuple[str, float]
) -> go.Scatter:
    """Draw a rate in a unit: its name, and its factor from bytes/ps."""
    label, factor = unit
    rates = samples.with_columns(
        (pl.col("value").diff() / pl.col("time_ps").diff() * factor).alias("rate")
    ).drop_nulls("rate")
    return go.Scatter(
        x=[round(time_ps / scale.ps, 7) for time_ps in rates["time_ps"]],
        y=[round(rate, 4) for rate in rates["rate"]],
        name=name,
        mode="lines",
        line={"width": 1.6, "shape": "vh", "color": colour},
        hovertemplate=f"{name}<br>%{{y:.4g}} {label} until %{{x:.5g}} {scale.unit}<extra></extra>",
    )


def _caption(jobs: int) -> str:
    text = (
        "Payload placed at the hosts of each job, between one sample and the next; frames that came twice "
        "count once."
    )
    if jobs > MAX_JOBS:
        text += f" Reduced: the {MAX_JOBS} of {jobs} jobs that were delivered most."
    return text


def connections_plot(
    series: pl.DataFrame, connections: Sequence[ConnectionResult], scale: TimeScale
) -> Plot | None:
    """Draw the goodput of TCP connections between samples.

    Args:
        series: Table `series` of a trial.
        connections: Its connections, in order of priority.
        scale: The unit of time.

    Returns:
        The plot, or None when no connection was sampled.
    """
    delivered = series.filter(pl.col("metric") == SAMPLED)
    sampled = set(delivered["qp"].unique().to_list())
    sampled_connections = [connection for connection in connections if connection.connection in sampled]
    if not sampled_connections:
        return None
    figure = go.Figure()
    for index, connection in enumerate(sampled_connections[:MAX_CONNECTIONS]):
        samples = delivered.filter(pl.col("qp") == connection.connection).sort("time_ps")
        name = (
            f"{connection.tcp} {connection.connection}, "
            f"host{connection.src_host} to host{connection.dst_host}"
        )
        samples = evenly(samples, _MAX_CONNECTION_POINTS)
        figure.add_trace(_line(samples, name, scale, theme.category(index), _GBPS))
    figure.update_layout(
        theme.layout(
            height=400,
            margin=theme.margin(t=96),
            xaxis=theme.time_axis(scale.unit, rangemode="tozero"),
            yaxis=theme.axis("goodput (Gb/s)", rangemode="tozero"),
        )
    )
    text = (
        "Payload that TCP connections delivered in order, between one sample and the next, each a mean over "
        f"about a {_MAX_CONNECTION_POINTS}th of the run."
    )
    is_reduced = len(sampled_connections) > MAX_CONNECTIONS
    if is_reduced:
        text += (
            f" Reduced: {MAX_CONNECTIONS} of {len(sampled_connections):,} sampled connections, "
            "those with most timeouts, then those that were idle for longest."
        )
    return Plot(figure, text, is_reduced, scale)


TCP_GOODPUT_FIGURE: Final = Figure(
    name="tcp-goodput",
    title="Goodput of TCP connections over time",
    shows="Payload delivered by single TCP connections, those with timeouts first.",
    section=SERIES,
    plot=lambda subject: connections_plot(subject.series, subject.connections, subject.time_scale),
    tables=("series", "connections"),
    metric=SAMPLED,
    missing="the plan has no TCP, or no connection was sampled",
)
GOODPUT_FIGURE: Final = Figure(
    name="goodput",
    title="Goodput over time",
    shows="Payload delivered to each job.",
    section=SERIES,
    plot=lambda subject: goodput_plot(subject.series, subject.job_colours, subject.time_scale),
    tables=("series",),
    metric="delivered_bytes",
)
