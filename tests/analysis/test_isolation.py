"""How values of several runs spread."""

from __future__ import annotations

from fabricbench.analysis.comparison.isolation import spread


def quartiles(*values: float) -> tuple[float, ...] | None:
    found = spread(values)
    return None if found is None else found.quartiles


def test_quartiles_are_the_nearest_ranks_and_the_median_lies_between() -> None:
    assert quartiles(8, 1, 7, 2, 6, 3, 5, 4) == (1, 2, 4.5, 6, 8)
    assert quartiles(5, 1, 4, 2, 3) == (1, 2, 3, 4, 5)
    assert quartiles(3) == (3, 3, 3, 3, 3)
    assert quartiles() is None
