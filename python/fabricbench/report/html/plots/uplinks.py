"""Queue pairs and bytes of each uplink, switch by switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricbench.analysis.uplinks import EgressDistribution
from fabricbench.report.html import theme
from fabricbench.report.html.plots.plot import Plot

MAX_SWITCHES = 16
_BYTES_PER_GB = 1e9


def uplinks_plot(distributions: Sequence[EgressDistribution]) -> Plot | None:
    """Draw a bar for each uplink, in groups by switch: bytes, and queue pairs where they have paths.

    Args:
        distributions: Switches with several uplinks.

    Returns:
        The plot, or None without such switches. Of more than `MAX_SWITCHES` those with the most uneven bytes
        are drawn.
    """
    if not distributions:
        return None
    shown = most_uneven(distributions, MAX_SWITCHES)
    names = _names(shown)
    panels: list[tuple[str, list[float]]] = [
        ("GB sent", [link.tx_bytes / _BYTES_PER_GB for each in shown for link in each.uplinks])
    ]
    if any(each.has_paths for each in shown):
        panels.insert(0, ("queue pairs", [float(link.qps) for each in shown for link in each.uplinks]))
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.12)
    for row, (title, values) in enumerate(panels, start=1):
        figure.add_trace(_bars(title, values, names, shown), row=row, col=1)
        figure.update_yaxes(theme.axis(title, rangemode="tozero"), row=row, col=1)
    height = 90 + 150 * len(panels)
    figure.update_layout(theme.layout(height=height, showlegend=False, bargap=0.25))
    figure.update_xaxes(theme.axis("uplink, by switch", type="multicategory"))
    if len(panels) > 1:
        figure.update_xaxes(visible=False, row=1, col=1)
    return Plot("uplinks", figure, _caption(len(shown), len(distributions)), len(shown) < len(distributions))


def most_uneven(distributions: Sequence[EgressDistribution], most: int) -> list[EgressDistribution]:
    """Keep at most so many switches, those whose bytes are spread most unevenly, in their order."""
    ranked = sorted(distributions, key=lambda each: -(each.bytes_max_to_mean or 0.0))[:most]
    kept = {each.switch for each in ranked}
    return [each for each in distributions if each.switch in kept]


def _names(shown: Sequence[EgressDistribution]) -> list[list[str]]:
    """Return for each uplink its switch, and its port and peer, which tell parallel links apart."""
    pairs = [(each.switch, f"{link.port} → {link.peer}") for each in shown for link in each.uplinks]
    return [[switch for switch, _ in pairs], [uplink for _, uplink in pairs]]


def _bars(
    title: str, values: list[float], names: list[list[str]], shown: Sequence[EgressDistribution]
) -> Any:
    colours = [theme.category(index) for index, each in enumerate(shown) for _ in each.uplinks]
    return go.Bar(
        x=names,
        y=values,
        marker={"color": colours},
        hovertemplate=f"%{{x}}: %{{y:.4g}} {title}<extra></extra>",
    )


def _caption(shown: int, total: int) -> str:
    text = "What left each switch upwards, by uplink. Even bars are a balanced load."
    if shown < total:
        text += f" Reduced: {shown} of {total:,} switches, those with the most uneven bytes."
    return text
