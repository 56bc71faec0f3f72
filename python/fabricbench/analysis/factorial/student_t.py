"""Computes the 97.5 % quantile of Student's t, for confidence intervals of 95 %."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

_NORMAL: Final = 1.959963984540054
"""The quantile of the normal distribution, the limit of Student's for many degrees of freedom."""
_NORMAL_FROM: Final = 1e7
_TINY: Final = 1e-300
_TERMS_MAX: Final = 10_000


@lru_cache(maxsize=10_000)
def quantile_975(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t.

    Args:
        freedom: Degrees of freedom, at least 1; need not be an integer.
    """
    if freedom >= _NORMAL_FROM:
        return _NORMAL
    low, high = _NORMAL, 13.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _tail_probability(middle, freedom) > 0.05:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _tail_probability(value: float, freedom: float) -> float:
    """Return the probability that t is further from 0 than a value; Abramowitz and Stegun, 26.7.1."""
    square = value * value
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square))


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function of `x`; `rest` is 1 - `x`."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    front = a * math.log(x) + b * math.log(rest) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(front) / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function; DLMF 8.17.22, by Lentz's method."""
    value = upper = 1.0
    lower = 0.0
    for term in range(1, _TERMS_MAX):
        half = term // 2
        if term % 2:
            step = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            step = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / ((1 + step * lower) or _TINY)
        upper = (1 + step / upper) or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return value
