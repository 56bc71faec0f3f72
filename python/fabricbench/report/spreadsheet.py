"""Text in CSV that a spreadsheet shows and never runs.

Spreadsheets take a cell for a formula that begins with `=`, `+`, `-` or `@`, tabs and line ends before it
skipped. Text that begins so gets an apostrophe in front, and so does text that begins with one: taking one
apostrophe from the front of each text gives every text back. Numbers stay as they are, negative ones as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_MARK: Final = "'"
_MARKED: Final = ("=", "+", "-", "@", "\t", "\r", "\n", _MARK)
"""What text begins with that is marked."""
_PATTERN: Final = r"^[=+\-@\t\r\n']"


def cell(value: object) -> object:
    """Return the value of a cell, marked where it is text that a spreadsheet might run."""
    return f"{_MARK}{value}" if isinstance(value, str) and value.startswith(_MARKED) else value


def frame(table: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with the same done to its columns of text."""
    import polars as pl

    text = pl.col(pl.String)
    marked = pl.when(text.str.contains(_PATTERN)).then(pl.lit(_MARK) + text).otherwise(text)
    return table.with_columns(marked.name.keep())


def columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a part of a table with the same done to its columns of text."""
    import pyarrow as pa

    done = [_column(column) if pa.types.is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(done, schema=batch.schema)


def _column(column: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    marked = pc.binary_join_element_wise(_MARK, column, "")
    return pc.if_else(pc.match_substring_regex(column, _PATTERN), marked, column)
