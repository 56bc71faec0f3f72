"""Reduces the samples of a counter or rate to the points of a line, and breaks the line at gaps."""

from __future__ import annotations

import polars as pl


def evenly(samples: pl.DataFrame, at_most: int) -> pl.DataFrame:
    """Return every k-th sample, about `at_most` in all, and the last: rates become means over k."""
    step = -(-samples.height // at_most)
    if step <= 1:
        return samples
    return pl.concat([samples.gather_every(step), samples.tail(1)]).unique(maintain_order=True)


def with_stretches(samples: pl.DataFrame, interval_ps: object) -> pl.DataFrame:
    """Number the contiguous runs of samples; there are no samples between runs.

    Args:
        samples: In order of time.
        interval_ps: Usual time between consecutive samples; `None` if there is only one.
    """
    longest = 1.5 * float(str(interval_ps)) if interval_ps is not None else 0.0
    is_new = (pl.col("time_ps").diff() > longest).fill_null(value=False)
    return samples.with_columns(is_new.cum_sum().alias("stretch"))


def between_stretches(samples: pl.DataFrame) -> pl.DataFrame:
    """Insert a sample without a value before each run except the first, so that no line crosses the gap."""
    firsts = samples.filter(pl.col("stretch").diff() != 0)
    gaps = firsts.with_columns(pl.lit(None, dtype=samples.schema["value"]).alias("value"))
    return pl.concat([gaps, samples]).sort("time_ps", "value", nulls_last=False, maintain_order=True)
