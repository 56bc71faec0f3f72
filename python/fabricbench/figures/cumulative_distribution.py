"""Reduces values to the points of a cumulative distribution, with exact tails."""

from __future__ import annotations

import polars as pl

MAX_POINTS = 600
EXACT_TAIL = 100


def cdf_points(values: pl.Series, max_points: int = MAX_POINTS) -> tuple[list[float], list[float], bool]:
    """Return the points of a cumulative distribution.

    Args:
        values: Any order; nulls are dropped.
        max_points: Maximum number of points (at least 3); of more values, the lowest and highest ones are all
            included, and those between are taken evenly by rank. Equal values are one point.

    Returns:
        The values, ascending; for each the percentage of values not above its rank; whether any was left out.
    """
    ordered = values.drop_nulls().sort()
    count = len(ordered)
    reduced = count > max_points
    ranks = _drawn_ranks(count, max_points) if reduced else list(range(count))
    drawn = dict(zip(ordered.gather(ranks), ranks, strict=True))
    return list(drawn), [100 * (rank + 1) / count for rank in drawn.values()], reduced


def _drawn_ranks(count: int, max_points: int) -> list[int]:
    tail = min(EXACT_TAIL, max_points // 3)
    between = max_points - 2 * tail
    first, last = tail, count - tail - 1
    middle = [first + round(step * (last - first) / max(1, between - 1)) for step in range(between)]
    return [*range(tail), *middle, *range(count - tail, count)]
