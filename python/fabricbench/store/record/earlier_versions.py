"""Reads records (result tables) of earlier versions: adds tables and columns that they lack."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.store.record.schema import RECORD_TABLES, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

_AT_ENDPOINTS: Final = ("chunks", "reordering", "connections")
_IN_THE_FABRIC: Final = ("ports", "priorities", "links", "paths", "series", "events")

OF_THE_SIMULATOR: Final[dict[str, dict[str, Any]]] = {
    **{table: {"at": "endpoint", "unmeasured": []} for table in _AT_ENDPOINTS},
    **{table: {"at": "fabric", "unmeasured": []} for table in _IN_THE_FABRIC},
}
"""Observations of the simulator when the column `observed` was added to catalogs."""

LATER_TABLES: Final = frozenset(RECORD_TABLES) - OF_THE_SIMULATOR.keys()
"""Tables that were added to records later; records without one have no rows of it."""

_REFERENCE_COLUMN: Final = "dropped_headroom_frames"
LATER_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "ports": (
        "dropped_wred_frames",
        "dropped_wred_bytes",
        "dropped_wred_yellow_frames",
        "dropped_wred_red_frames",
    ),
    "priorities": ("dropped_wred_frames",),
}
"""Columns that were added to records later. In a record without one the event did not occur: it is 0, or null
if the record has no drops by cause."""

UNKNOWN_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "chunks": ("busbw_gb_per_s",),
    "ports": ("pfc_xon_tx", "pfc_xon_rx"),
    "priorities": ("pfc_xon_tx", "pfc_xon_rx"),
}
"""Columns that were added to records later and are null in records without them."""


def with_later(table: str, schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table of a record, extended by the columns that were added later."""
    import pyarrow as pa

    later = [name for name in LATER_COLUMNS.get(table, ()) if name not in schema.names]
    nullable = bool(later) and schema.field(_REFERENCE_COLUMN).nullable
    for name in later:
        schema = schema.append(pa.field(name, pa.int64(), nullable=nullable))
    for name in UNKNOWN_COLUMNS.get(table, ()):
        if name not in schema.names:
            schema = schema.append(schema_of(table).field(name))
    return schema


def filled(batch: pa.RecordBatch, fields: Iterable[pa.Field]) -> pa.RecordBatch:
    """Return rows of a record, extended by the missing columns as in `with_later`."""
    import pyarrow as pa

    for field in fields:
        value = pa.scalar(None if field.nullable else 0, field.type)
        batch = batch.append_column(field, pa.repeat(value, batch.num_rows))
    return batch


def file_without_rows(table: str) -> Path:
    """Return a file of a table without rows, for readers of a record that does not have it."""
    return _folder_without_rows() / f"{table}.parquet"


@cache
def _folder_without_rows() -> Path:
    """Write the files once for this process, which removes them at exit."""
    import atexit
    import shutil

    from pyarrow import parquet

    folder = Path(tempfile.mkdtemp(prefix="fabricbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for table in LATER_TABLES:
        parquet.write_table(schema_of(table).empty_table(), folder / f"{table}.parquet")
    return folder
