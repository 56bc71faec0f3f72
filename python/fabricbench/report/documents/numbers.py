"""Formats numbers for tables: significant digits, decimals, counts."""

from __future__ import annotations

import math

_COUNT_MAX = 99_999
"""Largest count written out; larger ones are rounded in tables and exact in JSON and CSV."""


def number(value: float | None, digits: int) -> str:
    """Format a number with `digits` significant digits and no exponent; `-` for `None`."""
    if value is None:
        return "-"
    if not value:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, digits + 2)}f}"


def fixed(value: float | None, decimals: int) -> str:
    """Format a number with `decimals` decimals; `-` for `None`."""
    return "-" if value is None else f"{value:.{decimals}f}"


def count(value: int | None) -> str:
    """Format a count in at most six characters; `-` for `None`."""
    if value is None:
        return "-"
    if value <= _COUNT_MAX:
        return str(value)
    for suffix, scale in (("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)):
        if value < 999.5 * scale:
            return f"{value / scale:.3g}{suffix}"
    return f"{value:.2e}"
