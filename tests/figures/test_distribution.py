import polars as pl
from hypothesis import given, strategies as st

from fabricbench.figures.cumulative_distribution import cdf_points


def test_few_values_are_all_kept_in_order() -> None:
    assert cdf_points(pl.Series([30, 10, None, 20])) == ([10, 20, 30], [100 / 3, 200 / 3, 100], False)
    assert cdf_points(pl.Series([30, 10, 30, 10])) == ([10, 30], [50, 100], False)
    assert cdf_points(pl.Series([], dtype=pl.Int64)) == ([], [], False)


def test_the_tails_are_exact() -> None:
    values, shares, reduced = cdf_points(pl.Series(range(1_000_000)).shuffle(seed=1), 2000)
    assert reduced
    assert len(values) == len(shares) == 2000
    assert values[:100] == list(range(100))
    assert values[-100:] == list(range(999_900, 1_000_000))
    assert shares[-1] == 100


@given(st.integers(1, 400), st.integers(3, 60))
def test_points_ascend_and_carry_their_own_rank(count: int, limit: int) -> None:
    values, shares, reduced = cdf_points(pl.Series(range(count)), limit)
    assert reduced == (count > limit)
    assert len(values) <= limit
    assert values == sorted(set(values))
    assert shares == [100 * (value + 1) / count for value in values]
    assert (values[0], values[-1]) == (0, count - 1)
