"""Draws NCCL's channels of each server over time: a bar from the first byte sent to the last completion.

If there are more channels than lanes, a lane has all channels of one server, or of consecutive servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import plotly.graph_objects as go
import polars as pl

from fabricbench.figures import theme
from fabricbench.figures.chunks.timeline import (
    bar_trace,
    colour_bar_trace,
    lanes_layout,
    numbered_colours,
)
from fabricbench.figures.chunks.timeline_lanes import MAX_LANES
from fabricbench.figures.figure import CHANNELS, Figure
from fabricbench.figures.plot import Plot
from fabricbench.figures.scales import TimeScale, byte_count_text, significant, time_scale

_MAX_LABELS: Final = 40
_PS_PER_NS: Final = 1000

Row = dict[str, Any]


@dataclass(frozen=True)
class _Lanes:
    """Rows of the table by lane, from top to bottom; servers of a lane, or 0 where each is a channel."""

    lanes: Sequence[Sequence[Row]]
    servers: int


def channels_plot(channels: pl.DataFrame, end_ps: int) -> Plot | None:
    """Draw the channels of a trial by server.

    Args:
        channels: Table `channels` of the trial.
        end_ps: End of the run [ps].

    Returns:
        The plot, or None when nothing completed on a channel.
    """
    rows = channels.filter(pl.col("completed_ps").is_not_null() & pl.col("start_ps").is_not_null()).to_dicts()
    if not rows:
        return None
    scale, lanes = time_scale(end_ps), _lanes(rows)
    bars = [_bar(lane, number) for number, lane in enumerate(lanes.lanes)]
    hover = [_hover(lane, bar, scale) for lane, bar in zip(lanes.lanes, bars, strict=True)]
    figure = go.Figure()
    sent = [number for number, bar in enumerate(bars) if bar["send_nic"] is not None]
    rest = [number for number, bar in enumerate(bars) if bar["send_nic"] is None]
    if sent:
        of_adapters = [bars[number] for number in sent]
        colours = numbered_colours(of_adapters, "send_nic")
        figure.add_trace(bar_trace(of_adapters, scale, colours, [hover[number] for number in sent]))
        figure.add_trace(colour_bar_trace(of_adapters, "send_nic", "sending adapter"))
    if rest:
        grey = {"color": theme.MUTED, "line": {"width": 0}}
        figure.add_trace(bar_trace([bars[number] for number in rest], scale, grey, [hover[n] for n in rest]))
    figure.update_layout(_layout(lanes, scale))
    return Plot(figure, _caption(lanes, len(rows)), bool(lanes.servers), scale)


def _lanes(rows: Sequence[Row]) -> _Lanes:
    ordered = sorted(rows, key=lambda row: (*_server(row), row["channel"], _nic(row)))
    if len(ordered) <= MAX_LANES:
        return _Lanes([[row] for row in ordered], 0)
    servers = [list(group) for _, group in groupby(ordered, _server)]
    size = -(-len(servers) // MAX_LANES)
    blocks = [servers[first : first + size] for first in range(0, len(servers), size)]
    return _Lanes([[row for server in block for row in server] for block in blocks], size)


def _server(row: Row) -> tuple[str, int]:
    return row["job"], row["host"]


def _nic(row: Row) -> int:
    return -1 if row["send_nic"] is None else row["send_nic"]


def _bar(lane: Sequence[Row], number: int) -> Row:
    nics = {row["send_nic"] for row in lane}
    return {
        "lane": number,
        "start_ps": min(row["start_ps"] for row in lane),
        "end_ps": max(row["completed_ps"] for row in lane),
        "send_nic": nics.pop() if len(nics) == 1 else None,
    }


def _hover(lane: Sequence[Row], bar: Row, scale: TimeScale) -> str:
    network, inside = (sum(row[name] for row in lane) for name in ("network_bytes", "scale_up_bytes"))
    first, spent_ps = lane[0], bar["end_ps"] - bar["start_ps"]
    name = f"{first['job']}, {_hosts_text(lane)}"
    if len(lane) == 1:
        adapter = "copies" if first["send_nic"] is None else f"adapter {first['send_nic']}"
        name += f", channel {first['channel']}, {adapter}"
    moved = network or inside
    rate = f", {significant(moved / (spent_ps / _PS_PER_NS))} GB/s" if spent_ps > 0 else ""
    return (
        f"{name}<br>{first['algorithm']}, {first['protocol']}<br>"
        f"network {byte_count_text(network)}, scale-up {byte_count_text(inside)}{rate}<br>"
        f"{scale.text(bar['start_ps'])} → {scale.text(bar['end_ps'])}"
    )


def _hosts_text(lane: Iterable[Row]) -> str:
    hosts = sorted({row["host"] for row in lane})
    return f"server {hosts[0]}" if len(hosts) == 1 else f"servers {hosts[0]}–{hosts[-1]}"


def _layout(lanes: _Lanes, scale: TimeScale) -> dict[str, Any]:
    starts = [
        first for first, lane in enumerate(lanes.lanes) if first == 0 or _starts_server(lanes, lane, first)
    ]
    ends = [*starts[1:], len(lanes.lanes)]
    has_jobs = len({lane[0]["job"] for lane in lanes.lanes}) > 1
    labelled = list(zip(starts, ends, strict=True))[:: -(-len(starts) // _MAX_LABELS)]
    names = [lanes.lanes[first][0] for first, _ in labelled]
    y_axis = theme.axis(
        "server",
        range=[len(lanes.lanes) - 0.5, -0.5],
        tickvals=[(first + end - 1) / 2 for first, end in labelled],
        ticktext=[f"{row['job']} {row['host']}" if has_jobs else str(row["host"]) for row in names],
        showgrid=False,
    )
    return lanes_layout(len(lanes.lanes), scale, y_axis, [] if lanes.servers else starts[1:])


def _starts_server(lanes: _Lanes, lane: Sequence[Row], number: int) -> bool:
    return _server(lane[0]) != _server(lanes.lanes[number - 1][0])


def _caption(lanes: _Lanes, channels: int) -> str:
    text = (
        "Each bar is a channel of NCCL on a server and the adapter through which it sends, from its first "
        "byte to its last completion; grey bars are copies inside a server."
    )
    if not lanes.servers:
        return text
    of = "all channels of a server" if lanes.servers == 1 else f"all channels of {lanes.servers} servers"
    return (
        f"Each bar is {of}, from the first byte to the last completion. Reduced: {channels:,} channels of "
        f"servers are more than the {MAX_LANES} lanes that can be read; table `channels` has each."
    )


CHANNELS_FIGURE: Final = Figure(
    name="channels",
    title="Channels of NCCL",
    shows="The channels of NCCL as bars over time, by server.",
    section=CHANNELS,
    plot=lambda subject: channels_plot(subject.channels, subject.end_ps),
    tables=("channels",),
)
