"""Draws bars of the queue pairs and bytes of each uplink, by switch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricbench.analysis.links.uplinks import EgressDistribution
from fabricbench.figures import theme
from fabricbench.figures.figure import UPLINKS, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import byte_count_scale

MAX_SWITCHES = 16
MAX_NAMED_UPLINKS = 48
"""With more uplinks, the axis names only switches, because names of uplinks would overlap."""


def uplinks_plot(distributions: Sequence[EgressDistribution]) -> Plot | None:
    """Draw a bar for each uplink, grouped by switch: bytes, and queue pairs if they have paths.

    Args:
        distributions: Switches with several uplinks.

    Returns:
        The plot, or None without such switches. If there are more than `MAX_SWITCHES`, those with the most
        uneven bytes are drawn.
    """
    if not distributions:
        return None
    shown = most_uneven(distributions, MAX_SWITCHES)
    links = [link for distribution in shown for link in distribution.uplinks]
    unit, unit_bytes = byte_count_scale(max(link.tx_bytes for link in links))
    panels: list[tuple[str, list[float]]] = [(f"{unit} sent", [link.tx_bytes / unit_bytes for link in links])]
    if any(distribution.has_paths for distribution in shown):
        panels.insert(0, ("queue pairs", [float(link.qps) for link in links]))
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.12)
    for row, (title, values) in enumerate(panels, start=1):
        figure.add_trace(_bars(title, values, shown), row=row, col=1)
        figure.update_yaxes(theme.axis(title, rangemode="tozero"), row=row, col=1)
    height = 90 + 150 * len(panels)
    figure.update_layout(theme.layout(height=height, showlegend=False, bargap=0.25))
    figure.update_xaxes(_axis(shown))
    if len(panels) > 1:
        figure.update_xaxes(visible=False, row=1, col=1)
    return Plot(figure, _caption(len(shown), len(distributions)), len(shown) < len(distributions))


def most_uneven(distributions: Sequence[EgressDistribution], most: int) -> list[EgressDistribution]:
    """Return at most `most` switches, those with the most uneven bytes, in their original order."""
    ranked = sorted(distributions, key=lambda distribution: -(distribution.bytes_max_to_mean or 0.0))[:most]
    switches = {distribution.switch for distribution in ranked}
    return [distribution for distribution in distributions if distribution.switch in switches]


def _are_named(shown: Sequence[EgressDistribution]) -> bool:
    """Return whether the axis has room for the name of each uplink."""
    return sum(len(distribution.uplinks) for distribution in shown) <= MAX_NAMED_UPLINKS


def _names(shown: Sequence[EgressDistribution]) -> list[tuple[str, str]]:
    """Return for each uplink its switch, and its port and peer, which distinguish parallel links."""
    return [
        (distribution.switch, f"{link.port} → {link.peer}")
        for distribution in shown
        for link in distribution.uplinks
    ]


def _bar_positions(shown: Sequence[EgressDistribution]) -> list[list[int]]:
    """Return for each switch the positions of its uplinks on a numeric axis, with a gap between switches."""
    begins = [0, *accumulate(len(distribution.uplinks) + 1 for distribution in shown)]
    return [
        list(range(begin, begin + len(distribution.uplinks)))
        for begin, distribution in zip(begins, shown, strict=False)
    ]


def _axis(shown: Sequence[EgressDistribution]) -> dict[str, Any]:
    if _are_named(shown):
        return theme.axis("uplink, by switch", type="multicategory", tickangle=-90)
    middles = [(positions[0] + positions[-1]) / 2 for positions in _bar_positions(shown)]
    return theme.axis(
        "uplinks of each switch, in the order of their ports",
        tickvals=middles,
        ticktext=[distribution.switch for distribution in shown],
        showgrid=False,
    )


def _bars(title: str, values: list[float], shown: Sequence[EgressDistribution]) -> Any:
    names = _names(shown)
    x: list[Any] = [position for positions in _bar_positions(shown) for position in positions]
    if _are_named(shown):
        x = [list(column) for column in zip(*names, strict=True)]
    return go.Bar(
        x=x,
        y=values,
        customdata=names,
        marker={
            "color": [
                theme.category(index)
                for index, distribution in enumerate(shown)
                for _ in distribution.uplinks
            ]
        },
        hovertemplate=f"%{{customdata[0]}}, %{{customdata[1]}}: %{{y:.4g}} {title}<extra></extra>",
    )


def _caption(shown: int, total: int) -> str:
    text = "What left each switch upwards, by uplink. Even bars are a balanced load."
    if shown < total:
        text += f" Reduced: {shown} of {total:,} switches, those with the most uneven bytes."
    return text


UPLINKS_FIGURE: Final = Figure(
    name="uplinks",
    title="Load of the uplinks of each switch",
    shows="Queue pairs and bytes of each uplink, in groups by switch.",
    section=UPLINKS,
    plot=lambda subject: uplinks_plot(subject.uplinks),
    tables=("ports",),
    is_certain=False,
)
