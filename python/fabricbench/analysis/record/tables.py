"""Interface for reading the tables of a trial's record; which of its chunks (transfers) have rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

ALL = "all"


class Tables(Protocol):
    """The record tables of a trial."""

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table, all columns or some."""


def observed_chunks(run_spec: Mapping[str, Any]) -> str:
    """Return which chunks have rows: `all`, a `sample` of them, or none (`summary`)."""
    return str(run_spec.get("observe", {}).get("chunks", ALL))


def table_of_sums(run_spec: Mapping[str, Any]) -> str:
    """Return the table with the counters of all chunks, by chunk or by step."""
    return "chunks" if observed_chunks(run_spec) == ALL else "chunk_steps"
