"""Finds the Pareto front of points with two values, each to be minimised or maximised."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]], signs: tuple[int, int]) -> list[int]:
    """Return the numbers of the points for which no other is as good in both values and better in one.

    Args:
        points: The points.
        signs: For each value 1 if smaller is better, or else -1.

    Returns:
        Their numbers, the best in the first value first; equal points are all included.
    """
    costs = [(signs[0] * first, signs[1] * second) for first, second in points]
    best: list[int] = []
    for number in sorted(range(len(costs)), key=lambda number: costs[number]):
        if not best or costs[number][1] < costs[best[-1]][1] or costs[number] == costs[best[-1]]:
            best.append(number)
    return best
