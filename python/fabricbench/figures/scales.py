"""Units and number formats of plots: one unit per axis, the same significant digits everywhere."""

from __future__ import annotations

from dataclasses import dataclass

_TIME_UNITS = (("ps", 1), ("ns", 10**3), ("µs", 10**6), ("ms", 10**9), ("s", 10**12))
_BYTE_COUNT_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


@dataclass(frozen=True)
class TimeScale:
    """The time unit of an axis or column.

    Attributes:
        unit: Its name, such as `ms`.
        ps: Its length [ps].
    """

    unit: str
    ps: int

    def text(self, time_ps: float | None) -> str:
        """Format a time with its unit: at least four significant digits, integer digits never cut."""
        return "–" if time_ps is None else f"{significant(time_ps / self.ps)} {self.unit}"


def percent(share: float) -> float:
    """Return a share of 0 to 1 as the percentage of a heat map: one decimal, and none for a whole number."""
    tenths = round(1000 * share)
    return tenths / 10 if tenths % 10 else tenths // 10


def time_scale(longest_ps: float | None) -> TimeScale:
    """Choose the largest unit in which `longest_ps` is 1 or more (ps for 0 or None)."""
    fitting = [unit for unit in _TIME_UNITS if unit[1] <= (longest_ps or 0)]
    name, length = fitting[-1] if fitting else _TIME_UNITS[0]
    return TimeScale(name, length)


def time_text(time_ps: float | None) -> str:
    """Format a time in a suitable unit, such as `4.872 ms`; a dash for None."""
    return time_scale(time_ps).text(time_ps)


def significant(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits, integer digits never cut, thousands separated."""
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if whole:
        return f"{value:,.{max(0, digits - whole)}f}"
    return f"{value:.{digits}g}"


def byte_count_scale(largest: float) -> tuple[str, int]:
    """Choose the largest decimal unit in which a byte count is 1 or more; return its name and its bytes."""
    fitting = (unit for unit in _BYTE_COUNT_UNITS if unit[1] <= abs(largest))
    return next(fitting, ("bytes", 1))


def byte_count_text(count: float) -> str:
    """Format a byte count in decimal units: 1 kB = 1,000 bytes."""
    for name, length in _BYTE_COUNT_UNITS:
        if abs(count) >= length:
            return f"{significant(count / length)} {name}"
    return f"{count:,.0f} B"
