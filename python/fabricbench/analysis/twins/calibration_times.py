"""Computes medians of the times of ping-pongs and message streams, for calibration of the hosts' endpoints.

Times are from table `chunks` of a trial, over its measured rounds. A turnaround lasts from the arrival of a
message to the post of the answer. Offsets between the clocks of two hosts cancel: turnarounds and transfers
are measured at one host, and the time one way is half of a round trip less both turnarounds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = (
    "round",
    "step",
    "status",
    "src_host",
    "dst_host",
    "start_ps",
    "delivered_ps",
    "completed_ps",
)


class TimingError(Exception):
    """A record without usable times, with the reason."""


@dataclass(frozen=True)
class PingPong:
    """Medians of a ping-pong [ps].

    Attributes:
        one_way_ps: From the post of a message to its arrival: half of both directions together.
        turnaround_ps: From the arrival of a message to the post of the answer: half of both ends together.
        transfer_ps: From the post of a message to its acknowledgement, by its source and destination host.
    """

    one_way_ps: float
    turnaround_ps: float
    transfer_ps: Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Stream:
    """Medians of messages that one rank sends back to back [ps].

    Attributes:
        hosts: Source and destination host.
        count: Messages of a round.
        span_ps: From the post of the first of them to the acknowledgement of the last.
        post_gap_ps: From the post of a message to the post of the next.
    """

    hosts: tuple[int, int]
    count: int
    span_ps: float
    post_gap_ps: float


@dataclass(frozen=True)
class _Message:
    """A message, with its parts on several queue pairs merged [ps]."""

    hosts: tuple[int, int]
    start_ps: int
    delivered_ps: int
    completed_ps: int


def ping_pong(chunks: pa.Table, warm_up_rounds: int) -> PingPong:
    """Return the times of a ping-pong of two ranks.

    Args:
        chunks: Columns `COLUMNS` of its table.
        warm_up_rounds: Rounds to ignore.

    Raises:
        TimingError: There are fewer than two measured rounds, or a message has no times.
    """
    messages = _messages(chunks)
    rounds = sorted({number for number, _ in messages if number >= warm_up_rounds})
    if len(rounds) < 2:
        raise TimingError(f"{len(rounds)} rounds that count; two or more are needed")
    turnarounds, message_times_ps = [], []
    for number, next_number in pairwise(rounds):
        ping, pong, next_ping = messages[number, 0], messages[number, 1], messages[next_number, 0]
        both_turnarounds_ps = (pong.start_ps - ping.delivered_ps) + (next_ping.start_ps - pong.delivered_ps)
        turnarounds.append(both_turnarounds_ps / 2)
        message_times_ps.append((next_ping.start_ps - ping.start_ps - both_turnarounds_ps) / 2)
    transfers = defaultdict(list)
    for (number, _), message in messages.items():
        if number >= warm_up_rounds:
            transfers[message.hosts].append(message.completed_ps - message.start_ps)
    medians = {hosts: float(median(times)) for hosts, times in transfers.items()}
    return PingPong(median(message_times_ps), median(turnarounds), medians)


def stream(chunks: pa.Table, warm_up_rounds: int) -> Stream:
    """Return the times of the messages that one rank sends to ranks of another host.

    The time per message is the slope of the span over the number of messages, from several trials. Single
    gaps do not show it, as software may poll the completions of several messages at once.

    Raises:
        TimingError: No measured round has two messages between hosts, or one has no times.
    """
    rounds = defaultdict(list)
    for row in _complete(chunks):
        if row["round"] >= warm_up_rounds and row["src_host"] != row["dst_host"]:
            rounds[row["round"]].append(row)
    rows = [messages for messages in rounds.values() if len(messages) > 1]
    if not rows:
        raise TimingError("no two messages between hosts in a round that counts")
    hosts = (rows[0][0]["src_host"], rows[0][0]["dst_host"])
    return Stream(
        hosts,
        len(rows[0]),
        median(
            max(row["completed_ps"] for row in messages) - min(row["start_ps"] for row in messages)
            for messages in rows
        ),
        median(_gap([row["start_ps"] for row in messages]) for messages in rows),
    )


def _gap(times_ps: list[int]) -> float:
    return (max(times_ps) - min(times_ps)) / (len(times_ps) - 1)


def _messages(chunks: pa.Table) -> dict[tuple[int, int], _Message]:
    """Return each message by its round and step: sent with its first part, delivered with its last."""
    parts = defaultdict(list)
    for row in _complete(chunks):
        parts[row["round"], row["step"]].append(row)
    return {
        key: _Message(
            (rows[0]["src_host"], rows[0]["dst_host"]),
            min(row["start_ps"] for row in rows),
            max(row["delivered_ps"] for row in rows),
            max(row["completed_ps"] for row in rows),
        )
        for key, rows in parts.items()
    }


def _complete(chunks: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = chunks.select(list(COLUMNS)).to_pylist()
    for row in rows:
        if row["status"] != "complete" or None in row.values():
            raise TimingError(f"a chunk of round {row['round']} is {row['status']}")
    return rows
