"""Converts a sample of a running trial to rates, in the units of the field, for all displays."""

from __future__ import annotations


def goodput_gb_per_s(delivered_bytes: int, span_ps: int) -> float:
    """Return the mean goodput of a payload over a non-zero time [GB/s, decimal]."""
    return delivered_bytes * 1000 / span_ps


def paused_mean(paused_ps: int, span_ps: int) -> float:
    """Return the mean number of paused port priorities, from the sum of their pause times."""
    return paused_ps / span_ps
