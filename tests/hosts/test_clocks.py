"""Offsets of clocks: what round trips tell of them, and the clock that all times come to stand on."""

from __future__ import annotations

from hypothesis import given, strategies as st

from fabricbench.hosts.control.clocks import ClockOffset, ClockRun, Trip, offset_of

SECOND = 10**9
HOURS = 3_600 * SECOND


@given(
    offset=st.integers(-HOURS, HOURS),
    legs=st.lists(st.tuples(*[st.integers(0, 10**7)] * 3), min_size=1, max_size=8),
)
def test_the_true_offset_is_within_the_error_whichever_way_is_slow(
    offset: int, legs: list[tuple[int, int, int]]
) -> None:
    trips = []
    for there, stay, back in legs:
        received = SECOND + there + offset
        trips.append(Trip(SECOND, received, received + stay, SECOND + there + stay + back))
    found = offset_of(trips)
    assert abs(found.offset_ns - offset) <= found.error_ns
    assert found.error_ns <= min(there + back for there, _, back in legs) // 2 + 1


def corrected_ns(clock: ClockRun, time_ps: int) -> float:
    """Put a time of the host on the clock here, as the core does."""
    shifts = clock.shifts_ps()
    if shifts is None:
        return time_ps / 1000
    (first, at_first), (last, at_last) = shifts
    return (time_ps + at_first + (at_last - at_first) * (time_ps - first) / (last - first)) / 1000


@given(
    offset=st.integers(-HOURS, HOURS),
    rate_ppm=st.integers(-500, 500),
    misread=st.tuples(st.integers(-100_000, 100_000), st.integers(-100_000, 100_000)),
    run=st.integers(1, 600),
    at=st.floats(0, 1),
)
def test_times_of_a_host_come_to_stand_on_the_clock_here_within_the_stated_error(
    offset: int, rate_ppm: int, misread: tuple[int, int], run: int, at: float
) -> None:
    begin, start, end = 5 * SECOND, 6 * SECOND, (6 + run) * SECOND

    def there(time_ns: float) -> float:
        return time_ns + offset + rate_ppm * (time_ns - begin) / 1e6

    first = ClockOffset(offset + misread[0], 100_000, begin)
    last = ClockOffset(round(there(end) - end) + misread[1], 100_000, end)
    clock = ClockRun(first, last, start)
    # The host starts when its clock shows the start here and the offset that was read.
    zero = start + first.offset_ns
    event = start + at * (end - start)
    shown_ps = round((there(event) - zero) * 1000)
    assert abs(corrected_ns(clock, shown_ps) - (event - start)) <= clock.error_ns + 1


def test_a_difference_within_the_errors_is_no_drift() -> None:
    clock = ClockRun(ClockOffset(5_000, 400, 0), ClockOffset(5_700, 300, SECOND), SECOND // 2)
    assert (clock.drift_ns, clock.error_ns, clock.shifts_ps()) == (0, 1_100, None)


def test_drift_is_taken_out_by_a_line_through_both_readings() -> None:
    clock = ClockRun(ClockOffset(5_000, 400, 0), ClockOffset(25_000, 300, SECOND), SECOND // 2)
    assert (clock.offset_ns, clock.drift_ns, clock.error_ns) == (5_000, 20_000, 20_400)
    assert clock.shifts_ps() == ((-500_000_000_000, 0), (500_020_000_000, -20_000_000))
