"""Escapes text in CSV, so that a spreadsheet shows it and never runs it.

Spreadsheets interpret a cell as a formula if it begins with `=`, `+`, `-` or `@`, also in their full-width,
small, superscript and other compatible forms (Unicode, NFKC), skipping control and invisible characters
before it. Such text gets an apostrophe in front, and so does text that begins with one: removing a leading
apostrophe restores every text. Numbers are unchanged, including negative ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_MARK: Final = "'"
_SIGNS: Final = "=+@⁺⁻⁼₊₋₌−⩵⩶﬩﹢﹣﹦﹫＋－＝＠"  # noqa: RUF001 -- all that NFKC makes =, +, - or @ of, and the minus
_SKIPPED: Final = (
    r"\x00-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)
"""Control and invisible characters."""
_PATTERN: Final = rf"^(?:[\t\r\n{_MARK}]|[{_SKIPPED}]*[-{_SIGNS}])"
"""Beginning of text that is escaped; it has the same meaning to Python, Polars and Arrow."""
_MARKED: Final = re.compile(_PATTERN)


def cell(value: object) -> object:
    """Return the value of a cell, escaped if it is text that a spreadsheet might run."""
    return f"{_MARK}{value}" if isinstance(value, str) and _MARKED.match(value) else value


def frame(table: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with its text columns escaped."""
    import polars as pl

    text = pl.col(pl.String)
    marked = pl.when(text.str.contains(_PATTERN)).then(pl.lit(_MARK) + text).otherwise(text)
    return table.with_columns(marked.name.keep())


def columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a record batch with its text columns escaped."""
    import pyarrow as pa

    done = [_column(column) if pa.types.is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(done, schema=batch.schema)


def _column(column: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    marked = pc.binary_join_element_wise(_MARK, column, "")
    return pc.if_else(pc.match_substring_regex(column, _PATTERN), marked, column)
