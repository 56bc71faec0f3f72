"""Writes and reads the Parquet tables with the results of a trial (its record).

They are written while the trial runs, with bounded memory, and the same rows give the same bytes. A file is
checked against the catalog before it is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.record.earlier_versions import file_without_rows, filled, with_later
from fabricbench.store.record.identity import (
    METADATA_PREFIX,
    ROWS_PER_GROUP,
    Identity,
    digests_in,
    opened_table,
    unreadable,
)
from fabricbench.store.record.lease import Lease
from fabricbench.store.record.schema import RECORD_TABLES, TABLES, RecordSchemaError, conform, observed_schema
from fabricbench.store.record.writer_thread import WriterThread

if TYPE_CHECKING:
    import pyarrow as pa

_BUFFER_BYTES = 1 << 16
"""Size of the write buffer: Parquet writes each page, and the header of each, by itself."""


class TableWriter:
    """Writes one table, row group by row group.

    Memory is limited to one row group, plus those that wait for the writer thread.
    """

    def __init__(self, path: Path, schema: pa.Schema, thread: WriterThread) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        self._schema = schema
        self._thread = thread
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._file = pa.BufferedOutputStream(pa.OSFile(os.fspath(path), "wb"), _BUFFER_BYTES)
        # The options are explicit because the bytes depend on them. Delta encoding of integers takes two
        # thirds of the time of a dictionary, and less space; LZ4 takes less time than Zstandard at its
        # fastest level. Rows are unordered, so minimum and maximum of a group would not help.
        kinds = {field.name: field.type for field in schema}
        integers = [name for name, kind in kinds.items() if pa.types.is_integer(kind)]
        floats = [name for name, kind in kinds.items() if pa.types.is_floating(kind)]
        self._writer = pq.ParquetWriter(
            self._file,
            schema,
            version="2.6",
            data_page_version="1.0",
            compression="lz4",
            use_dictionary=[name for name in kinds if name not in (*integers, *floats)],
            column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED")
            | dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
            write_statistics=False,
            write_page_checksum=True,
            store_schema=True,
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows, and pass full row groups to the writer thread.

        Raises:
            StoreError: The disk is full or failing, now or in an earlier row group.
        """
        while batch.num_rows:
            room = ROWS_PER_GROUP - self._pending_rows
            self._pending.append(batch.slice(0, room))
            self._pending_rows += min(room, batch.num_rows)
            batch = batch.slice(min(room, batch.num_rows))
            if self._pending_rows == ROWS_PER_GROUP:
                self._thread.submit(partial(self._write_group, self._taken()))

    def _taken(self) -> list[pa.RecordBatch]:
        """Remove and return the rows of the next row group."""
        batches, self._pending, self._pending_rows = self._pending, [], 0
        return batches

    def _write_group(self, batches: list[pa.RecordBatch]) -> None:
        import pyarrow as pa

        # The schema of the file has metadata that the batches do not have.
        columns = pa.Table.from_batches(batches).combine_chunks().columns
        batches.clear()
        try:
            self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=ROWS_PER_GROUP)
            self._file.flush()
        except OSError as error:
            raise write_error(self._path, error) from error

    def close(self) -> None:
        """Write the rest and the footer, and sync the file to disk; the writer thread must be idle.

        Raises:
            StoreError: The disk is full or failing.
            OSError: The same.
        """
        if self._pending_rows:
            self._write_group(self._taken())
        self._writer.close()
        self._file.close()
        sync(self._path)

    def abandon(self) -> None:
        """Close the file without completing it; it will be removed."""
        import pyarrow as pa

        try:
            self._writer.close()
            self._file.close()
        except (OSError, pa.ArrowException):
            return  # the disk may have caused the error


