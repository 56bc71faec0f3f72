"""Effects of factors, their intervals and shares, against least squares of numpy and closed forms."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from fabricbench.analysis.factorial.effects import Cell, Effects, effects_of
from fabricbench.analysis.factorial.pareto_front import front
from fabricbench.analysis.factorial.student_t import quantile_975

Values = dict[tuple[int, ...], list[float]]


def cells_of(values: Values) -> list[Cell]:
    return [
        Cell(levels, float(np.mean(own)), len(own), float(np.var(own, ddof=1)) if len(own) > 1 else 0.0)
        for levels, own in values.items()
    ]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Values, list[int]]:
    """Values of some combinations of a few factors, with one to four repeats each; every level is there."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    every = list(itertools.product(*map(range, sizes)))
    least = max(2, len(every) // 2)
    chosen = draw(st.lists(st.sampled_from(every), min_size=least, unique=True))
    assume(all({cell[place] for cell in chosen} == set(range(size)) for place, size in enumerate(sizes)))
    number = st.floats(1, 1000).map(lambda value: round(value, 3))
    return {cell: draw(st.lists(number, min_size=1, max_size=4)) for cell in chosen}, sizes


def coded(cells: list[Cell], sizes: list[int], *pair: int) -> np.ndarray:
    """The columns of a model whose terms add up to 0 for each factor; those of a pair are indicators."""
    columns = [np.ones(len(cells))]
    for factor, size in enumerate(sizes):
        level = np.array([cell.levels[factor] for cell in cells])
        columns += [(level == each).astype(float) - (level == size - 1) for each in range(size - 1)]
    if pair:
        both = [(cell.levels[pair[0]], cell.levels[pair[1]]) for cell in cells]
        columns += [np.array([float(each == one) for each in both]) for one in sorted(set(both))]
    return np.stack(columns, axis=1)


def left_over(matrix: np.ndarray, values: np.ndarray) -> float:
    return float(np.sum((values - matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]) ** 2))


def margins(values: Values, cells: list[Cell], weights: np.ndarray) -> float:
    """Half of the interval of a weighted sum of cells, by Welch and Satterthwaite."""
    freedom = sum(len(own) - 1 for own in values.values())
    pooled = sum(sum((value - np.mean(own)) ** 2 for value in own) for own in values.values()) / freedom
    parts = [
        (weight**2 * (cell.variance / cell.count if cell.count > 1 else pooled), cell.count - 1 or freedom)
        for weight, cell in zip(weights, cells, strict=True)
    ]
    variance = sum(part for part, _ in parts)
    if not variance:
        return 0.0
    return quantile_975(max(1, variance**2 / sum(p**2 / f for p, f in parts))) * math.sqrt(variance)


@given(tables())
@settings(max_examples=150, deadline=None)
def test_effects_intervals_and_shares_are_those_of_least_squares(table: tuple[Values, list[int]]) -> None:
    values, sizes = table
    cells = cells_of(values)
    means = np.array([cell.mean for cell in cells])
    matrix = coded(cells, sizes)
    assume(np.linalg.matrix_rank(matrix) == matrix.shape[1])
    found = effects_of(cells, sizes)
    solver = np.linalg.pinv(matrix)
    place = 1
    for factor, size in enumerate(sizes):
        own = solver[place : place + size - 1]
        place += size - 1
        for level, weights in enumerate([*own, -own.sum(axis=0)]):
            told = found.levels[factor][level]
            effect = float(weights @ means)
            assert told.effect == pytest.approx(effect, abs=1e-6)
            assert told.percent == pytest.approx(100 * effect / means.mean(), abs=1e-6)
            if not found.has_repeats:
                assert told.margin_percent is None
                continue
            relative = 100 * (weights - effect / means.mean() / len(cells)) / means.mean()
            # Degrees of freedom are rounded, where few seeds make the interval steep.
            assert told.margin_percent == pytest.approx(margins(values, cells, relative), rel=2e-3, abs=1e-6)
    total = np.sum((means - means.mean()) ** 2) + sum(np.var(own) for own in values.values())
    for factor in range(len(sizes)):
        kept = [number for number in range(len(sizes)) if number != factor]
        few = [Cell(tuple(cell.levels[each] for each in kept), 0, 1, 0) for cell in cells]
        alone = left_over(coded(few, [sizes[each] for each in kept]), means) - left_over(matrix, means)
        assert found.shares[factor] * total == pytest.approx(alone, abs=1e-6 * total + 1e-9)
    for pair, share in found.pairs.items():
        gain = left_over(matrix, means) - left_over(coded(cells, sizes, *pair), means)
        assert share * total == pytest.approx(gain, abs=1e-6 * total + 1e-9)


@given(tables())
@settings(max_examples=100, deadline=None)
def test_only_what_the_cells_tell_apart_has_an_effect(table: tuple[Values, list[int]]) -> None:
    values, sizes = table
    cells = cells_of(values)
    found = effects_of(cells, sizes)
    matrix = coded(cells, sizes)
    rank = np.linalg.matrix_rank(matrix)
    columns = iter(range(1, matrix.shape[1]))
    for factor, size in enumerate(sizes):
        for level, column in zip(range(size - 1), columns, strict=False):
            wanted = np.zeros(matrix.shape[1])
            wanted[column] = 1
            is_told = np.linalg.matrix_rank(np.vstack([matrix, wanted])) == rank
            assert (found.levels[factor][level].effect is not None) == is_told


