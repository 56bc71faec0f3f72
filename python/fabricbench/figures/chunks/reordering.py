"""Draws histograms of how far the frames of each job arrived behind newer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import plotly.graph_objects as go

from fabricbench.analysis.summary.reordering import Reordering, reorderings
from fabricbench.figures import theme
from fabricbench.figures.figure import ORDER, Figure
from fabricbench.figures.plot import Plot

MAX_JOBS = 8


def reordering_plot(orders: Sequence[Reordering], colours: Mapping[str, str]) -> Plot | None:
    """Draw the percentage of frames of each job by how late they arrived.

    Args:
        orders: The order of arrival of each job with late frames.
        colours: The colour of each job.

    Returns:
        The plot, or None when every frame arrived in order.
    """
    if not orders:
        return None
    drawn = sorted(orders, key=lambda order: -order.late_percent)[:MAX_JOBS]
    edges = sorted({bucket.distance_min for order in drawn for bucket in order.buckets})
    first, last = edges[0].bit_length() - 1, edges[-1].bit_length() - 1
    labels = [_label(power) for power in range(first, last + 1)]
    figure = go.Figure([_bars(order, labels, first, colours[order.job]) for order in drawn])
    figure.update_layout(
        theme.layout(
            height=340,
            margin=theme.margin(t=58),
            barmode="group",
            bargap=0.25,
            xaxis=theme.axis("distance behind the newest frame (frames)", type="category"),
            yaxis=theme.axis("frames received (%)", rangemode="tozero"),
            showlegend=True,
        )
    )
    return Plot(figure, _caption(orders, len(drawn)), len(drawn) < len(orders))


def _label(power: int) -> str:
    return "1" if power == 0 else f"{1 << power}–{(2 << power) - 1}"


def _bars(order: Reordering, labels: Sequence[str], first: int, colour: str) -> go.Bar:
    frames = [0] * len(labels)
    for bucket in order.buckets:
        frames[bucket.distance_min.bit_length() - 1 - first] = bucket.frames
    received = max(order.rx_frames, order.late_frames)
    name = f"{order.job}: {order.late_percent:.3g} % late, by {order.distance_max:,} at most"
    return go.Bar(
        x=list(labels),
        y=[round(100 * count / received, 6) for count in frames],
        customdata=[f"{count:,}" for count in frames],
        name=name,
        marker={"color": colour},
        hovertemplate=f"{order.job}<br>%{{x}} late: %{{customdata}} frames, %{{y:.3g}} %<extra></extra>",
    )


def _caption(orders: Sequence[Reordering], drawn: int) -> str:
    text = (
        "Data frames that arrived behind one with a later sequence number (RFC 4737), by how far they were "
        "behind the newest: a NIC that puts the order right must hold as many. What is sent again, after a "
        "loss or because go-back-N takes a late frame for a lost one, counts as late as well. The metric out "
        "of order counts the frames that came before them, ahead of their turn."
    )
    if drawn < len(orders):
        text += f" Reduced: the {drawn} of {len(orders)} jobs with the largest share."
    return text


ORDER_FIGURE: Final = Figure(
    name="order",
    title="How late frames came that were overtaken",
    shows="Which share of the frames of each job came how far behind the newest.",
    section=ORDER,
    plot=lambda subject: reordering_plot(reorderings(subject.record), subject.job_colours),
    tables=("reordering",),
)
