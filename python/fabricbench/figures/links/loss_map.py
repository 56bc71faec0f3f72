"""Draws a map of a fabric: cables and switches coloured by the bandwidth that jobs lose by each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.links.layout import Point, natural_key, nodes_by_tier, place_nodes
from fabricbench.figures.plot import Plot
from fabricbench.results.studies.degradation import STOPPED, Degraded

MAX_LINKS: Final = 4_096
"""Most cables of a map."""
_COLOUR_BINS: Final = 20
_SCALE_STEP: Final = 0.05
"""Step of the end of the colour scale, and its least: losses of no account look alike."""
_MAX_LABELS_PER_TIER: Final = 40
_TIER_PX: Final = 190
_SPREAD: Final = 0.006
"""Distance of parallel cables."""
_Texts = Mapping[str, str]


def loss_map(
    rows: Sequence[Degraded], tiers: Mapping[str, int], texts: Mapping[str, str], state: str
) -> Plot | None:
    """Draw the nodes tier by tier, cables and switches coloured by the largest loss of all jobs.

    Args:
        rows: Groups of elements in all states.
        tiers: Tier of each node, 0 for hosts.
        texts: Text of each element for a hover.
        state: The state that is drawn.

    Returns:
        The plot, or None if there are more than `MAX_LINKS` cables.
    """
    shown = [row for row in rows if row.state == state]
    losses = {name: -row.worst for row in shown for name in row.elements}
    ends = {
        name: nodes
        for row in shown
        for name, nodes in zip(row.elements, row.nodes, strict=True)
        if len(nodes) > 1
    }
    if len(ends) > MAX_LINKS:
        return None
    points = place_nodes(tiers)
    lines = _lines(ends, points)
    levels = list(nodes_by_tier(tiers).values())
    end = scale_end(losses.values())
    positions = {name: loss / end for name, loss in losses.items()}
    figure = go.Figure()
    figure.add_traces(_line_traces(lines, positions))
    figure.add_trace(_middles(lines, losses, texts, end))
    for level, names in enumerate(levels):
        side = "bottom center" if level == 0 else "top center" if level == len(levels) - 1 else "middle right"
        figure.add_trace(_nodes(names, points, side, positions, texts))
    figure.update_layout(
        theme.layout(
            height=80 + _TIER_PX * max(1, len(levels) - 1),
            margin=theme.margin(l=12, r=12, t=24, b=36),
            xaxis={"visible": False, "range": [0, 1]},
            yaxis={"visible": False, "range": [-0.22, len(levels) - 1 + 0.22]},
            hovermode="closest",
            showlegend=False,
        )
    )
    return Plot(figure, f"{_CAPTIONS[state]} {_COLOURS}")


_CAPTIONS: Final = {
    "half rate": "Each cable, or all cables of a switch, at half of its rate in both directions.",
    "1e-4 loss": "Each cable, or switch, losing one frame in 10,000 in both directions.",
    "down": "Each cable, or switch, down, after the routes have changed.",
}
_COLOURS: Final = (
    "Hosts at the bottom, switches above by tier. The colour is the bandwidth that the job with the largest "
    "loss loses, up to the largest of a job that does not stop; one that stops has the last colour."
)
_Line = tuple[Point, Point]


def scale_end(losses: Iterable[float]) -> float:
    """Return the loss with the last colour: the largest of jobs that do not stop, in whole `_SCALE_STEP`."""
    largest = max((loss for loss in losses if loss < -STOPPED), default=0.0)
    return max(1, ceil(largest / _SCALE_STEP)) * _SCALE_STEP


def _lines(ends: Mapping[str, Sequence[str]], points: Mapping[str, Point]) -> dict[str, _Line]:
    """Return the line of each cable; parallel ones are next to each other."""
    members: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(ends, key=natural_key):
        members.setdefault(tuple(ends[name]), []).append(name)
    lines: dict[str, _Line] = {}
    for nodes, names in members.items():
        (x0, y0), (x1, y1) = (points[node] for node in nodes)
        for index, name in enumerate(names):
            shift = (index - (len(names) - 1) / 2) * _SPREAD
            lines[name] = (x0 + shift, y0), (x1 + shift, y1)
    return lines


def _line_traces(lines: Mapping[str, _Line], positions: Mapping[str, float]) -> list[go.Scatter]:
    """Return one trace per colour, the largest losses on top."""
    width = 4 if len(lines) <= 64 else 2.5 if len(lines) <= 200 else 1.2
    bins: dict[int, list[_Line]] = {}
    for name, line in lines.items():
        index = min(_COLOUR_BINS - 1, int(max(0.0, positions[name]) * _COLOUR_BINS))
        bins.setdefault(index, []).append(line)
    return [
        go.Scatter(
            x=[x for start, end in bins[index] for x in (start[0], end[0], None)],
            y=[y for start, end in bins[index] for y in (start[1], end[1], None)],
            mode="lines",
            line={"width": width, "color": theme.colour_at(theme.USE_SCALE, (index + 0.5) / _COLOUR_BINS)},
            hoverinfo="skip",
        )
        for index in sorted(bins)
    ]


def _middles(
    lines: Mapping[str, _Line], losses: Mapping[str, float], texts: _Texts, end: float
) -> go.Scatter:
    """Return invisible points in the middle of the lines, with texts and the colour bar."""
    return go.Scatter(
        x=[(start[0] + end[0]) / 2 for start, end in lines.values()],
        y=[(start[1] + end[1]) / 2 for start, end in lines.values()],
        mode="markers",
        marker={
            "size": 12,
            "opacity": 0,
            "color": [100 * losses[name] for name in lines],
            "showscale": True,
            **theme.use_colours(),
            "cmax": 100 * end,
            "colorbar": theme.colour_bar("loss (%)"),
        },
        hovertext=[texts[name] for name in lines],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _nodes(
    names: Sequence[str],
    points: Mapping[str, Point],
    side: str,
    positions: Mapping[str, float],
    texts: _Texts,
) -> go.Scatter:
    """Return the nodes of a tier; switches have the colour of their loss."""
    colours = [
        theme.colour_at(theme.USE_SCALE, positions[name]) if name in positions else theme.INK
        for name in names
    ]
    return go.Scatter(
        x=[points[name][0] for name in names],
        y=[points[name][1] for name in names],
        mode="markers+text" if len(names) <= _MAX_LABELS_PER_TIER else "markers",
        text=[f" {name} " for name in names],
        textposition=side,
        textfont={"size": 11 if len(names) <= 16 else 8.5},
        marker={"symbol": "square", "size": 13, "color": colours, "line": {"width": 1, "color": theme.INK}},
        hovertext=[texts.get(name, name) for name in names],
        hovertemplate="%{hovertext}<extra></extra>",
    )
