"""The tables of a trial whose record lies at a URL, read through copies in the workspace.

    copies/ID.TOKEN/TABLE.parquet

What lies under a name never changes, so a copy is never out of date, and may be removed at any time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from fabricbench.store.errors import StoreError, write_error
from fabricbench.store.identity import Identity
from fabricbench.store.location import Location, place_and_name
from fabricbench.store.swap import RecordSwap
from fabricbench.store.tables import TableFolder, half_written


class RemoteTables(TableFolder):
    """Reads the tables of one trial. A table is copied when it is read first.

    Attributes:
        folder: Where the copies are.
        url: Where the record is.
    """

    def __init__(self, url: str, copies: Path, identity: Identity | None = None) -> None:
        """Name the places; nothing is copied yet.

        Args:
            url: The record.
            copies: Folder of the copies of all records.
            identity: What the catalog says of its files.
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
        """Return the copy of a table after a check; a damaged copy is made again once.

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
        """Tell whether one of `tables` is missing; their bytes are checked when they are copied."""
        return bool(self.missing(tables))

    def missing(self, tables: Sequence[str]) -> list[str]:
        """Return those of `tables` that the record should have and does not, whatever copies there are.

        Raises:
            StoreError: The record cannot be reached.
        """
        there = Location(self._place).files(self._name)
        return [table for table in self.kept(tables) if f"{table}.parquet" not in there]

    @contextmanager
    def checked(self, table: str) -> Iterator[Path]:
        """Copy a table anew, so that what is read is what the record holds."""
        path = self.folder / f"{table}.{uuid4().hex[:12]}.check"
        try:
            self._copy(table, path)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _copy(self, table: str, target: Path) -> None:
        """Copy a table, so that the target appears as a whole."""
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
    """A finished record on its way to a location; one of its trial in the folder of the workspace goes."""

    def __init__(self, partial: Path, record: Path, url: str, copies: Path) -> None:
        """Upload the record. Nobody sees it before the catalog names it, and nothing here moves yet.

        Args:
            partial: The record, as it was written; its name ends in `PARTIAL`.
            record: Where an older one may be, of when the workspace had its records in its folder.
            url: The place of the new one.
            copies: Folder of the copies of all records.

        Raises:
            StoreError: The place cannot be reached or written.
        """
        super().__init__(partial, record)
        place, name = place_and_name(url)
        self._copy = copies / name
        Location(place).upload(partial, name)

    def _put_in_place(self) -> None:
        """Do nothing: the catalog is all that changes. Who gives the attempt up removes what was uploaded."""

    def discard(self) -> None:
        """Remove the older record, and keep what was written as the copy of the new one."""
        super().discard()
        try:
            self._copy.parent.mkdir(exist_ok=True)
            self._partial.rename(self._copy)
        except OSError:
            shutil.rmtree(self._partial, ignore_errors=True)


def remove_record(url: str, copies: Path) -> None:
    """Remove a record that the catalog does not name any more, and its copy.

    What cannot be reached stays; `fabricbench workspace check` names it.
    """
    place, name = place_and_name(url)
    shutil.rmtree(copies / name, ignore_errors=True)
    with suppress(StoreError):
        Location(place).remove(name)
