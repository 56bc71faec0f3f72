"""What a sample of a trial that runs says in rates; the field's units, wherever it is shown."""

from __future__ import annotations


def goodput_gb_per_s(delivered_bytes: int, span_ps: int) -> float:
    """Return the mean goodput of some payload over a time, not zero [GB/s, decimal]."""
    return delivered_bytes * 1000 / span_ps


def paused_mean(paused_ps: int, span_ps: int) -> float:
    """Return how many priorities of ports were paused on average, by the sum of their pauses."""
    return paused_ps / span_ps
