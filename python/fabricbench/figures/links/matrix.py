"""Draws link utilisation as matrices of switch x port, for each pair of neighbouring tiers and direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricbench.figures import theme
from fabricbench.figures.figure import LINKS, Figure
from fabricbench.figures.links.layout import DirectedLink, MatrixRow, port_matrix
from fabricbench.figures.links.map import MAX_MAP_LINKS, link_text
from fabricbench.figures.plot import Plot

_PORTS_PER_ROW = 64
_MAX_ROWS = 256
_MAX_HOVER_TEXTS = 6000
_MIN_FABRIC_LINKS = 16
_ROW_PX = 14


@dataclass(frozen=True)
class _Panel:
    title: str
    names: list[str]
    cells: list[list[DirectedLink]]


def matrix_plot(links: Sequence[DirectedLink], tiers: Mapping[str, int]) -> Plot | None:
    """Draw the use of each switch port, by tier and direction.

    Args:
        links: Every direction of every cable.
        tiers: Node name -> tier, 0 for hosts.

    Returns:
        The plot. None when a map is sufficient: no more than `MAX_MAP_LINKS` directions, and few of them
        between switches.
    """
    between_switches = sum(1 for link in links if tiers[link.source] and tiers[link.target])
    if len(links) <= MAX_MAP_LINKS and between_switches < _MIN_FABRIC_LINKS:
        return None
    matrices = port_matrix(links, tiers)
    pairs = [pair for pair in matrices if len(links) > MAX_MAP_LINKS or pair[0] > 0]
    panels = [panel for pair in pairs for panel in _panels(pair, matrices[pair])]
    cell_count = sum(len(panel.cells) for panel in panels)
    panels = [_merge_rows(panel) for panel in panels]
    reduced = sum(len(panel.cells) for panel in panels) < cell_count
    return Plot(_figure(panels), _caption(reduced))


def _panels(pair: tuple[int, int], rows: Sequence[MatrixRow]) -> tuple[_Panel, _Panel]:
    low, high = f"tier {pair[0]}" if pair[0] else "hosts", f"tier {pair[1]}"
    up, down = f"{low} → {high}", f"{high} → {low}"
    sent, received = (down, up) if pair[0] == 0 else (up, down)
    return (
        _Panel(sent, *_wrapped([(row.node, row.sent) for row in rows])),
        _Panel(received, *_wrapped([(row.node, row.received) for row in rows])),
    )


_MAX_TICKS = 16


def _wrapped(rows: Sequence[tuple[str, list[DirectedLink]]]) -> tuple[list[str], list[list[DirectedLink]]]:
    """Split rows longer than `_PORTS_PER_ROW`, so that a switch with a thousand hosts stays readable."""
    names: list[str] = []
    cells: list[list[DirectedLink]] = []
    for node, links in rows:
        for start in range(0, len(links), _PORTS_PER_ROW):
            names.append(node if len(links) <= _PORTS_PER_ROW else f"{node} +{start}")
            cells.append(links[start : start + _PORTS_PER_ROW])
    return names, cells


def _merge_rows(panel: _Panel) -> _Panel:
    """Merge consecutive rows if there are more than `_MAX_ROWS`: each cell shows its busiest link."""
    step = -(-len(panel.cells) // _MAX_ROWS)
    if step == 1:
        return panel
    groups = [range(start, min(start + step, len(panel.cells))) for start in range(0, len(panel.cells), step)]
    names = [f"{panel.names[group[0]]} … {panel.names[group[-1]]}" for group in groups]
    return _Panel(panel.title, names, [_busiest([panel.cells[index] for index in group]) for group in groups])


def _busiest(rows: Sequence[Sequence[DirectedLink]]) -> list[DirectedLink]:
    width = max(len(row) for row in rows)
    return [
        max((row[column] for row in rows if column < len(row)), key=lambda link: link.use_percent)
        for column in range(width)
    ]


def _figure(panels: Sequence[_Panel]) -> go.Figure:
    bands = [
        max(len(panel.cells) for panel in panels[index : index + 2]) for index in range(0, len(panels), 2)
    ]
    heights = [max(70, rows * (_ROW_PX if rows <= 64 else 4)) for rows in bands]
    total = sum(heights) + 100 * len(heights)
    figure = make_subplots(
        rows=len(bands),
        cols=2,
        row_heights=heights,
        horizontal_spacing=0.12,
        vertical_spacing=(85 / total) if len(bands) > 1 else 0,
        subplot_titles=[panel.title for panel in panels],
    )
    with_text = sum(len(row) for panel in panels for row in panel.cells) <= _MAX_HOVER_TEXTS
    for index, panel in enumerate(panels):
        figure.add_trace(_heatmap(panel, with_text), row=index // 2 + 1, col=index % 2 + 1)
    figure.update_layout(
        theme.layout(
            height=total,
            margin=theme.margin(t=30),
            coloraxis=theme.use_colours(lenmode="pixels", len=min(300, total - 30), y=1, yanchor="top"),
        )
    )
    figure.update_annotations(font={"size": 12.5, "color": theme.INK})
    figure.update_xaxes(theme.axis("port (in order, from 0)", showgrid=False, tickformat="d", tick0=0))
    for index, panel in enumerate(panels):
        # By default, Plotly puts ticks between ports, which then repeat numbers.
        step = -(-max(len(row) for row in panel.cells) // _MAX_TICKS)
        figure.update_xaxes({"dtick": step}, row=index // 2 + 1, col=index % 2 + 1)
    figure.update_yaxes(theme.axis("", showgrid=False, autorange="reversed", type="category", nticks=20))
    return figure


def _heatmap(panel: _Panel, with_text: bool) -> go.Heatmap:
    texts = [[link_text(link) for link in row] for row in panel.cells] if with_text else None
    template = "%{y}, port %{x}: use %{z:.2f} %<extra></extra>"
    return go.Heatmap(
        z=[[round(link.use_percent, 2) for link in row] for row in panel.cells],
        y=panel.names,
        coloraxis="coloraxis",
        xgap=1 if len(panel.cells) <= 64 else 0,
        ygap=1 if len(panel.cells) <= 64 else 0,
        hovertext=texts,
        hovertemplate="%{hovertext}<extra></extra>" if with_text else template,
    )


def _caption(reduced: bool) -> str:
    text = (
        "Each cell is one direction of one cable: the ports of a switch from left to right, towards its "
        "hosts or towards the tier above. The colour is the share of the run for which it was occupied."
    )
    if reduced:
        text += " Reduced: consecutive switches share a row, each cell showing the busiest of their links."
    return text


MATRIX_FIGURE: Final = Figure(
    name="links",
    title="Link use as a matrix",
    shows="How busy each link was, as a matrix of switches and their ports.",
    section=LINKS,
    plot=lambda subject: matrix_plot(*subject.fabric),
    tables=("links", "ports"),
    missing="the fabric has no links between switches to tell apart",
    is_certain=False,
)
