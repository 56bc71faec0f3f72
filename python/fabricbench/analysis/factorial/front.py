"""What no other is better than in both of two values: the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]], signs: tuple[int, int]) -> list[int]:
    """Return the numbers of the points that no other is as good as in both values and better in one.

    Args:
        points: The points.
        signs: For each value 1 if the smaller is the better one, or else -1.

    Returns:
        Their numbers, the best in the first value first; of points that are equal all.
    """
    costs = [(signs[0] * first, signs[1] * second) for first, second in points]
    found: list[int] = []
    for number in sorted(range(len(costs)), key=lambda number: costs[number]):
        if not found or costs[number][1] < costs[found[-1]][1] or costs[number] == costs[found[-1]]:
            found.append(number)
    return found
