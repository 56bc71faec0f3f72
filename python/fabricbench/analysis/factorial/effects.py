"""Computes the effect of each level of each factor, with confidence intervals, and fractions of the variance.

The unit is the cell: one setting of all factors, with its repeats (seeds). Each cell has the same weight,
whatever its number of repeats, so that a few missing ones change no effect. Effects are those of an additive
model by least squares; if every combination exists, they are the mean of the level minus that of all cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from fabricbench.analysis.factorial.design import Design, Vector
from fabricbench.analysis.factorial.student_t import quantile_975


@dataclass(frozen=True)
class Cell:
    """One setting of all factors.

    Attributes:
        levels: The number of the level of each factor, from 0.
        mean: Mean of the values.
        count: Number of values.
        variance: Their variance, of `count` - 1 degrees of freedom; 0 for a single value.
    """

    levels: tuple[int, ...]
    mean: float
    count: int
    variance: float


@dataclass(frozen=True)
class LevelEffect:
    """Effect of a level of a factor.

    Attributes:
        mean: Mean of the cells that have it.
        effect: Difference from the mean of all levels, with equal other factors; none if the cells do not
            separate it from another factor.
        percent: The effect in per cent of the mean of all cells; none if that is 0.
        margin_percent: Half of the 95 % confidence interval of `percent`; none without repeats.
    """

    mean: float
    effect: float | None
    percent: float | None
    margin_percent: float | None


@dataclass(frozen=True)
class Effects:
    """Effects of factors on a value.

    Attributes:
        mean: Mean of all cells.
        levels: For each factor the effect of each of its levels.
        shares: For each factor the fraction of the variance that it alone explains, 0 to 1.
        pairs: The fraction of each interaction of two factors, by their numbers.
        repeats_share: The fraction of the differences between repeats of the same setting.
        has_repeats: Whether any cell has several values; without, there are no intervals.
    """

    mean: float
    levels: Sequence[Sequence[LevelEffect]]
    shares: Sequence[float]
    pairs: dict[tuple[int, int], float]
    repeats_share: float
    has_repeats: bool

    @property
    def rest_share(self) -> float:
        """Fraction of the variance explained by interactions of three and more factors."""
        return max(0.0, 1 - sum(self.shares) - sum(self.pairs.values()) - self.repeats_share)


def effects_of(cells: Sequence[Cell], sizes: Sequence[int]) -> Effects:
    """Return the effects of factors.

    Args:
        cells: Each setting that has a value; there is at least one.
        sizes: Number of levels of each factor; each level has a cell.
    """
    design = Design([cell.levels for cell in cells], sizes)
    noise = _Noise(cells)
    mean = sum(cell.mean for cell in cells) / len(cells)
    levels = [
        [_level(cells, design, noise, mean, (factor, level)) for level in range(size)]
        for factor, size in enumerate(sizes)
    ]
    # Relative to the mean, so that squares of large values do not hide small differences.
    values = [cell.mean - mean for cell in cells]
    repeats = sum(cell.variance * (cell.count - 1) / cell.count for cell in cells)
    total = _squares(values) + repeats
    if not total:
        pairs = dict.fromkeys(combinations(range(len(sizes)), 2), 0.0)
        return Effects(mean, levels, [0.0] * len(sizes), pairs, 0.0, noise.is_known)
    residuals = design.residuals(values)
    shares = [
        _own_reduction(cells, sizes, factor, values, _squares(residuals)) / total
        for factor in range(len(sizes))
    ]
    pairs = {
        (one, other): design.explained(residuals, _groups(cells, sizes, one, other)) / total
        for one, other in combinations(range(len(sizes)), 2)
    }
    return Effects(mean, levels, shares, pairs, repeats / total, noise.is_known)


class _Noise:
    """Uncertainty of the mean of each cell, from the variance of its repeats."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        freedom = sum(cell.count - 1 for cell in cells)
        self.is_known = freedom > 0
        within = sum(cell.variance * (cell.count - 1) for cell in cells)
        pooled = within / freedom if freedom else 0.0
        # A cell with a single value has no variance of its own; the pooled one of the others is used.
        self._parts = [
            (cell.variance / cell.count, cell.count - 1) if cell.count > 1 else (pooled, freedom)
            for cell in cells
        ]

    def margin(self, weights: Vector) -> float:
        """Return half of the 95 % confidence interval of a weighted sum of cells (Welch, Satterthwaite)."""
        variances = [
            (weight * weight * variance, freedom)
            for weight, (variance, freedom) in zip(weights, self._parts, strict=True)
        ]
        variance = sum(part for part, _ in variances)
        if not variance:
            return 0.0
        freedom = variance**2 / sum(part**2 / degrees for part, degrees in variances)
        return quantile_975(max(1.0, round(freedom, 3))) * math.sqrt(variance)


def _level(
    cells: Sequence[Cell], design: Design, noise: _Noise, mean: float, factor_and_level: tuple[int, int]
) -> LevelEffect:
    factor, level = factor_and_level
    own = [cell.mean for cell in cells if cell.levels[factor] == level]
    own_mean = sum(own) / len(own)
    weights = design.combination(design.contrast(factor, level))
    if weights is None:
        return LevelEffect(own_mean, None, None, None)
    effect = sum(weight * (cell.mean - mean) for weight, cell in zip(weights, cells, strict=True))
    if not mean:
        return LevelEffect(own_mean, effect, None, None)
    ratio = effect / mean
    margin = None
    if noise.is_known:
        # The effect is divided by the mean of all cells, which is uncertain as well.
        margin = 100 * noise.margin([(weight - ratio / len(cells)) / mean for weight in weights])
    return LevelEffect(own_mean, effect, 100 * ratio, margin)


def _own_reduction(
    cells: Sequence[Cell], sizes: Sequence[int], factor: int, values: Vector, with_all: float
) -> float:
    """Return the reduction by a factor of the sum of squares that all other factors leave (type II)."""
    others = [number for number in range(len(sizes)) if number != factor]
    without = Design(
        [[cell.levels[number] for number in others] for cell in cells], [sizes[number] for number in others]
    )
    return max(0.0, _squares(without.residuals(values)) - with_all)


def _groups(cells: Sequence[Cell], sizes: Sequence[int], one: int, other: int) -> list[int]:
    return [cell.levels[one] * sizes[other] + cell.levels[other] for cell in cells]


def _squares(values: Vector) -> float:
    return sum(value * value for value in values)
