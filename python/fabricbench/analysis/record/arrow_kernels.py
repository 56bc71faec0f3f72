"""Calls the Arrow compute kernels in use without `pyarrow.compute`, so that small runs start faster.

Importing `pyarrow.compute` creates a Python function for every kernel, which takes 40 ms; a small run needs a
dozen. The kernels are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

try:
    from pyarrow._compute import CastOptions, FilterOptions, QuantileOptions, call_function
except ImportError:  # for versions of pyarrow that have them in another module
    from pyarrow.compute import CastOptions, FilterOptions, QuantileOptions, call_function

Kernel = Callable[..., Any]


def _kernel(name: str) -> Kernel:
    return lambda *values: call_function(name, list(values))


divide, multiply = _kernel("divide"), _kernel("multiply")
equal, less, less_equal, greater_equal = map(_kernel, ("equal", "less", "less_equal", "greater_equal"))
not_equal, nonzero = _kernel("not_equal"), _kernel("indices_nonzero")
and_, coalesce = _kernel("and"), _kernel("coalesce")
is_null, is_valid = _kernel("is_null"), _kernel("is_valid")
least, largest, min_max, total = _kernel("min"), _kernel("max"), _kernel("min_max"), _kernel("sum")
unique, take, order_of = map(_kernel, ("unique", "take", "array_sort_indices"))
cumulative_sum = _kernel("cumulative_sum")


def as_float(values: pa.Array) -> pa.Array:
    """Return integers as the nearest floating-point numbers."""
    return call_function("cast", [values], CastOptions.unsafe(pa.float64()))


def filtered(rows: Any, mask: pa.Array) -> Any:
    """Return the rows or values for which a mask is true."""
    return call_function("filter", [rows, mask], FilterOptions())


def quantile(values: pa.ChunkedArray, positions: Sequence[float]) -> list[Any]:
    """Return the values at positions from 0 to 1 among the sorted ones, the nearest to each."""
    options = QuantileOptions(list(positions), interpolation="nearest")
    values_at_positions: list[Any] = call_function("quantile", [values], options).to_pylist()
    return values_at_positions
