"""Verifies that the file of a table is the one in the catalog: its digest, trial, backend and run spec.

Damaged files are opened with limits on their declared sizes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.inputs import open_regular
from fabricbench.store.record.earlier_versions import LATER_TABLES

if TYPE_CHECKING:
    import pyarrow.parquet as pq

METADATA_PREFIX: Final = "fabricbench."
ROWS_PER_GROUP: Final = 65_536
"""Rows of each row group but the last. A fixed number, so that the bytes do not depend on the batches
received; a row group of the widest table has about 17 MB before compression."""
_EXPANSION_MAX: Final = 1000
_EXPANDED_FREE_BYTES: Final = 64 << 20
"""Limit on the uncompressed size of a file [bytes]: this plus a multiple of its size; ours are smaller."""
_FOOTER_BYTES_MAX: Final = 64 << 20
_FOOTER_ITEMS_MAX: Final = 1 << 20


@dataclass(frozen=True)
class Identity:
    """Identity of the files of a record, from the catalog.

    Attributes:
        trial: The trial.
        backend: The backend that made the record.
        run_spec: JSON of the RunSpec.
        digests: SHA-256 of each table's file, in hexadecimal digits; empty for records of earlier versions.
    """

    trial: str
    backend: str
    run_spec: str
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Identity:
        """Return the identity in a row of the catalog; invalid digests count as unknown."""
        return cls(row["id"], row["backend"], row["run_spec"], digests_of(row["digests"]))

    def names(self, table: str) -> bool:
        """Return whether the record has a file of a table; one of an earlier version may lack some."""
        return table in self.digests or table not in LATER_TABLES

    def problem(self, path: Path, table: str) -> str:
        """Return the problem of a table's file, or an empty string.

        All bytes are hashed before any is parsed, so that parsers never see a file that was not written by
        us. For a table without a digest only the footer is read.

        Raises:
            OSError: The file is missing or cannot be read.
        """
        expected = self.digests.get(table)
        if expected is not None:
            digest = digest_of(path)
            if digest != expected:
                return f"it is not what was written: its SHA-256 is {digest[:12]}..., not {expected[:12]}..."
        try:
            with opened_table(path) as file:
                return self._stranger(file.schema_arrow.metadata or {}, table)
        except FileNotFoundError:
            raise
        except unreadable() as error:
            return f"it cannot be read: {' '.join(str(error).split())}"

    def _stranger(self, metadata: Mapping[bytes, bytes], table: str) -> str:
        """Return how the metadata of a file differ from the catalog, or an empty string."""
        stored = {
            name: metadata.get(f"{METADATA_PREFIX}{name}".encode(), b"").decode(errors="replace")
            for name in ("trial", "table", "backend", "run_spec")
        }
        if stored["trial"] != self.trial:
            return f"it is of trial {stored['trial'] or 'nobody'}"
        if stored["table"] != table:
            return f"it is table {stored['table']}"
        if stored["backend"] != self.backend:
            return f"it is of backend {stored['backend']}, not {self.backend}"
        if not _same_json(stored["run_spec"], self.run_spec):
            return "it is of another run spec"
        return ""


def unreadable() -> tuple[type[Exception], ...]:
    """Return the exception types raised for a damaged Parquet file."""
    import pyarrow as pa

    return (OSError, pa.ArrowException, ValueError, OverflowError, MemoryError)


def opened_table(path: Path, *, checksums: bool = True) -> pq.ParquetFile:
    """Open a table whose footer may be damaged, with limits on its declared sizes.

    Raises:
        OSError: It is missing or cannot be read; any other of `unreadable()` if it is damaged.
    """
    import pyarrow.parquet as pq

    open_regular(path).close()
    return pq.ParquetFile(
        path,
        page_checksum_verification=checksums,
        thrift_string_size_limit=_FOOTER_BYTES_MAX,
        thrift_container_size_limit=_FOOTER_ITEMS_MAX,
    )


def excess(file: pq.ParquetFile, size_bytes: int) -> str:
    """Return which declared size exceeds any table of ours, or an empty string, without decompression.

    Args:
        file: The table; only its footer is used.
        size_bytes: Size of the file.
    """
    metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if any(group.num_rows > ROWS_PER_GROUP for group in groups):
        return f"it declares row groups of more than {ROWS_PER_GROUP:,} rows"
    expanded_bytes = sum(group.total_byte_size for group in groups)
    if expanded_bytes > _EXPANDED_FREE_BYTES + _EXPANSION_MAX * size_bytes:
        return f"it declares {expanded_bytes:,} bytes of rows in a file of {size_bytes:,}"
    return ""


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits.

    Raises:
        OSError: It cannot be read.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests_in(folder: Path, tables: Iterable[str]) -> dict[str, str]:
    """Return the digests of the tables in a folder.

    Raises:
        OSError: One cannot be read.
    """
    return {table: digest_of(folder / f"{table}.parquet") for table in tables}


def digests_of(text: str | None) -> Mapping[str, str]:
    """Parse the digests in a row of the catalog; empty if there are none or they are invalid."""
    try:
        parsed = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _same_json(text: str, other_text: str) -> bool:
    try:
        return text == other_text or json.loads(text) == json.loads(other_text)
    except (ValueError, RecursionError):
        return False
