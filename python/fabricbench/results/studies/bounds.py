"""The bound of a result: the lift with the largest gain.

It is certain if it gains `NOISE` at least, and that much more than the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NOISE: Final = 0.03
"""Gain by which a bound is distinguished from others, as a fraction."""
_GAIN_MIN: Final = 0.003


class Bounded:
    """A result with the gain of its bandwidth by each lifted bound, as a fraction."""

    gains: Mapping[str, float]

    @property
    def bound(self) -> str | None:
        """The bound whose lift gains most; none if no single one gains anything."""
        name = max(self.gains, key=self.gains.__getitem__, default=None)
        return name if name is not None and self.gains[name] >= _GAIN_MIN else None

    @property
    def gain(self) -> float:
        """Gain by lifting the bound."""
        return max(self.gains.values(), default=0.0)

    @property
    def is_certain(self) -> bool:
        """Whether the bound gains more than noise, and by that more than any other."""
        first, *others = sorted(self.gains.values(), reverse=True)
        return first >= NOISE and all(first - other >= NOISE for other in others)