class RecordWriter:
    """Writes the record tables of one trial into a folder."""

    def __init__(
        self, folder: Path, metadata: Mapping[str, str], observed: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Create the folder and the empty tables.

        Args:
            folder: Must not exist.
            observed: The tables that get rows; see `TrialFacts.observed`.
            metadata: Metadata of every file, such as the RunSpec; the same for the same trial.

        Raises:
            StoreError: The folder cannot be written, or the disk is full.
        """
        self.folder = folder
        self._metadata = {(METADATA_PREFIX + key).encode(): value.encode() for key, value in metadata.items()}
        self._unmeasured = {
            table: tuple(observation["unmeasured"]) for table, observation in observed.items()
        }
        self._writers: dict[str, TableWriter] = {}
        self._thread = WriterThread()
        try:
            folder.mkdir()
            self._lease = Lease(folder)
            for table in RECORD_TABLES:
                self._writers[table] = self._open(
                    table, observed_schema(table, self._unmeasured.get(table, ()))
                )
        except OSError as error:
            raise write_error(folder, error) from error

    def _open(self, table: str, schema: pa.Schema) -> TableWriter:
        metadata = self._metadata | {(METADATA_PREFIX + "table").encode(): table.encode()}
        return TableWriter(self.folder / f"{table}.parquet", schema.with_metadata(metadata), self._thread)

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Append rows to a table.

        Raises:
            StoreError: The disk is full or failing.
            RecordSchemaError: The rows do not have the table's columns, or the table is not observed.
        """
        if table in RECORD_TABLES and table not in self._unmeasured:
            raise RecordSchemaError(
                f"table {table!r} has rows and is none of those that the backend observes"
            )
        self._writers[table].write(conform(table, batch, self._unmeasured.get(table, ())))

    def close(self) -> None:
        """Finish every table and sync it to disk.

        Raises:
            StoreError: The disk is full or failing.
        """
        self._thread.finish()
        for table, writer in self._writers.items():
            try:
                writer.close()
            except OSError as error:
                raise write_error(self.folder / f"{table}.parquet", error) from error

    def write_results(self, table: str, rows: pa.Table) -> None:
        """Write a whole table, such as the results computed from the others.

        Raises:
            StoreError: The disk is full or failing.
        """
        try:
            writer = self._open(table, rows.schema)
            for batch in rows.to_batches():
                writer.write(batch)
            self._thread.finish()
            writer.close()
            sync(self.folder)
        except OSError as error:
            raise write_error(self.folder / f"{table}.parquet", error) from error

    def digests(self) -> dict[str, str]:
        """Return the digest of every table of the finished record.

        Raises:
            StoreError: A table cannot be read back.
        """
        try:
            return digests_in(self.folder, TABLES)
        except OSError as error:
            raise write_error(self.folder, error) from error

    def abandon(self) -> None:
        """Close the files without completing them; the folder will be removed."""
        self._thread.abandon()
        for writer in self._writers.values():
            writer.abandon()


class TableFolder:
    """Reads the tables of one trial, as a whole or in batches.

    Attributes:
        folder: Folder of the files.
        identity: Identity of the files from the catalog; None while they are being written.
        url: URL of the record if `folder` only has copies of it; None otherwise.
    """

    url: str | None = None

    def __init__(self, folder: Path, identity: Identity | None = None) -> None:
        self.folder = folder
        self.identity = identity
        self._seen: dict[str, tuple[int, ...]] = {}

    def path(self, table: str) -> Path:
        """Return the file of a table, which may be missing or damaged; readers use `opened`."""
        return self.folder / f"{table}.parquet"

    def kept(self, tables: Iterable[str]) -> list[str]:
        """Return those of `tables` that the record has; one of an earlier version may lack some."""
        return [table for table in tables if self.identity is None or self.identity.names(table)]

    def opened(self, table: str) -> Path:
        """Return the file of a table after checking it against the catalog.

        A file that was checked and has not changed is not checked again. If records of an earlier version do
        not have the table, the file has no rows.

        Raises:
            StoreError: The file is missing, damaged, or of another trial.
        """
        if not self.kept([table]):
            return file_without_rows(table)
        path = self.path(table)
        try:
            now = _state(path)
            if self.identity is None or self._seen.get(table) == now:
                return path
            problem = self.identity.problem(path, table)
        except FileNotFoundError as error:
            raise half_written(path, "the file is missing") from error
        except OSError as error:
            raise damaged(path, f"it cannot be read: {error}") from error
        if problem:
            raise damaged(path, problem)
        self._seen[table] = now
        return path

    def missing(self, tables: Sequence[str]) -> list[str]:
        """Return those of `tables` that the record should have but whose file is missing."""
        return [table for table in self.kept(tables) if not self.path(table).is_file()]

    def lacks(self, tables: Sequence[str]) -> bool:
        """Return whether one of `tables` is missing, damaged or of another trial."""
        try:
            for table in tables:
                self.opened(table)
        except StoreError:
            return True
        return False

    @contextmanager
    def checked(self, table: str) -> Iterator[Path]:
        """Yield the file of a table for a check of the record's actual content."""
        yield self.path(table)

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table in batches of at most a row group, so that any table fits in memory.

        Args:
            table: Name of the table.
            columns: Names of the columns; all by default.

        Raises:
            StoreError: The file is missing, damaged, or of another trial.
        """
        path = self.opened(table)
        with _readable(path), opened_table(path) as file:
            schema = with_later(table, file.schema_arrow)
            names = schema.names if columns is None else list(columns)
            stored_columns = [
                name for name in names if name in file.schema_arrow.names or name not in schema.names
            ]
            missing_columns = [schema.field(name) for name in names if name not in stored_columns]
            for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, columns=stored_columns):
                yield filled(batch, missing_columns).select(names) if missing_columns else batch

    def table(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a whole table, or some of its columns.

        Raises:
            StoreError: The file is missing, damaged, or of another trial.
        """
        batches = list(self.batches(table, columns))
        import pyarrow as pa

        if batches:
            return pa.Table.from_batches(batches)
        schema = self.schema(table)
        names = schema.names if columns is None else columns
        return pa.schema([schema.field(name) for name in names]).empty_table()

    def schema(self, table: str) -> pa.Schema:
        """Return the columns of a table.

        Raises:
            StoreError: The file is missing, damaged, or of another trial.
        """
        path = self.opened(table)
        with _readable(path), opened_table(path) as file:
            return with_later(table, file.schema_arrow)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert errors while reading a file to ones with hints."""
    try:
        yield
    except FileNotFoundError as error:
        raise half_written(path, "the file is missing") from error
    except unreadable() as error:
        raise damaged(path, f"it cannot be read: {error}") from error


def _state(path: Path) -> tuple[int, ...]:
    """Return a value that changes when a file is replaced or written."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def damaged(path: Path | str, problem: str) -> StoreError:
    """Return the error for a table that is not as it was written."""
    return StoreError(
        path,
        f"this trial's record is damaged: {problem}",
        "`fabricbench workspace repair` puts it aside; its plan with --resume runs the trial again",
    )


def half_written(path: Path | str, problem: str) -> StoreError:
    """Return the error for a record that lacks a table."""
    return StoreError(
        path,
        f"this trial's record is incomplete: {problem}",
        "run the trial again: its plan with --resume replaces what is missing",
    )


def sync(path: Path) -> None:
    """Sync a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
