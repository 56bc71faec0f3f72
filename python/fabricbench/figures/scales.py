"""Times and counts as a reader of a plot sees them: one unit for an axis, the same digits everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_TIME_UNITS = (("ps", 1), ("ns", 10**3), ("µs", 10**6), ("ms", 10**9), ("s", 10**12))
_BYTE_COUNT_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


@dataclass(frozen=True)
class TimeScale:
    """The unit in which one axis or column shows times.

    Attributes:
        unit: Its name, such as `ms`.
        ps: Its length [ps].
    """

    unit: str
    ps: int

    def text(self, time_ps: float | None) -> str:
        """Give a time with its unit: four significant digits at least, all whole digits always."""
        return "–" if time_ps is None else f"{significant(time_ps / self.ps)} {self.unit}"


def time_scale(longest_ps: float | None) -> TimeScale:
    """Choose the largest unit in which `longest_ps` is 1 or more (ps for 0 or None)."""
    fitting = [unit for unit in _TIME_UNITS if unit[1] <= (longest_ps or 0)]
    name, length = fitting[-1] if fitting else _TIME_UNITS[0]
    return TimeScale(name, length)


def time_text(time_ps: float | None) -> str:
    """Give a time in the unit that suits it, such as `4.872 ms`; a dash for None."""
    return time_scale(time_ps).text(time_ps)


def significant(value: float, digits: int = 4) -> str:
    """Write a number with `digits` significant digits, whole digits never cut, thousands separated."""
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole:
        return f"{value:,.{max(0, digits - whole)}f}"
    return f"{value:.{digits}g}"


def byte_count_scale(largest: float) -> tuple[str, int]:
    """Choose the largest decimal unit in which counted bytes are 1 or more; return its name and its bytes."""
    fitting = (unit for unit in _BYTE_COUNT_UNITS if unit[1] <= abs(largest))
    return next(fitting, ("bytes", 1))


def byte_counts_text(counts: Sequence[int]) -> str:
    """Write counted bytes side by side, in one unit: `467.2 + 521 kB`."""
    unit, unit_bytes = byte_count_scale(max(counts))
    return f"{' + '.join(significant(count / unit_bytes) for count in counts)} {unit}"


def byte_count_text(count: float) -> str:
    """Write counted bytes in decimal units: 1 kB = 1,000 bytes."""
    for name, length in _BYTE_COUNT_UNITS:
        if abs(count) >= length:
            return f"{significant(count / length)} {name}"
    return f"{count:,.0f} B"
