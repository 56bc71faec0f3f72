"""The offset between the controller's clock and that of a host, with its error.

Both are CLOCK_MONOTONIC, which neither jumps nor runs backwards. A round trip of Ping gives four times: asked
(here), received and sent (there), answered (here). If both ways took the same time, the clock there is ahead
by ((received - asked) + (sent - answered)) / 2; as they need not, the error is at most half of the round trip
without the time spent there (RFC 5905, section 8, offset and delay). Of many the one with the least round
trip counts. What is left out: drift while a run lasts, which is why clocks are read before and after it, and
the larger of both errors plus the difference is stated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Trip(NamedTuple):
    """Times of one round trip [ns]: here, there, there, here."""

    asked: int
    received: int
    sent: int
    answered: int

    @property
    def round_trip_ns(self) -> int:
        """The time on the way, both ways together."""
        return (self.answered - self.asked) - (self.sent - self.received)


@dataclass(frozen=True)
class ClockOffset:
    """How far a clock there is ahead of the one here.

    Attributes:
        offset_ns: What the clock there shows more.
        error_ns: The true offset is at most so far from that.
    """

    offset_ns: int
    error_ns: int

    def with_later(self, later: ClockOffset) -> ClockOffset:
        """Return the same offset with an error that holds until a later reading."""
        drift_ns = abs(later.offset_ns - self.offset_ns)
        return ClockOffset(self.offset_ns, max(self.error_ns, later.error_ns) + drift_ns)


def offset_of(trips: Iterable[Trip]) -> ClockOffset:
    """Return the offset that the shortest of some round trips gives."""
    best = min(trips, key=lambda trip: trip.round_trip_ns)
    offset_ns = ((best.received - best.asked) + (best.sent - best.answered)) // 2
    return ClockOffset(offset_ns, max(best.round_trip_ns, 0) // 2 + 1)
