"""Computes exact percentiles and sums of large columns without Python objects; Jain's fairness index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def nearest_rank(values: pa.ChunkedArray, shares: Sequence[float]) -> list[int]:
    """Return percentiles by nearest rank: of n sorted values, value number ceil(share * n), counted from 1.

    Args:
        values: Numbers, at least one, no nulls.
        shares: Fractions, each above 0 and at most 1.

    Returns:
        One of the values for each fraction.
    """
    from fabricbench.analysis.record import arrow_kernels

    count = len(values)
    if count == 1:
        return [values[0].as_py()] * len(shares)
    # Arrow counts positions from 0 to n - 1 and rounds to the nearest, so rounding errors do not matter.
    positions = [(rank_of(fraction, count) - 1) / (count - 1) for fraction in shares]
    return arrow_kernels.quantile(values, positions)


def weighted_rank(values: pa.Array, weights: pa.Array, shares: Sequence[float]) -> list[int]:
    """Return percentiles by nearest rank of weighted values: the smallest value that reaches the fraction.

    With equal weights they are those of `nearest_rank`.

    Args:
        values: Numbers, at least one, no nulls.
        weights: As many weights, each above 0.
        shares: Fractions of the total weight, each above 0 and at most 1.

    Returns:
        One of the values for each fraction.
    """
    from fabricbench.analysis.record import arrow_kernels

    order = arrow_kernels.order_of(values)
    values, sums = (
        arrow_kernels.take(values, order),
        arrow_kernels.cumulative_sum(arrow_kernels.take(weights, order)),
    )
    # The product is rounded and must not exceed a cumulative weight that it equals.
    limits = [fraction * sums[-1].as_py() * (1 - 1e-12) for fraction in shares]
    return [values[total(arrow_kernels.less(sums, limit))].as_py() for limit in limits]


def rank_of(share: float, count: int) -> int:
    """Return ceil(share * count), at least 1.

    The fraction is interpreted as the decimal that it is written as: 0.95 of 20 values is rank 19, although
    the floating-point number nearest to 0.95 is a little larger or smaller.
    """
    scaled = round(share * 1_000_000)
    return max(1, -(-scaled * count // 1_000_000))


def sum_of(known: int | None, more: int | None) -> int | None:
    """Return the sum of two counts, none if one of them was not measured."""
    return None if known is None or more is None else known + more


def measured_total(column: pa.Array) -> int | None:
    """Return the exact sum of an integer column, none if a value was not measured."""
    return None if column.null_count else total(column)


def total(column: pa.Array) -> int:
    """Return the exact sum of an integer column; nulls count as 0."""
    from fabricbench.analysis.record import arrow_kernels

    return int(arrow_kernels.total(column).as_py() or 0)


def jain(values: Sequence[float]) -> float | None:
    """Return Jain's fairness index, (sum x)^2 / (n * sum x^2); none without values or if all are 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else None
