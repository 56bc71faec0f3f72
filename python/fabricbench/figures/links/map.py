"""Draws a map of a small fabric: nodes by tier, each direction of each cable coloured by its utilisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go

from fabricbench.figures import theme
from fabricbench.figures.figure import LINKS, Figure
from fabricbench.figures.links.layout import (
    DirectedLink,
    HalfLine,
    Point,
    half_lines,
    nodes_by_tier,
    place_nodes,
)
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import byte_count_text, significant, time_text

MAX_MAP_LINKS = 400
_COLOUR_BINS = 20
_MAX_LABELS_PER_TIER = 40
_TIER_PX = 190
_HALO = ", ".join(["0 0 2px white"] * 4)


def map_plot(links: Sequence[DirectedLink], tiers: Mapping[str, int]) -> Plot | None:
    """Draw the nodes tier by tier and each direction of each cable coloured by its use.

    Args:
        links: Every direction of every cable.
        tiers: Node name -> tier, 0 for hosts.

    Returns:
        The plot, or None when there are more than `MAX_MAP_LINKS` directions (see `matrix_plot`) or none.
    """
    if not 0 < len(links) <= MAX_MAP_LINKS:
        return None
    places = place_nodes(tiers)
    lines = half_lines(links, places)
    figure = go.Figure()
    for trace in _line_traces(lines):
        figure.add_trace(trace)
    figure.add_trace(_hover_points(lines))
    levels = len(set(tiers.values()))
    for level, (tier, names) in enumerate(nodes_by_tier(tiers).items()):
        side = "bottom center" if level == 0 else "top center" if level == levels - 1 else "middle right"
        figure.add_trace(_nodes(tier, names, places, side))
    figure.update_layout(
        theme.layout(
            height=80 + _TIER_PX * max(1, levels - 1),
            margin=theme.margin(l=12, r=12, t=24, b=36),
            xaxis={"visible": False, "range": [0, 1]},
            yaxis={"visible": False, "range": [-0.22, levels - 1 + 0.22]},
            hovermode="closest",
            showlegend=False,
        )
    )
    return Plot(figure, _CAPTION)


_CAPTION = (
    "Hosts at the bottom, switches above by tier. Each cable has two halves: the half next to a node shows "
    "what that node sends, so the two directions can be told apart. The colour is the share of the run for "
    "which the direction was occupied, preamble and gap included."
)


def _line_traces(lines: Sequence[HalfLine]) -> list[go.Scatter]:
    """Return one trace per colour instead of per line, which is faster in a browser."""
    width = 4 if len(lines) <= 64 else 2.5 if len(lines) <= 200 else 1.6
    bins: dict[int, list[HalfLine]] = {}
    for line in lines:
        bins.setdefault(min(_COLOUR_BINS - 1, int(line.link.use_percent * _COLOUR_BINS / 100)), []).append(
            line
        )
    return [
        go.Scatter(
            x=[x for line in bins[index] for x in (line.start[0], line.middle[0], None)],
            y=[y for line in bins[index] for y in (line.start[1], line.middle[1], None)],
            mode="lines",
            line={"width": width, "color": theme.colour_at(theme.USE_SCALE, (index + 0.5) / _COLOUR_BINS)},
            hoverinfo="skip",
        )
        for index in sorted(bins)
    ]


def _hover_points(lines: Sequence[HalfLine]) -> go.Scatter:
    """Return invisible points along the half lines, with exact values and the colour bar."""
    shares = (0.45, 0.8)
    points = [(line, share) for line in lines for share in shares]
    return go.Scatter(
        x=[line.start[0] + share * (line.middle[0] - line.start[0]) for line, share in points],
        y=[line.start[1] + share * (line.middle[1] - line.start[1]) for line, share in points],
        mode="markers",
        marker={
            "size": 12,
            "opacity": 0,
            "color": [line.link.use_percent for line, _ in points],
            "showscale": True,
            **theme.use_colours(),
        },
        hovertext=[link_text(line.link) for line, _ in points],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def link_text(link: DirectedLink) -> str:
    """Describe one direction of a cable with its exact values, for a hover."""
    frames = "" if link.frames is None else f"{link.frames:,} frames, "
    return (
        f"{link.source} port {link.source_port} → {link.target} port {link.target_port}<br>"
        f"use {link.use_percent:.2f} %, busy {time_text(link.busy_ps)}<br>"
        f"{frames}{byte_count_text(link.wire_bytes)}<br>"
        f"line rate {significant(link.rate_bps / 1e9)} Gb/s"
    )


def _nodes(tier: int, names: Sequence[str], places: Mapping[str, Point], side: str) -> go.Scatter:
    labelled = len(names) <= _MAX_LABELS_PER_TIER
    marker: dict[str, Any] = {"symbol": "square", "size": 13 if tier else 10, "color": theme.INK}
    marker["line"] = {"width": 1.5, "color": "white"}
    return go.Scatter(
        x=[places[name][0] for name in names],
        y=[places[name][1] for name in names],
        mode="markers+text" if labelled else "markers",
        text=[f" {name} " for name in names],
        textposition=side,
        textfont={"size": 11 if len(names) <= 16 else 8.5, "shadow": _HALO},
        marker=marker,
        hovertemplate=f"%{{text}}<br>tier {tier}<extra></extra>",
    )


MAP_FIGURE: Final = Figure(
    name="topology",
    title="Link use on a map of the fabric",
    shows="The fabric as a map, its links coloured by how busy they were.",
    section=LINKS,
    plot=lambda subject: map_plot(*subject.fabric),
    tables=("links", "ports"),
    missing="the fabric is too large for a map",
    is_certain=False,
)
