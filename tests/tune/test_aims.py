"""Aims as ratios to plans as shipped, and limits."""

from __future__ import annotations

from math import inf

import pytest

from fabricbench.metrics import BY_NAME
from fabricbench.runner.tuning.confirmation import _quantile
from fabricbench.runner.tuning.objectives import Key, aims_of, check_direction, limits_of, overall, ratio


def key(plan: int, size: int, iteration: int = 0) -> Key:
    return Key(plan, "base 0", size, iteration, "test")


@pytest.mark.parametrize(
    ("metric", "value", "shipped", "expected"),
    [
        ("completion_time_ms", 3.0, 4.0, 0.75),
        ("completion_time_ms", 0.0, 4.0, None),
        ("frames_lost", 0, 0, 1.0),
        ("frames_lost", 1, 0, 2.0),
        ("frames_lost", 0, 3, 0.25),
        ("out_of_order_percent", 0.0, 0.0, 1.0),
    ],
)
def test_counts_and_shares_have_ratios_from_nothing_on(
    metric: str, value: float, shipped: float, expected: float | None
) -> None:
    assert ratio(BY_NAME[metric], value, shipped) == expected


def test_each_plan_weighs_the_same_and_in_it_each_size() -> None:
    found = {key(0, 0, 0): 4.0, key(0, 0, 1): 4.0, key(0, 1): 1.0, key(1, 0): 8.0}
    assert overall(found) == pytest.approx((2 * 8) ** 0.5)


def test_twice_as_good_and_half_as_good_come_to_the_same() -> None:
    assert overall({key(0, 0): 2.0, key(0, 1): 0.5}) == pytest.approx(1)


@pytest.mark.parametrize(
    ("limit", "violation"),
    [("pfc_rx<=5", 2), ("pfc_rx>=5", 4), ("pfc_rx=5", 4), ("pfc_rx<=7", 0), ("pfc_rx >= 1", 0)],
)
def test_a_limit_is_missed_by_the_worst_value(limit: str, violation: float) -> None:
    assert limits_of([limit])[0].violation([1, 5, 7]) == violation


def test_a_limit_of_nothing_is_missed() -> None:
    assert limits_of(["pfc_rx<=5"])[0].violation([]) == inf


def test_an_aim_against_what_is_better_is_remarked() -> None:
    (usual,), (other,) = aims_of(["fct_ms_p99"], []), aims_of(["busbw_gb_per_s"], [])
    assert check_direction(usual) is None
    assert check_direction(other) == "busbw_gb_per_s is better when higher, and this search makes it lower"


@pytest.mark.parametrize(("degrees", "expected"), [(4, 2.776), (9, 2.262), (19, 2.093), (99, 1.984)])
def test_the_quantile_is_that_of_published_tables(degrees: int, expected: float) -> None:
    assert _quantile(degrees) == pytest.approx(expected, rel=0.005)
