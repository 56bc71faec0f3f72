"""Fits parameters of hosts' endpoints to medians of point-to-point measurements, each with its residuals.

- **Rate**: large messages of S bytes take a + S / rate. If a single queue pair does not reach the rate of
  several, the rate of several is that of the link; otherwise a single one reaches it already.
- **Window**: with w packets allowed in flight a queue pair sends w packets per round trip (Little's law), as
  long as that is slower than the link: rate(w) = w P / RTT, with P bytes of payload in a packet. The window
  is the number of packets in flight that gives, on this path, the rate of one queue pair with the window of
  the endpoint. If one queue pair fills the link, the window is too large to be measured, and none is
  returned.
- **Send overhead**: additional time per small message of those that one rank sends back to back, if that is
  longer than on the link; otherwise the link limits, and the gap between their posts is used. Two hosts
  cannot show which of sender and receiver is slower: the result is the cost that both sustain.
- **Receive overhead**: turnaround of a ping-pong, from the arrival of a message to the post of the answer,
  minus the send overhead.
- **Latency**: latency of adapters with which the plan's fabric predicts half of a ping-pong, overheads
  included: a known latency, plus half of the time that the smallest message takes longer than with adapters
  of that latency. Larger messages are among its residuals, which show whether links behave as planned.

Not modelled: costs that grow with the number of ranks of a host or of queue pairs, and a receiver overrun by
many senders. Residuals show where a parameter fits less well: each is |measured / fitted - 1| of a median.
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
"""Largest ratio to a bound at which a value is taken to be that bound."""
_FULL: Final = 0.95
"""Fraction of the rate of several queue pairs from which a single one fills the link."""
_BELOW: Final = 0.6
"""Largest fraction of the unlimited rate at which a window is taken to be the limit."""

HostPair = tuple[int, int]
"""Source and destination host."""


@dataclass(frozen=True)
class Fit:
    """A fitted parameter.

    Attributes:
        value: Its value, in its unit.
        residuals: |measured / fitted - 1| of each median [ratio].
        basis: Description of the measurement.
    """

    value: float
    residuals: Sequence[float]
    basis: str


@dataclass(frozen=True)
class Rates:
    """Rates of payload between two hosts [bit/s].

    Attributes:
        single: Rate of one queue pair.
        link: Rate of enough queue pairs to fill the link.
        is_alone: Whether one queue pair reaches the rate of the link.
    """

    single: Fit
    link: Fit
    is_alone: bool


@dataclass(frozen=True)
class Window:
    """Window fitted to the sweep of windows.

    Attributes:
        round_trip_ps: Round trip of a packet of full size and its acknowledgement [ps].
        packets: The window [packets]; none if a smaller one fills the link.
    """

    round_trip_ps: float
    packets: Fit | None


def rates(points: Mapping[tuple[HostPair, int], Sequence[tuple[int, float]]]) -> Rates:
    """Fit the rates of payload.

    Args:
        points: Sizes of messages [bytes] with their times [ps], by direction and number of queue pairs.
    """
    by_pairs: dict[int, list[Sequence[tuple[int, float]]]] = defaultdict(list)
    for (_, queue_pairs), points_of_pair in points.items():
        by_pairs[queue_pairs].append(points_of_pair)
    fits = {number: _rate(points_of_pair, number) for number, points_of_pair in by_pairs.items()}
    single, link = fits[min(fits)], fits[max(fits)]
    is_alone = single.value >= _FULL * link.value
    return Rates(single, single if is_alone else link, is_alone)


def _rate(lines: Sequence[Sequence[tuple[int, float]]], queue_pairs: int) -> Fit:
    """Fit one rate to several lines, each with its own constant time."""
    ps_per_byte = median(relative_line(line)[1] for line in lines)
    residuals = []
    for line in lines:
        constant_ps = median(time_ps - size * ps_per_byte for size, time_ps in line)
        residuals += [abs(time_ps / (constant_ps + size * ps_per_byte) - 1) for size, time_ps in line]
    smallest = min(size for line in lines for size, _ in line)
    number = "1 queue pair" if queue_pairs == 1 else f"{queue_pairs} queue pairs"
    basis = f"slope of the time over the size from {smallest} bytes up, {number}"
    return Fit(8 * PS_PER_S / ps_per_byte, residuals, basis)


def window(
    points: Mapping[tuple[HostPair, int], tuple[int, float]],
    mtu_bytes: int,
    single_bps: float,
    *,
    is_full: bool,
) -> Window:
    """Fit the window of the endpoints by bandwidth-delay product.

    Args:
        points: The size of a message [bytes] and its time [ps], by direction and window [packets].
        mtu_bytes: Payload of a full packet.
        single_bps: Rate of payload of one queue pair with the endpoint's own window.
        is_full: Whether that is the rate of the link.
    """
    trips = {key: key[1] * mtu_bytes / size * time_ps for key, (size, time_ps) in points.items()}
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
    spans: Mapping[tuple[HostPair, int], Sequence[tuple[int, float]]],
    post_gaps_ps: Sequence[float],
    bounds_ps: Mapping[int, float],
) -> Fit:
    """Fit the cost of a message, back to back [ps].

    Args:
        spans: Numbers of messages with their total time [ps], by direction and size of a message [bytes].
        post_gaps_ps: Gaps between posts [ps].
        bounds_ps: Time of a message on the link, by size.
    """
    costs = {key: max(relative_line(span)[1], 0.0) for key, span in spans.items()}
    if median(cost / bounds_ps[size] for (_, size), cost in costs.items()) > _BOUND:
        return _constant(
            list(costs.values()), "slope of the time over the number of small messages back to back"
        )
    return _constant(post_gaps_ps, "gap between posts of small messages back to back, as the link limits")


def receive_overhead(turnarounds_ps: Sequence[float], send_overhead_ps: float) -> Fit:
    """Fit the rest of the turnarounds of a ping-pong after the send overhead [ps]."""
    turnaround = _constant(turnarounds_ps, "turnaround of a ping-pong without the send overhead")
    return Fit(max(turnaround.value - send_overhead_ps, 0.0), turnaround.residuals, turnaround.basis)


def latency(one_way_ps: Mapping[tuple[HostPair, int], tuple[float, float]], known_ps: float) -> Fit:
    """Fit the latency of an adapter on each side [ps].

    Args:
        one_way_ps: Time of a message without overheads, and its time with adapters of a known latency, by
            direction and size.
        known_ps: That latency.
    """
    smallest = min(size for _, size in one_way_ps)
    excesses_ps = [
        measured - fabric for (_, size), (measured, fabric) in one_way_ps.items() if size == smallest
    ]
    excess_ps = max(median(excesses_ps) / 2, -known_ps)
    residuals = [abs(measured / (fabric + 2 * excess_ps) - 1) for measured, fabric in one_way_ps.values()]
    basis = f"time of a message of {smallest} bytes one way, less that of the plan's fabric"
    return Fit(known_ps + excess_ps, residuals, basis)


def _constant(values: Sequence[float], basis: str) -> Fit:
    middle = median(values)
    return Fit(middle, [abs(value / middle - 1) if middle else 0.0 for value in values], basis)
