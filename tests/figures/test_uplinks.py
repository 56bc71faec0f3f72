"""Uplinks in the report: named one by one as far as there is room, bytes in the unit that suits them."""

from __future__ import annotations

import pytest

from fabricbench.analysis.links.uplinks import EgressDistribution, Uplink
from fabricbench.figures.links.uplinks import MAX_NAMED_UPLINKS, uplinks_plot
from fabricbench.figures.scales import byte_count_scale


def switches(count: int, uplinks: int) -> list[EgressDistribution]:
    links = tuple(Uplink(8 + port, f"spine{port}", 5, 400_000 + port) for port in range(uplinks))
    return [EgressDistribution(f"leaf{number}", 1, links) for number in range(count)]


def test_few_uplinks_are_named_one_by_one() -> None:
    plot = uplinks_plot(switches(2, MAX_NAMED_UPLINKS // 2))
    assert plot is not None
    switch, uplink = plot.figure.data[0].x
    assert (switch[0], uplink[0]) == ("leaf0", "8 → spine0")
    assert plot.figure.layout.yaxis2.title.text == "kB sent"


def test_of_many_uplinks_the_switches_are_named_and_each_bar_tells_its_own() -> None:
    plot = uplinks_plot(switches(3, 18))
    assert plot is not None
    bars, axis = plot.figure.data[0], plot.figure.layout.xaxis2
    assert list(bars.x[:2]) == [0, 1]
    assert bars.x[18] == 19
    assert (list(axis.ticktext), list(axis.tickvals)) == (["leaf0", "leaf1", "leaf2"], [8.5, 27.5, 46.5])
    assert tuple(bars.customdata[18]) == ("leaf1", "8 → spine0")


@pytest.mark.parametrize(
    ("largest", "unit"),
    [(0, ("bytes", 1)), (999, ("bytes", 1)), (1000, ("kB", 1000)), (3 * 10**12, ("TB", 10**12))],
)
def test_bytes_have_the_unit_that_suits_the_largest(largest: int, unit: tuple[str, int]) -> None:
    assert byte_count_scale(largest) == unit
