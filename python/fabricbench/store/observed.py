"""What records of earlier versions hold, as far as they do not say it themselves."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

_AT_ENDPOINTS: Final = ("chunks", "reordering", "connections")
_IN_THE_FABRIC: Final = ("ports", "priorities", "links", "paths", "series", "events")

OF_THE_SIMULATOR: Final[dict[str, dict[str, Any]]] = {
    **{table: {"at": "endpoint", "unmeasured": []} for table in _AT_ENDPOINTS},
    **{table: {"at": "fabric", "unmeasured": []} for table in _IN_THE_FABRIC},
}
"""Everything; as it was when catalogs got the column `observed`."""

LATER_TABLES: Final = frozenset({"counters", "chunk_steps", "chunk_times"})
"""Tables that records did not have from the beginning: one without has no rows of it."""


def file_without_rows(table: str) -> Path:
    """Return a file of a table without rows, for readers of a record that does not have it."""
    return _folder_without_rows() / f"{table}.parquet"


@cache
def _folder_without_rows() -> Path:
    """Write the files once for this process, which removes them when it ends."""
    import atexit
    import shutil

    from pyarrow import parquet

    from fabricbench.store.schema import schema_of

    folder = Path(tempfile.mkdtemp(prefix="fabricbench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for table in LATER_TABLES:
        parquet.write_table(schema_of(table).empty_table(), folder / f"{table}.parquet")
    return folder
