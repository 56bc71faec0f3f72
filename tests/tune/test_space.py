"""The search space: its points, and the plans at them."""

from __future__ import annotations

import random

import pytest
from tests.support.tuning import INCAST, TRANSFER, loaded

from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates.cost import Limits
from fabricbench.runner.tuning.plan_fragment import changes, fragment
from fabricbench.runner.tuning.space import Range, space_of

KMIN = "fabric.switch.ecn.kmin"


def only(search: str) -> Range:
    (field,) = space_of([loaded(INCAST)], [search]).fields
    assert isinstance(field, Range)
    return field


@pytest.mark.parametrize(
    ("search", "is_log"),
    [
        ("transport.window=16..160", False),
        ("transport.window=16..161", True),
        ("transport.window=16..512:16", False),
        (f"{KMIN}=0..64KB", False),
    ],
)
def test_a_range_of_more_than_a_factor_of_ten_is_searched_by_its_logarithm(search: str, is_log: bool) -> None:
    field = only(search)
    assert field.is_log == is_log
    assert field.distribution().log == is_log


def test_steps_count_from_the_least_value_and_end_within_the_range() -> None:
    field = only(f"{KMIN}=4KB..30KB:8KB")
    assert field.ends == ("4KB", "28KB")
    draw = random.Random(1)
    assert {field.drawn(draw) for _ in range(100)} == {"4KB", "12KB", "20KB", "28KB"}
    assert field.text(field.near(19_000)) == "20KB"
    assert field.text(field.near(10**9)) == "28KB"


def test_values_stay_within_the_range_where_they_are_rounded() -> None:
    field = only("transport.rate_control.dcqcn.increase_timer=123456ns..654321ns")
    assert field.text(field.low) == "123.456us"
    assert field.text(field.high) == "654us"
    assert field.text(200_456_000) == "200us"


def test_the_ends_of_a_range_are_told() -> None:
    field = only(f"{KMIN}=1KB..64KB")
    assert [field.is_at_end(value) for value in ("1KB", "8KB", "60KB")] == [True, False, True]


def test_a_point_beyond_the_limits_is_no_valid_plan() -> None:
    plan = loaded(TRANSFER)
    search = "fabric.topology.hosts=2|60000"
    with pytest.raises(PlanError, match="a choice with which no plan is valid"):
        space_of([plan], [search], Limits(memory_bytes=140_000_000, time_ms=None))
    assert space_of([plan], [search], None).fields


def test_the_part_of_a_plan_keeps_what_a_name_stood_for_and_lists_whole() -> None:
    plan = loaded(INCAST.replace("{kmin: 20KB, kmax: 80KB, pmax: 10%}", "sonic"))
    space = space_of([plan], [f"{KMIN}=20KB..600KB", "jobs.test.repeat=1..4"])
    point = {KMIN: "64KB", "jobs.test.repeat": "2"}
    found = fragment(space, point)
    assert found["fabric"] == {"switch": {"ecn": {"preset": "sonic", "kmin": "64KB"}}}
    assert found["jobs"][0]["repeat"] == 2
    assert found["jobs"][0]["collective"] == "gather"
    assert changes(space, point) == [
        'fabric.switch.ecn={"preset": "sonic", "kmin": "64KB"}',
        "jobs.test.repeat=2",
    ]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("{preset: sonic, pmax: 20%}", {"preset": "sonic", "pmax": "20%"}),
        ("{preset: alibaba, kmax: 900KB}", {"preset": "alibaba", "kmax": "900KB"}),
        ("{kmin: 20KB, kmax: 900KB, pmax: 10%}", {"kmax": "900KB", "pmax": "10%"}),
        ("alibaba", {"preset": "alibaba"}),
    ],
)
def test_the_part_of_a_plan_keeps_the_other_fields_of_a_preset(written: str, kept: dict[str, str]) -> None:
    plan = loaded(INCAST.replace("{kmin: 20KB, kmax: 80KB, pmax: 10%}", written))
    space = space_of([plan], [f"{KMIN}=20KB..600KB"])
    assert fragment(space, {KMIN: "64KB"})["fabric"]["switch"]["ecn"] == kept | {"kmin": "64KB"}
