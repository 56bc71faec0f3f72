"""Parameters of endpoints from medians of point-to-point sweeps, each with its residuals.

- **Rate**: large messages take a + S / rate. What several queue pairs reach together, if one alone does not,
  is the link's; otherwise one reaches it already.
- **Window**: with w packets allowed in flight a queue pair sends w packets each round trip (Little's law), as
  long as that is less than the link takes: rate(w) = w P / RTT. So many packets as give the rate that one
  queue pair reaches with the window of the endpoint are its window, in flight on this path. Where one queue
  pair fills the link, the window is larger than can be seen, and none is told.
- **Send overhead**: what a small message more takes of those that one rank sends back to back, if that is
  longer than on the link; otherwise the link limits, and the gap between their posts is told. Of two
  hosts alone nobody can tell whether the sender or the receiver is slower: it is what both together sustain.
- **Receive overhead**: what is left of the turnaround of a ping-pong, from the arrival of a message until the
  answer is posted, after the send overhead.
- **Latency**: that of adapters with which the plan's fabric predicts half of a ping-pong, overheads included:
  half of what the smallest takes longer than with adapters of a known latency, and that latency. Larger ones
  are among its residuals: they tell whether links take the time that the plan gives them.

What is left out: costs that grow with the number of ranks of a host or of queue pairs, and a receiver that
many senders overrun. A residual tells where a parameter holds less: it is that of each median, |measured /
fitted - 1|.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from fabricbench.analysis.twins.trend import relative_line

PS_PER_S: Final = 10**12
_BOUND: Final = 1.1
"""What is not longer by a tenth than a bound is taken to be that bound."""
_FULL: Final = 0.95
"""One queue pair fills the link from this share of what several reach."""
_BELOW: Final = 0.6
"""A window limits where the rate is at most this share of that without it."""

Way = tuple[int, int]
"""Source and destination host."""


@dataclass(frozen=True)
class Fit:
    """A parameter.

    Attributes:
        value: In its unit.
        residuals: |measured / fitted - 1| of each median [ratio].
        basis: What it was measured by, in words.
    """

    value: float
    residuals: Sequence[float]
    basis: str


@dataclass(frozen=True)
class Rates:
    """Rates of payload between two hosts [bit/s].

    Attributes:
        single: Of one queue pair.
        link: Of as many as help.
        is_alone: One queue pair reaches that of the link.
    """

    single: Fit
    link: Fit
    is_alone: bool


@dataclass(frozen=True)
class Window:
    """What windows tell.

    Attributes:
        round_trip_ps: Of a packet of full size, and its acknowledgement [ps].
        packets: The window [packets]; none where the link is full before.
    """

    round_trip_ps: float
    packets: Fit | None


def rates(points: Mapping[tuple[Way, int], Sequence[tuple[int, float]]]) -> Rates:
    """Fit the rates of payload.

    Args:
        points: By way and number of queue pairs, for each size of a message [bytes] what it took [ps].
    """
    by_pairs: dict[int, list[Sequence[tuple[int, float]]]] = defaultdict(list)
    for (_, queue_pairs), each in points.items():
        by_pairs[queue_pairs].append(each)
    fits = {number: _rate(each, number) for number, each in by_pairs.items()}
    single, link = fits[min(fits)], fits[max(fits)]
    is_alone = single.value >= _FULL * link.value
    return Rates(single, single if is_alone else link, is_alone)


def _rate(lines: Sequence[Sequence[tuple[int, float]]], queue_pairs: int) -> Fit:
    """Fit one rate to several lines, each with a time of its own before it."""
    ps_per_byte = median(relative_line(line)[1] for line in lines)
    residuals = []
    for line in lines:
        before_ps = median(took - size * ps_per_byte for size, took in line)
        residuals += [abs(took / (before_ps + size * ps_per_byte) - 1) for size, took in line]
    smallest = min(size for line in lines for size, _ in line)
    number = "1 queue pair" if queue_pairs == 1 else f"{queue_pairs} queue pairs"
    basis = f"slope of the time over the size from {smallest} bytes up, {number}"
    return Fit(8 * PS_PER_S / ps_per_byte, residuals, basis)


def window(
    points: Mapping[tuple[Way, int], tuple[int, float]], mtu_bytes: int, single_bps: float, *, is_full: bool
) -> Window:
    """Fit the window of the endpoints by bandwidth-delay product.

    Args:
        points: By way and window [packets], the size of a message [bytes] and what it took [ps].
        mtu_bytes: Payload of a full packet.
        single_bps: Rate of payload of one queue pair with the endpoint's own window.
        is_full: That is the rate of the link.
    """
    trips = {key: key[1] * mtu_bytes / size * took for key, (size, took) in points.items()}
    free_ps = mtu_bytes * 8 * PS_PER_S / single_bps
    smallest = min(packets for _, packets in trips)
    limited = [
        trip
        for (_, packets), trip in trips.items()
        if packets == smallest or packets * free_ps <= _BELOW * trip
    ]
    round_trip_ps = median(limited)
    residuals = [abs(trip / round_trip_ps - 1) for trip in limited]
    if is_full:
        return Window(round_trip_ps, None)
    basis = (
        f"rate of 1 queue pair times the round trip of {round_trip_ps / 1e6:.3f} us of few packets in flight"
    )
    packets = single_bps * round_trip_ps / (mtu_bytes * 8 * PS_PER_S)
    return Window(round_trip_ps, Fit(max(1, round(packets)), residuals, basis))


def send_overhead(
    spans: Mapping[tuple[Way, int], Sequence[tuple[int, float]]],
    post_gaps_ps: Sequence[float],
    bounds_ps: Mapping[int, float],
) -> Fit:
    """Fit what a message costs, back to back [ps].

    Args:
        spans: By way and size of a message [bytes], for each number of messages what all took [ps].
        post_gaps_ps: Gaps between posts [ps].
        bounds_ps: By size, what a message takes on the link.
    """
    each = {key: max(relative_line(span)[1], 0.0) for key, span in spans.items()}
    if median(cost / bounds_ps[size] for (_, size), cost in each.items()) > _BOUND:
        return _constant(
            list(each.values()), "slope of the time over the number of small messages back to back"
        )
    return _constant(post_gaps_ps, "gap between posts of small messages back to back, as the link limits")


def receive_overhead(turnarounds_ps: Sequence[float], send_overhead_ps: float) -> Fit:
    """Fit what is left of the turnarounds of a ping-pong after the send overhead [ps]."""
    both = _constant(turnarounds_ps, "turnaround of a ping-pong without the send overhead")
    return Fit(max(both.value - send_overhead_ps, 0.0), both.residuals, both.basis)


def latency(one_way_ps: Mapping[tuple[Way, int], tuple[float, float]], known_ps: float) -> Fit:
    """Fit the latency of an adapter on each side [ps].

    Args:
        one_way_ps: By way and size, what a message took without overheads, and what it takes with
            adapters of a known latency.
        known_ps: That latency.
    """
    smallest = min(size for _, size in one_way_ps)
    more = [measured - fabric for (_, size), (measured, fabric) in one_way_ps.items() if size == smallest]
    more_ps = max(median(more) / 2, -known_ps)
    residuals = [abs(measured / (fabric + 2 * more_ps) - 1) for measured, fabric in one_way_ps.values()]
    basis = f"time of a message of {smallest} bytes one way, less that of the plan's fabric"
    return Fit(known_ps + more_ps, residuals, basis)


def _constant(values: Sequence[float], basis: str) -> Fit:
    middle = median(values)
    return Fit(middle, [abs(value / middle - 1) if middle else 0.0 for value in values], basis)
