"""`Draw`: random draws from a seed, equal on all machines, so that one integer determines one plan."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")

_TIMES = (("us", 1_000_000), ("ns", 1_000), ("ps", 1))


class Draw:
    """A stream of draws from a seed."""

    def __init__(self, seed: int) -> None:
        # A string is hashed with SHA-512, so that neighbouring integers give independent streams.
        self._random = random.Random(f"swarm/{seed}")

    def chance(self, share: float) -> bool:
        """Return True with a given probability."""
        return self._random.random() < share

    def pick(self, options: Sequence[_T]) -> _T:
        """Return one of some options, all equally likely."""
        return options[self._random.randrange(len(options))]

    def whole(self, least: int, most: int) -> int:
        """Return a whole number, both ends included."""
        return self._random.randint(least, most)

    def spread(self, least: int, most: int) -> int:
        """Return a whole number whose orders of magnitude are equally likely."""
        low, high = least.bit_length(), most.bit_length()
        bits = self.whole(low, high)
        return min(max(self._random.getrandbits(bits), least, 1 << (bits - 1) if bits > low else least), most)

    def time(self, least_ps: int, most_ps: int) -> str:
        """Return a time as written in a plan."""
        return time_text(self.spread(least_ps, most_ps))

    def some(self, options: Sequence[_T], count: int) -> list[_T]:
        """Return `count` different options, in random order."""
        return self._random.sample(options, count)

    def seed(self) -> int:
        """Return a seed for a plan: small, or any that fits."""
        return self._random.getrandbits(63) if self.chance(0.5) else self.whole(0, 1000)


def time_text(time_ps: int) -> str:
    """Return a time as text, in the largest unit in which it is a whole number."""
    if not time_ps:
        return "0"
    unit, size = next((unit, size) for unit, size in _TIMES if time_ps % size == 0)
    return f"{time_ps // size}{unit}"
