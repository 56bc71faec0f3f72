"""Fits an additive model of factors by least squares: estimable effects, residuals, interactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Final

Vector = list[float]
_ALIASED: Final = 1e-9
"""Fraction of a column left after projection on the columns before it, below which it depends on them."""


class Design:
    """Least squares of value = constant + a term per factor, for the levels of factors in each cell.

    The last level of each factor has the term 0, so that the columns of the model are the constant and all
    other levels. `combination` returns the weights of the cells' values that estimate a linear combination of
    terms.
    """

    def __init__(self, cells: Sequence[Sequence[int]], sizes: Sequence[int]) -> None:
        """Create the design from its cells.

        Args:
            cells: The number of the level of each factor, from 0, in each cell.
            sizes: Number of levels of each factor.
        """
        self.sizes = list(sizes)
        self._firsts = list(accumulate((size - 1 for size in sizes), initial=1))
        self.width = self._firsts[-1]
        self._count = len(cells)
        self._columns = [
            self._columns_of([cell[factor] for cell in cells], factor) for factor in range(len(sizes))
        ]
        self._gram = self._products()
        self._inverse = inverse_of(self._gram)

    def _columns_of(self, levels: Sequence[int], factor: int) -> list[int]:
        """Return the column of a factor that is 1 in each cell; `width`, not a column, for the last level."""
        first, last = self._firsts[factor], self.sizes[factor] - 1
        return [self.width if level == last else first + level for level in levels]

    def _products(self) -> list[Vector]:
        """Return the number of cells for which both of two columns are 1."""
        gram = [[0.0] * (self.width + 1) for _ in range(self.width + 1)]
        every = [[0] * self._count, *self._columns]
        for one in every:
            for other in every:
                for (row, column), count in Counter(zip(one, other, strict=True)).items():
                    gram[row][column] = float(count)
        return [row[:-1] for row in gram[:-1]]

    def contrast(self, factor: int, level: int) -> Vector:
        """Return the term of a level minus the mean term of all levels of the factor, as a combination."""
        size, first = self.sizes[factor], self._firsts[factor]
        weights = [0.0] * self.width
        for other in range(size - 1):
            weights[first + other] = float(other == level) - 1 / size
        return weights

    def combination(self, contrast: Vector) -> Vector | None:
        """Return the weight of each cell in the estimate of a combination of terms.

        None if the combination cannot be estimated, as it cannot be separated from another factor.
        """
        solved = _times(self._inverse, contrast)
        reproduced = _times(self._gram, solved)
        if any(abs(term - expected) > 1e-6 for term, expected in zip(reproduced, contrast, strict=True)):
            return None
        return self._spread(solved)

    def residuals(self, values: Vector) -> Vector:
        """Return the residuals of the values of all cells."""
        fitted = self._spread(_times(self._inverse, self._sums(values)))
        return [value - part for value, part in zip(values, fitted, strict=True)]

    def explained(self, residuals: Vector, group_of: Sequence[int]) -> float:
        """Return the reduction of the sum of squares of the residuals by a term for each group of cells.

        Solved by conjugate gradients, in one step if every combination of levels has equally many cells.

        Args:
            residuals: Residuals of this model.
            group_of: The number of the group of each cell, from 0.
        """
        target = _by_group(residuals, group_of)
        remainder, solution = list(target), [0.0] * len(target)
        direction, size = list(remainder), _dot(remainder, remainder)
        tolerance = 1e-20 * size
        for _ in range(2 * len(target)):
            if size <= tolerance:
                break
            change = _by_group(self.residuals([direction[group] for group in group_of]), group_of)
            curvature = _dot(direction, change)
            if curvature <= 0:
                break
            step = size / curvature
            solution = [value + step * part for value, part in zip(solution, direction, strict=True)]
            remainder = [value - step * part for value, part in zip(remainder, change, strict=True)]
            previous, size = size, _dot(remainder, remainder)
            direction = [
                value + size / previous * part for value, part in zip(remainder, direction, strict=True)
            ]
        return max(0.0, _dot(solution, target))

    def _sums(self, values: Vector) -> Vector:
        """Return the sum of the values in each column."""
        sums = [0.0] * (self.width + 1)
        sums[0] = sum(values)
        for columns in self._columns:
            for column, value in zip(columns, values, strict=True):
                sums[column] += value
        return sums[:-1]

    def _spread(self, terms: Vector) -> Vector:
        """Return the sum of the terms in each cell."""
        padded = [*terms, 0.0]
        fitted = [terms[0]] * self._count
        for columns in self._columns:
            fitted = [value + padded[column] for value, column in zip(fitted, columns, strict=True)]
        return fitted


def inverse_of(matrix: Sequence[Vector]) -> list[Vector]:
    """Return a generalised inverse of a matrix of products of columns.

    Columns that depend on those before them are 0 in it. By the sweep operator: Goodnight, The American
    Statistician 33(3), 1979.
    """
    rows = [list(row) for row in matrix]
    is_aliased = [False] * len(rows)
    for pivot in range(len(rows)):
        if rows[pivot][pivot] <= _ALIASED * matrix[pivot][pivot]:
            is_aliased[pivot] = True
            continue
        scale = 1 / rows[pivot][pivot]
        swept = [value * scale for value in rows[pivot]]
        for index, row in enumerate(rows):
            factor = row[pivot]
            if index == pivot or not factor:
                continue
            row[:] = [value - factor * part for value, part in zip(row, swept, strict=True)]
            row[pivot] = -factor * scale
        rows[pivot] = swept
        swept[pivot] = scale
    is_independent = [not aliased for aliased in is_aliased]
    return [
        [value if is_independent[i] and is_independent[j] else 0.0 for j, value in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def _by_group(values: Vector, group_of: Sequence[int]) -> Vector:
    sums = [0.0] * (max(group_of) + 1)
    for value, group in zip(values, group_of, strict=True):
        sums[group] += value
    return sums


def _times(matrix: Sequence[Vector], vector: Vector) -> Vector:
    return [_dot(row, vector) for row in matrix]


def _dot(one: Vector, other: Vector) -> float:
    return sum(map(mul, one, other), 0.0)
