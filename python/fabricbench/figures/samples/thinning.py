"""Fewer samples of a number that only grows, whose differences are drawn as rates."""

from __future__ import annotations

import polars as pl


def evenly(samples: pl.DataFrame, at_most: int) -> pl.DataFrame:
    """Keep every k-th sample, about `at_most` in all, and the last: rates become means over k."""
    step = -(-samples.height // at_most)
    if step <= 1:
        return samples
    return pl.concat([samples.gather_every(step), samples.tail(1)]).unique(maintain_order=True)
