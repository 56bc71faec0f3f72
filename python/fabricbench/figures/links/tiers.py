"""Draws mean and largest link utilisation of a large fabric: a band for each direction between two tiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fabricbench.figures import theme
from fabricbench.figures.figure import LINKS, Figure
from fabricbench.figures.links.layout import DirectedLink, port_matrix
from fabricbench.figures.links.map import MAX_MAP_LINKS, link_text
from fabricbench.figures.plot import Plot

_CELLS_MAX: Final = 128
"""Maximum cells of a band; with more switches, consecutive ones share a cell."""
_BAND_PX: Final = 88
_ROWS: Final = ("mean", "busiest")


@dataclass(frozen=True)
class _Cell:
    """The links of some consecutive switches in one direction."""

    first: str
    last: str
    links: Sequence[DirectedLink]

    @property
    def mean(self) -> float:
        return fmean(link.use_percent for link in self.links)

    @property
    def busiest(self) -> DirectedLink:
        return max(self.links, key=lambda link: link.use_percent)

    @property
    def text(self) -> str:
        """Hover text."""
        switches = self.first if self.first == self.last else f"{self.first} to {self.last}"
        least = min(link.use_percent for link in self.links)
        use = f"use {least:.2f} % at least, {self.mean:.2f} % on average"
        return f"{switches}: {len(self.links):,} links<br>{use}<br>busiest: {link_text(self.busiest)}"


def tiers_plot(links: Sequence[DirectedLink], tiers: Mapping[str, int]) -> Plot | None:
    """Draw mean and largest use of the links in each direction between two tiers, by switch.

    Args:
        links: Every direction of every cable.
        tiers: Node name -> tier, 0 for hosts.

    Returns:
        The plot, or None if a map shows the fabric: up to `MAX_MAP_LINKS` directions.
    """
    if len(links) <= MAX_MAP_LINKS:
        return None
    bands = list(_bands(links, tiers))
    is_folded = any(cell.first != cell.last for _, cells in bands for cell in cells)
    return Plot(_figure(bands), _CAPTION + (_FOLDED if is_folded else ""))


_CAPTION: Final = (
    "Each band is one direction between two tiers, with the switches of the lower tier from left to right "
    "(next to hosts those that they are cabled to). Where the busiest link stands out from the mean, load is "
    "uneven; where a whole stretch does, its switches carry more than others. The colour is the share of the "
    "run for which a link was occupied; every link of the fabric counts."
)
_FOLDED: Final = " Consecutive switches share a cell."


def _bands(links: Sequence[DirectedLink], tiers: Mapping[str, int]) -> Iterator[tuple[str, list[_Cell]]]:
    """Yield each direction with its cells, upwards first."""
    for (low, high), rows in port_matrix(links, tiers).items():
        names = f"tier {low}" if low else "hosts", f"tier {high}"
        # If the lower tier is hosts, the rows are switches: links that they receive from go up.
        sent_up = low > 0
        sent, received = ([(row.node, getattr(row, side)) for row in rows] for side in ("sent", "received"))
        yield " → ".join(names), _cells(sent if sent_up else received)
        yield " → ".join(reversed(names)), _cells(received if sent_up else sent)


def _cells(switches: Sequence[tuple[str, Sequence[DirectedLink]]]) -> list[_Cell]:
    connected = [(node, links) for node, links in switches if links]
    step = -(-len(connected) // _CELLS_MAX) or 1
    groups = (connected[start : start + step] for start in range(0, len(connected), step))
    return [
        _Cell(group[0][0], group[-1][0], [link for _, links in group for link in links]) for group in groups
    ]


def _figure(bands: Sequence[tuple[str, list[_Cell]]]) -> go.Figure:
    total = _BAND_PX * len(bands) + 40
    figure = make_subplots(
        rows=len(bands),
        cols=1,
        vertical_spacing=38 / total if len(bands) > 1 else 0,
        subplot_titles=[title for title, _ in bands],
    )
    for row, (_, cells) in enumerate(bands, 1):
        figure.add_trace(_heatmap(cells), row=row, col=1)
    figure.update_layout(
        theme.layout(
            height=total,
            margin=theme.margin(t=30),
            coloraxis=theme.use_colours(),
        )
    )
    figure.update_annotations(font={"size": 12.5, "color": theme.INK})
    figure.update_xaxes(theme.axis("", showgrid=False, showticklabels=False))
    figure.update_yaxes(theme.axis("", showgrid=False, autorange="reversed", type="category"))
    return figure


def _heatmap(cells: Sequence[_Cell]) -> go.Heatmap:
    texts = [cell.text for cell in cells]
    return go.Heatmap(
        z=[[round(cell.mean, 2) for cell in cells], [round(cell.busiest.use_percent, 2) for cell in cells]],
        x=list(range(len(cells))),
        y=list(_ROWS),
        coloraxis="coloraxis",
        xgap=1 if len(cells) <= 64 else 0,
        ygap=1,
        hovertext=[texts, texts],
        hovertemplate="%{hovertext}<extra></extra>",
    )


TIERS_FIGURE: Final = Figure(
    name="tiers",
    title="Link use by tier",
    shows="How busy the links between two tiers were, on average and at most, over a large fabric.",
    section=LINKS,
    plot=lambda subject: tiers_plot(*subject.fabric),
    tables=("links", "ports"),
    missing="a map shows the fabric",
    is_certain=False,
)