def two_way(repeats: int, noise: float) -> Values:
    """100, factor A of -10, 0 and 10, factor B of -5 and 5, and 3 more where both are highest."""
    generator = random.Random(7)
    return {
        (a, b): [100 + 10 * (a - 1) + 10 * (b - 0.5) + 3 * (a == 2 and b == 1) + generator.gauss(0, noise)
                 for _ in range(repeats)]
        for a in range(3) for b in range(2)
    }  # fmt: skip


def test_known_effects_are_found_exactly() -> None:
    found = effects_of(cells_of(two_way(3, 0)), [3, 2])
    assert found.mean == pytest.approx(100.5)
    assert [level.effect for level in found.levels[0]] == pytest.approx([-10.5, -0.5, 11])
    assert [level.effect for level in found.levels[1]] == pytest.approx([-5.5, 5.5])
    assert {level.margin_percent for factor in found.levels for level in factor} == {0}
    assert [found.repeats_share, found.rest_share] == pytest.approx([0, 0])
    # Deviations of the cells from additivity are 1 and 0.5: 4 of 0.5 and 2 of 1, squared.
    total = 2 * (10.5**2 + 0.5**2 + 11**2) + 6 * 5.5**2 + 4 * 0.25 + 2
    assert found.pairs[0, 1] == pytest.approx(3 / total)


def classic_shares(values: Values) -> list[float]:
    """Eta squared of a balanced table of two factors, as textbooks have it: A, B, AB and within."""
    table = np.array([[values[a, b] for b in range(2)] for a in range(3)])
    grand, repeats = table.mean(), table.shape[2]
    a, b, cell = table.mean(axis=(1, 2)), table.mean(axis=(0, 2)), table.mean(axis=2)
    sums = [
        2 * repeats * np.sum((a - grand) ** 2),
        3 * repeats * np.sum((b - grand) ** 2),
        repeats * np.sum((cell - a[:, None] - b[None, :] + grand) ** 2),
        np.sum((table - cell[:, :, None]) ** 2),
    ]
    assert sum(sums) == pytest.approx(np.sum((table - grand) ** 2))
    return [float(each / sum(sums)) for each in sums]


def test_shares_of_a_balanced_table_are_those_of_textbooks() -> None:
    values = two_way(4, 6)
    found = effects_of(cells_of(values), [3, 2])
    assert [*found.shares, found.pairs[0, 1], found.repeats_share] == pytest.approx(classic_shares(values))
    assert found.rest_share == pytest.approx(0)


def test_intervals_hold_the_true_effect_in_95_of_100_experiments() -> None:
    """Noise grows with the value, as it does with sizes: an interval of pooled variance would fail."""
    generator = random.Random(3)
    held = tried = 0
    for _ in range(500):
        values: Values = {
            (a, b): [mean * (1 + generator.gauss(0, 0.1)) for _ in range(5)]
            for (a, b), mean in {(0, 0): 1, (0, 1): 20, (1, 0): 2, (1, 1): 40}.items()
        }
        found = effects_of(cells_of(values), [2, 2])
        for factor, true in ((0, -100 * 5.25 / 15.75), (1, -100 * 14.25 / 15.75)):
            level = found.levels[factor][0]
            assert level.percent is not None
            assert level.margin_percent is not None
            held += abs(level.percent - true) <= level.margin_percent
            tried += 1
    assert 0.93 <= held / tried <= 0.975


def edge(*values: float, sizes: tuple[int, ...] = ()) -> Effects:
    cells = [Cell((number,) if sizes else (), value, 1, 0.0) for number, value in enumerate(values)]
    return effects_of(cells, sizes)


def test_a_single_trial_has_a_mean_and_nothing_else() -> None:
    found = edge(5.0)
    assert (found.mean, found.levels, found.shares, found.has_repeats) == (5.0, [], [], False)


def test_without_repeats_there_are_effects_but_no_intervals() -> None:
    found = edge(1.0, 3.0, sizes=(2,))
    assert [(level.percent, level.margin_percent) for level in found.levels[0]] == [(-50, None), (50, None)]
    assert found.shares == [1.0]


def test_values_that_are_all_0_have_no_per_cent_and_explain_nothing() -> None:
    found = edge(0.0, 0.0, sizes=(2,))
    assert [(level.effect, level.percent) for level in found.levels[0]] == [(0, None), (0, None)]
    assert (found.shares, found.repeats_share) == ([0], 0)


def test_large_values_do_not_swallow_small_differences() -> None:
    found = effects_of([Cell((a, b), 1e12 + a + 2 * b, 2, 0.0) for a in range(2) for b in range(2)], [2, 2])
    assert found.shares == pytest.approx([0.2, 0.8], rel=1e-3)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062047), (2, 4.3026527), (3, 3.1824463), (5, 2.5705818), (10, 2.2281389), (30, 2.0422725),
     (120, 1.9799304), (1e9, 1.9599640)],
)  # fmt: skip
def test_quantiles_are_those_of_printed_tables(freedom: float, quantile: float) -> None:
    assert quantile_975(freedom) == pytest.approx(quantile, abs=1e-7)


@given(st.floats(1, 1e6))
def test_quantiles_fall_with_the_degrees_of_freedom(freedom: float) -> None:
    assert quantile_975(freedom) >= quantile_975(freedom * 1.5) >= 1.9599


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30),
    st.tuples(st.sampled_from([1, -1]), st.sampled_from([1, -1])),
)
def test_the_front_is_what_no_other_point_dominates(
    points: list[tuple[float, float]], signs: tuple[int, int]
) -> None:
    def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
        gains = [sign * (b - a) for sign, a, b in zip(signs, one, other, strict=True)]
        return min(gains) >= 0 and max(gains) > 0

    expected = {n for n, point in enumerate(points) if not any(dominates(each, point) for each in points)}
    assert set(front(points, signs)) == expected
