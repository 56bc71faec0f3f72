"""The offset between the controller's clock and that of a host, with its error.

Both are CLOCK_MONOTONIC, which neither jumps nor runs backwards. A round trip of Ping gives four times: asked
(here), received and sent (there), answered (here). If both ways took the same time, the clock there is ahead
by ((received - asked) + (sent - answered)) / 2; as they need not, the error is at most half of the round trip
without the time spent there (RFC 5905, section 8, offset and delay). Of many the one with the least round
trip counts. Clocks are read before and after a run. What they differ by beyond the errors of both readings
is drift: times in between are put on the controller's clock by the straight line through both. The error
that is stated holds whatever course the drift took, as long as it went one way: the larger of both errors,
plus the difference.
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
        at_ns: When that was, by the clock here.
    """

    offset_ns: int
    error_ns: int
    at_ns: int


@dataclass(frozen=True)
class ClockRun:
    """How a clock there ran beside the one here, from before a run until after it.

    Attributes:
        first: The offset before.
        last: The offset after.
        start_ns: Start of the run, by the clock here; the host began at that and the first offset by its own.
    """

    first: ClockOffset
    last: ClockOffset
    start_ns: int

    @property
    def offset_ns(self) -> int:
        """What the clock there showed more before the run."""
        return self.first.offset_ns

    @property
    def drift_ns(self) -> int:
        """What it showed more after the run than before; 0 if that is within the errors of the readings."""
        difference_ns = self.last.offset_ns - self.first.offset_ns
        is_told = abs(difference_ns) > self.first.error_ns + self.last.error_ns
        return difference_ns if is_told else 0

    @property
    def error_ns(self) -> int:
        """Times of the host, put on the clock here, are at most so far from the truth."""
        difference_ns = abs(self.last.offset_ns - self.first.offset_ns)
        return max(self.first.error_ns, self.last.error_ns) + difference_ns

    def shifts_ps(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return two times of the host since its start, each with what is then to be added to it [ps].

        None if its clock did not drift: its times are on the clock here as they are.
        """
        if not self.drift_ns:
            return None
        before_ns, after_ns = self.first.at_ns - self.start_ns, self.last.at_ns - self.start_ns
        return (before_ns * 1000, 0), ((after_ns + self.drift_ns) * 1000, -self.drift_ns * 1000)


def offset_of(trips: Iterable[Trip]) -> ClockOffset:
    """Return the offset that the shortest of some round trips gives."""
    best = min(trips, key=lambda trip: trip.round_trip_ns)
    offset_ns = ((best.received - best.asked) + (best.sent - best.answered)) // 2
    return ClockOffset(offset_ns, max(best.round_trip_ns, 0) // 2 + 1, (best.asked + best.answered) // 2)
