"""Bars of NCCL's channels by server, and what is joined when there are many."""

from __future__ import annotations

from typing import Any

import polars as pl

from fabricbench.figures.chunks.channels import channels_plot
from fabricbench.figures.chunks.timeline_lanes import MAX_LANES

END_PS = 1_000_000


def table(servers: int, channels: int, **values: Any) -> pl.DataFrame:
    rows = [
        {
            "job": "test",
            "algorithm": "ring",
            "protocol": "Simple",
            "channel": channel,
            "host": host,
            "gpu": channel,
            "send_nic": channel,
            "receive_nic": channel,
            "network_bytes": 1_000_000,
            "scale_up_bytes": 7_000_000,
            "start_ps": 1000 * channel,
            "completed_ps": END_PS - host,
        }
        | values
        for channel in range(channels)
        for host in range(servers)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def bars(channels: pl.DataFrame) -> list[Any]:
    plot = channels_plot(channels, END_PS)
    assert plot is not None
    return [trace for trace in plot.figure.data if trace.type == "bar"]


def test_each_channel_of_a_server_has_a_lane() -> None:
    (trace,) = bars(table(2, 3))
    assert list(trace.y) == list(range(6))
    assert list(trace.base) == [0, 0.001, 0.002] * 2
    assert "server 1, channel 2, adapter 2<br>ring, Simple" in trace.hovertext[-1]


def test_copies_are_grey() -> None:
    sent, copies = bars(pl.concat([table(1, 2), table(1, 1, send_nic=None)]))
    assert (len(sent.y), len(copies.y)) == (2, 1)
    assert "copies" in copies.hovertext[0]


def test_many_channels_are_joined_and_the_caption_says_so() -> None:
    for servers, in_a_lane in ((MAX_LANES // 2, "a server"), (3 * MAX_LANES, "3 servers")):
        plot = channels_plot(table(servers, 4), END_PS)
        assert plot is not None
        assert plot.reduced
        assert f"all channels of {in_a_lane}" in plot.caption
        assert f"{4 * servers:,} channels" in plot.caption
        (trace,) = (trace for trace in plot.figure.data if trace.type == "bar")
        assert len(trace.y) <= MAX_LANES


def test_without_a_completion_there_is_nothing_to_draw() -> None:
    unfinished = pl.DataFrame(table(1, 1).to_dicts(), schema_overrides={"completed_ps": pl.Int64})
    assert channels_plot(unfinished.with_columns(completed_ps=pl.lit(None, pl.Int64)), END_PS) is None
