"""Schemas of the tables of a trial's record, and the conversion of a backend's rows to them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from fabricbench.store.columns import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

TRIALS = "trials"

RECORD_TABLES = tuple(COLUMNS)
"""Tables that a backend writes."""

TABLES = (*RECORD_TABLES, TRIALS)
"""Tables of a stored trial: those of the backend and the results computed from them."""


class RecordSchemaError(Exception):
    """Rows of a backend without the columns of their table: a fault of the backend."""


@cache
def schema_of(table: str) -> pa.Schema:
    """Return the columns of a table that a backend writes."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(column.name, pa.type_for_alias(column.type), nullable=column.is_nullable)
            for column in COLUMNS[table]
        ]
    )


def observed_schema(table: str, unmeasured: Collection[str] = ()) -> pa.Schema:
    """Return the columns of a table; those that were not measured may be null."""
    import pyarrow as pa

    return pa.schema(
        [field.with_nullable(True) if field.name in unmeasured else field for field in schema_of(table)]
    )


def conform(table: str, batch: pa.RecordBatch, unmeasured: Collection[str] = ()) -> pa.RecordBatch:
    """Return the rows with exactly the columns, order and types of the table.

    Args:
        table: Name of the table.
        batch: Rows from a backend, in any column order and integer width.
        unmeasured: Columns that the backend does not measure: all their values are null.

    Raises:
        RecordSchemaError: There is no such table, a column is missing or unknown, a value does not fit, is
            null in a measured column, or is not null in an unmeasured one.
    """
    import pyarrow as pa

    if table not in RECORD_TABLES:
        raise RecordSchemaError(f"table {table!r} is none of {', '.join(RECORD_TABLES)}")
    if not unmeasured and batch.schema.equals(schema_of(table)) and _has_all(batch):
        return batch
    schema = observed_schema(table, unmeasured)
    missing = set(schema.names) - set(batch.schema.names)
    unknown = set(batch.schema.names) - set(schema.names)
    if missing or unknown:
        raise RecordSchemaError(
            f"table {table!r}: missing columns {sorted(missing)}, unknown {sorted(unknown)}"
        )
    try:
        columns = [_as_type(batch.column(field.name), field.type) for field in schema]
    except pa.ArrowInvalid as error:
        raise RecordSchemaError(f"table {table!r}: {error}") from error
    for field, column in zip(schema, columns, strict=True):
        if column.null_count and not field.nullable:
            raise RecordSchemaError(f"table {table!r}: null in column {field.name!r}, which was measured")
        if field.name in unmeasured and column.null_count < len(column):
            raise RecordSchemaError(
                f"table {table!r}: a value in column {field.name!r}, which was not measured"
            )
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _has_all(batch: pa.RecordBatch) -> bool:
    """Return whether no column that must not be null has a null."""
    columns = zip(batch.schema, batch.columns, strict=True)
    return not any(column.null_count and not field.nullable for field, column in columns)


def _as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column with a type; a column of that type needs no kernels, which take long to load."""
    return column if column.type == kind else column.cast(kind)
