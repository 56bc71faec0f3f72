"""`Interval`: the numbers that a printed number with few digits may be rounded from.

Two printed numbers agree if their intervals overlap.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_ROUNDING = 0.505
"""Half a unit of the last digit, and a little for the arithmetic of the benchmark."""
_PRINTED = re.compile(r"[+-]?\d*\.?(\d*)(?:[eE]([+-]?\d{1,3}))?")


@dataclass(frozen=True)
class Interval:
    """The numbers that round to a printed one, from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def printed(cls, cell: str) -> Interval:
        """Return the numbers that round to the text of a cell, a number of 0 or more."""
        match = _PRINTED.fullmatch(cell)
        decimals = len(match[1]) - int(match[2] or 0) if match else 0
        margin = _ROUNDING * 10.0 ** max(-300, min(300, -decimals))
        return cls(max(float(cell) - margin, 0.0), float(cell) + margin)

    @classmethod
    def written(cls, value: float, decimals: int = 6) -> Interval:
        """Return the numbers that round to a number of a JSON file, which has six decimals (`%lf`)."""
        margin = _ROUNDING * 10.0**-decimals + abs(value) * 1e-9
        return cls(max(value - margin, 0.0), value + margin)

    @property
    def width(self) -> float:
        """Its width as a fraction of its middle; infinite around 0."""
        middle = (self.low + self.high) / 2
        return (self.high - self.low) / middle if middle else math.inf

    def times(self, factor: float) -> Interval:
        """Return the interval of the multiples."""
        return Interval(self.low * factor, self.high * factor)

    def meets(self, other: Interval) -> bool:
        """Return whether both may be the same number."""
        return self.low <= other.high and other.low <= self.high

    def within(self, other: Interval) -> Interval:
        """Return the intersection of both."""
        return Interval(max(self.low, other.low), min(self.high, other.high))
