"""Fits of endpoints, on times of which the parameters are known."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from fabricbench.analysis.twins import calibration_fits
from fabricbench.analysis.twins.calibration_times import TimingError, ping_pong, stream

WAYS = ((0, 1), (1, 0), (2, 3), (3, 2))
SIZES = tuple(1 << bits for bits in range(20, 25, 2))
MTU = 4096
noise = st.integers(0, 2**32 - 1)


def shaken(value: float, seed: int, place: int, percent: float) -> float:
    """Return a value with a relative error that follows from a seed, at most so large."""
    return value * (1 + percent / 100 * ((hash((seed, place)) % 2001 - 1000) / 1000))


def rate_points(bps: dict[int, float], seed: int, percent: float) -> dict[Any, list[tuple[int, float]]]:
    return {
        (way, queue_pairs): [
            (size, shaken(5e6 + 8e12 * size / each, seed, size * place, percent)) for size in SIZES
        ]
        for place, way in enumerate(WAYS, 1)
        for queue_pairs, each in bps.items()
    }


@given(st.floats(1e8, 4e11), noise)
def test_a_rate_is_found_within_its_residual(bps: float, seed: int) -> None:
    exact = calibration_fits.rates(rate_points({1: bps, 8: bps}, seed, 0))
    assert exact.is_alone
    assert exact.link.value == pytest.approx(bps, rel=1e-6)
    noisy = calibration_fits.rates(rate_points({1: bps, 8: bps}, seed, 2))
    assert abs(noisy.link.value / bps - 1) <= 0.08


@given(st.integers(2, 100), st.floats(1e6, 1e9))
def test_a_window_is_the_rate_of_one_queue_pair_times_the_round_trip(
    packets: int, round_trip_ps: float
) -> None:
    single = packets * MTU * 8e12 / round_trip_ps
    rates = calibration_fits.rates(rate_points({1: single, 8: 4 * single}, 0, 0))
    assert not rates.is_alone
    size = 256 * MTU
    points = {
        (way, each): (size, max(round_trip_ps / min(each, packets), 0) * size / MTU)
        for way in WAYS
        for each in (1, 2, 4, 8, 16, 32, 64, 128, 256)
    }
    found = calibration_fits.window(points, MTU, rates.single.value, is_full=rates.is_alone)
    assert found.packets is not None
    assert found.packets.value == packets
    assert max(found.packets.residuals) < 1e-9
    assert calibration_fits.window(points, MTU, rates.single.value, is_full=True).packets is None


@given(st.floats(1e4, 1e8), noise)
def test_the_cost_of_a_message_is_a_slope_over_their_number(cost_ps: float, seed: int) -> None:
    spans = {
        (way, size): [
            (count, shaken(9e6 + count * cost_ps, seed, count * place, 0)) for count in (16, 32, 64)
        ]
        for place, way in enumerate(WAYS)
        for size in (64, 256)
    }
    found = calibration_fits.send_overhead(spans, [1.0], {64: cost_ps / 2, 256: cost_ps / 1.5})
    assert found.value == pytest.approx(cost_ps, rel=1e-6)
    # Where the link takes as long, the messages say nothing of the sender; their posts do.
    limited = calibration_fits.send_overhead(spans, [1.0, 3.0, 2.0], {64: cost_ps, 256: cost_ps})
    assert (limited.value, max(limited.residuals)) == (2.0, 0.5)


def test_a_receive_overhead_is_what_the_turnaround_has_left() -> None:
    assert calibration_fits.receive_overhead([900.0, 1000.0, 1200.0], 300.0).value == 700.0
    assert calibration_fits.receive_overhead([200.0], 300.0).value == 0.0


@given(st.floats(0, 1e8), st.floats(1e5, 1e8))
def test_a_latency_is_that_of_the_smallest_message_beside_the_fabric(
    latency_ps: float, fabric_ps: float
) -> None:
    known = 400_000.0
    points = {
        (way, size): (fabric_ps + size + 2 * (latency_ps - known) * share, fabric_ps + size)
        for way in WAYS
        for size, share in ((64, 1.0), (4096, 0.5))
        if fabric_ps + size + 2 * (latency_ps - known) > 1
    }
    if points:
        assert calibration_fits.latency(points, known).value == pytest.approx(latency_ps, rel=1e-6, abs=1)


def row(**values: Any) -> dict[str, Any]:
    return {"round": 0, "step": 0, "status": "complete", "src_host": 0, "dst_host": 1, **values}


def ping_pong_rows(offset_ps: int, rounds: int = 4) -> pa.Table:
    """Messages take 10 there and 14 back, ends turn around in 3 and 5; the clock of host 1 is ahead."""
    rows = []
    for number in range(rounds):
        at = number * 32
        rows.append(
            row(round=number, start_ps=at, delivered_ps=at + 10 + offset_ps, completed_ps=at + 21)
            | {"part": 0}
        )
        rows.append(
            row(round=number, step=1, src_host=1, dst_host=0, part=0)
            | {"start_ps": at + 13 + offset_ps, "delivered_ps": at + 27, "completed_ps": at + 36 + offset_ps}
        )
    return pa.Table.from_pylist(rows)


@given(st.integers(-5, 10**9))
def test_an_offset_between_clocks_cancels(offset_ps: int) -> None:
    found = ping_pong(ping_pong_rows(offset_ps), 1)
    assert (found.one_way_ps, found.turnaround_ps) == (12, 4)
    assert found.transfer_ps == {(0, 1): 21, (1, 0): 23}


def test_a_ping_pong_needs_two_rounds() -> None:
    with pytest.raises(TimingError, match="1 rounds that count"):
        ping_pong(ping_pong_rows(0, rounds=3), 2)


def test_a_message_that_is_not_complete_tells_nothing() -> None:
    rows = pa.Table.from_pylist([row(status="failed", start_ps=1, delivered_ps=None, completed_ps=None)])
    with pytest.raises(TimingError, match="a chunk of round 0 is failed"):
        stream(rows, 0)


def test_a_stream_is_of_messages_between_hosts_alone() -> None:
    ends = {"start_ps": (0, 5, 10, 1), "delivered_ps": (9, 14, 19, 2), "completed_ps": (20, 26, 32, 99)}
    rows = [row(**{name: times[place] for name, times in ends.items()}) for place in range(3)]
    rows.append(row(dst_host=0, **{name: times[3] for name, times in ends.items()}))
    found = stream(pa.Table.from_pylist(rows), 0)
    assert (found.hosts, found.count, found.span_ps, found.post_gap_ps) == ((0, 1), 3, 32, 5)
    with pytest.raises(TimingError, match="no two messages"):
        stream(pa.Table.from_pylist(rows[:1]), 0)
