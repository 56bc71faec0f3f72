"""Computes the positions of a fabric's nodes and cables in a drawing, and of switch ports in a matrix.

Geometry only: a node is a point, a cable two half lines that meet in the middle, each belonging to the end
that sends into it. Names are in natural order (`host2` before `host10`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float]

_DIGITS = re.compile(r"(\d+)")
_PARALLEL_SPREAD = 0.006


@dataclass(frozen=True)
class DirectedLink:
    """One direction of one cable, as in table `links`, with its use.

    Attributes:
        source: Sending node.
        source_port: Its port.
        target: Receiving node.
        target_port: Its port.
        rate_bps: Line rate [bit/s].
        frames: Frames sent; `None` if they were not counted.
        wire_bytes: Frame bytes sent, without preamble and gap.
        busy_ps: Busy time [ps].
        use_percent: Busy time as a percentage of the run [%].
    """

    source: str
    source_port: int
    target: str
    target_port: int
    rate_bps: int
    frames: int | None
    wire_bytes: int
    busy_ps: int
    use_percent: float


@dataclass(frozen=True)
class HalfLine:
    """The half of a cable next to the node that sends into it."""

    link: DirectedLink
    start: Point
    middle: Point


@dataclass
class MatrixRow:
    """Ports of one switch towards one neighbouring tier: links sent to and received from."""

    node: str
    sent: list[DirectedLink] = field(default_factory=list)
    received: list[DirectedLink] = field(default_factory=list)


def natural_key(name: str) -> list[tuple[int, int | str]]:
    """Sort key for names with numbers by value."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in _DIGITS.split(name) if part]


def nodes_by_tier(tiers: Mapping[str, int]) -> dict[int, list[str]]:
    """Group node names by tier, lowest tier first, names in natural order."""
    return {
        tier: sorted((name for name, at in tiers.items() if at == tier), key=natural_key)
        for tier in sorted(set(tiers.values()))
    }


def place_nodes(tiers: Mapping[str, int]) -> dict[str, Point]:
    """Spread the nodes of each tier evenly over x in 0..1; y is the index of the tier from the bottom."""
    return {
        name: ((index + 0.5) / len(names), float(level))
        for level, names in enumerate(nodes_by_tier(tiers).values())
        for index, name in enumerate(names)
    }


def half_lines(links: Iterable[DirectedLink], places: Mapping[str, Point]) -> list[HalfLine]:
    """Draw each direction of each cable on the half of the cable next to its sender.

    Parallel cables between two nodes are drawn side by side, in order of the ports of the lower name.
    """
    lines = []
    seen: dict[tuple[str, str], int] = {}
    counts = _parallel_counts(links := list(links))
    for link in sorted(links, key=_cable_order):
        pair = (link.source, link.target)
        index = seen.get(pair, 0)
        seen[pair] = index + 1
        shift = (index - (counts[pair] - 1) / 2) * _PARALLEL_SPREAD
        (x0, y0), (x1, y1) = places[link.source], places[link.target]
        start = (x0 + shift, y0)
        lines.append(HalfLine(link, start, ((start[0] + x1 + shift) / 2, (y0 + y1) / 2)))
    return lines


def _parallel_counts(links: Sequence[DirectedLink]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for link in links:
        counts[link.source, link.target] = counts.get((link.source, link.target), 0) + 1
    return counts


def _cable_order(link: DirectedLink) -> tuple[str, str, int]:
    """Sort key that is equal for both directions of a cable."""
    port = link.source_port if link.source < link.target else link.target_port
    return (*sorted((link.source, link.target)), port)  # type: ignore[return-value]


def port_matrix(
    links: Iterable[DirectedLink], tiers: Mapping[str, int]
) -> dict[tuple[int, int], list[MatrixRow]]:
    """Arrange links as a matrix of switch x port for each pair of neighbouring tiers.

    Rows are the leaves (or rails) for links to hosts, otherwise the switches of the lower tier: its uplinks.

    Returns:
        (lower tier, upper tier) -> rows in natural order of the switch's name, cells in order of its ports.
    """
    rows: dict[tuple[int, int], dict[str, MatrixRow]] = {}
    for link in links:
        low, high = sorted((tiers[link.source], tiers[link.target]))
        by_sender = tiers[link.source] == (high if low == 0 else low)
        node = link.source if by_sender else link.target
        row = rows.setdefault((low, high), {}).setdefault(node, MatrixRow(node))
        (row.sent if by_sender else row.received).append(link)
    for matrix in rows.values():
        for row in matrix.values():
            row.sent.sort(key=lambda link: link.source_port)
            row.received.sort(key=lambda link: link.target_port)
    return {pair: [rows[pair][node] for node in sorted(rows[pair], key=natural_key)] for pair in sorted(rows)}
