"""Computes the offset between the controller's clock and that of a host, with its error.

Both are CLOCK_MONOTONIC, which neither jumps nor runs backwards. A round trip of Ping gives four times:
requested (here), received and sent (there), answered (here). If both directions take equal time, the clock
there is ahead by ((received - requested) + (sent - answered)) / 2; otherwise the error is at most half of the
round trip without the time spent there (RFC 5905, section 8, offset and delay). Of several round trips, the
shortest counts. Clocks are read before and after a run. A difference between the two offsets beyond the
errors of both readings is drift: times between the readings are corrected by linear interpolation. The stated
error, the larger of both errors plus the difference, is valid for any drift in a single direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Trip(NamedTuple):
    """Times of one round trip [ns]: here, there, there, here."""

    requested: int
    received: int
    sent: int
    answered: int

    @property
    def round_trip_ns(self) -> int:
        """Network time of both directions together."""
        return (self.answered - self.requested) - (self.sent - self.received)


@dataclass(frozen=True)
class ClockOffset:
    """Offset of a remote clock.

    Attributes:
        offset_ns: Remote time minus local time.
        error_ns: Bound on the error of the offset.
        at_ns: Local time of the measurement.
    """

    offset_ns: int
    error_ns: int
    at_ns: int


@dataclass(frozen=True)
class ClockRun:
    """Offset of a remote clock before and after a run.

    Attributes:
        first: The offset before.
        last: The offset after.
        start_ns: Local start time of the run; the host started at this plus the first offset, by its clock.
    """

    first: ClockOffset
    last: ClockOffset
    start_ns: int

    @property
    def offset_ns(self) -> int:
        """The offset before the run."""
        return self.first.offset_ns

    @property
    def drift_ns(self) -> int:
        """Change of the offset during the run; 0 if it is within the errors of the readings."""
        difference_ns = self.last.offset_ns - self.first.offset_ns
        is_significant = abs(difference_ns) > self.first.error_ns + self.last.error_ns
        return difference_ns if is_significant else 0

    @property
    def error_ns(self) -> int:
        """Bound on the error of the host's times after their conversion to the local clock."""
        difference_ns = abs(self.last.offset_ns - self.first.offset_ns)
        return max(self.first.error_ns, self.last.error_ns) + difference_ns

    def shifts_ps(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return two times of the host since its start, each with its correction [ps].

        `None` if its clock did not drift: its times need no correction.
        """
        if not self.drift_ns:
            return None
        before_ns, after_ns = self.first.at_ns - self.start_ns, self.last.at_ns - self.start_ns
        return (before_ns * 1000, 0), ((after_ns + self.drift_ns) * 1000, -self.drift_ns * 1000)


def offset_of(trips: Iterable[Trip]) -> ClockOffset:
    """Return the offset from the shortest of several round trips."""
    best = min(trips, key=lambda trip: trip.round_trip_ns)
    offset_ns = ((best.received - best.requested) + (best.sent - best.answered)) // 2
    return ClockOffset(offset_ns, max(best.round_trip_ns, 0) // 2 + 1, (best.requested + best.answered) // 2)
