"""Reads result tables of a trial that are at a URL, through copies in the workspace; uploads them.

    copies/ID.TOKEN/TABLE.parquet

The content of a name never changes, so a copy is never out of date and may be removed at any time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.record.identity import Identity
from fabricbench.store.record.location import Location, place_and_name
from fabricbench.store.record.replacement import RecordSwap
from fabricbench.store.record.tables import TableFolder, half_written


class RemoteTables(TableFolder):
    """Reads the tables of one trial. A table is copied on first use.

    Attributes:
        folder: Folder of the copies.
        url: URL of the record.
    """

    def __init__(self, url: str, copies: Path, identity: Identity | None = None) -> None:
        """Set the paths; nothing is copied yet.

        Args:
            url: URL of the record.
            copies: Folder of the copies of all records.
            identity: Identity of its files from the catalog.
        """
        self.url: str = url
        self._place, self._name = place_and_name(url)
        super().__init__(copies / self._name, identity)

    def path(self, table: str) -> Path:
        """Return the copy of a table.

        Raises:
            StoreError: The table is missing, or cannot be reached.
        """
        target = super().path(table)
        if not target.is_file():
            self._copy(table, target)
        return target

    def opened(self, table: str) -> Path:
        """Return the copy of a table after a check; a damaged copy is downloaded once more.

        Raises:
            StoreError: The table is missing, damaged or of another trial, or cannot be reached.
        """
        was_there = super().path(table).is_file()
        try:
            return super().opened(table)
        except StoreError:
            if not was_there:
                raise
        super().path(table).unlink(missing_ok=True)
        return super().opened(table)

    def lacks(self, tables: Sequence[str]) -> bool:
        """Return whether one of `tables` is missing; their bytes are checked when they are copied."""
        return bool(self.missing(tables))

    def missing(self, tables: Sequence[str]) -> list[str]:
        """Return those of `tables` that the record should have and does not, regardless of copies.

        Raises:
            StoreError: The record cannot be reached.
        """
        file_names = Location(self._place).files(self._name)
        return [table for table in self.kept(tables) if f"{table}.parquet" not in file_names]

    @contextmanager
    def checked(self, table: str) -> Iterator[Path]:
        """Copy a table again, so that the actual content of the record is read."""
        path = self.folder / f"{table}.{uuid4().hex[:12]}.check"
        try:
            self._copy(table, path)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _copy(self, table: str, target: Path) -> None:
        """Copy a table atomically."""
        partial = target.with_name(f".{target.name}.{uuid4().hex[:12]}")
        try:
            Location(self._place).download(self._name, f"{table}.parquet", partial)
            partial.rename(target)
        except FileNotFoundError as error:
            raise half_written(f"{self.url}/{table}.parquet", "the file is missing") from error
        except OSError as error:
            raise write_error(target, error) from error
        finally:
            partial.unlink(missing_ok=True)


class Upload(RecordSwap):
    """A finished record that is uploaded; an older one in the folder of the workspace is removed."""

    def __init__(self, partial: Path, record: Path, url: str, copies: Path) -> None:
        """Upload the record. It is not visible until the catalog refers to it, and nothing moves yet.

        Args:
            partial: The written record; its name ends in `PARTIAL`.
            record: Path of an older record, if the workspace once stored records in its folder.
            url: URL of the new one.
            copies: Folder of the copies of all records.

        Raises:
            StoreError: The location cannot be reached or written.
        """
        super().__init__(partial, record)
        location, name = place_and_name(url)
        self._copy = copies / name
        Location(location).upload(partial, name)

    def _put_in_place(self) -> None:
        """Do nothing: only the catalog changes. Giving the attempt up removes the upload."""

    def discard(self) -> None:
        """Remove the older record, and keep the written files as the copy of the new one."""
        super().discard()
        try:
            self._copy.parent.mkdir(exist_ok=True)
            self._partial.rename(self._copy)
        except OSError:
            shutil.rmtree(self._partial, ignore_errors=True)


def remove_record(url: str, copies: Path) -> None:
    """Remove a record that the catalog no longer refers to, and its copy.

    If it cannot be reached, it remains; `fabricbench workspace check` reports it.
    """
    location, name = place_and_name(url)
    shutil.rmtree(copies / name, ignore_errors=True)
    with suppress(StoreError):
        Location(location).remove(name)
