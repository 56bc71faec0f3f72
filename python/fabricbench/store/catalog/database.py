"""Access to the catalog's database: transactions, checks when it is opened, and errors with remedies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from fabricbench.store.catalog.migrate import REVISION, REVISIONS, migrate, revision_of
from fabricbench.store.catalog.sql import Connection
from fabricbench.store.errors import StoreError

BUSY_TIMEOUT_S = 60
"""Timeout of a transaction that waits for another process [s]; each lasts milliseconds."""


class Database(ABC):
    """The catalog's database.

    Attributes:
        place: Its file, or its URL without the password, for error messages.
    """

    place: Path | str
    damaged_hint: str
    """Suggested remedy for a damaged catalog."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            StoreError: The catalog is corrupted, foreign, locked for too long or cannot be read.
        """
        with self._errors(), self._transaction(exclusive=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that excludes every other writer, and commit it at the end of the block.

        Raises:
            StoreError: The catalog is corrupted, foreign, locked for too long or cannot be written, or the
                disk is full.
        """
        with self._errors(), self._transaction(exclusive=True) as connection:
            yield connection

    @abstractmethod
    def _transaction(self, *, exclusive: bool) -> AbstractContextManager[Connection]:
        """Open a connection with a transaction, commit it at the end, and roll it back after an error.

        No connection is kept open across a long run.
        """

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Convert errors of the database to errors with remedies.

        Raises:
            StoreError: There was one.
        """

    def open(self, *, has_records: bool) -> None:
        """Check the catalog, create it if there is none, and migrate an older one.

        Args:
            has_records: Whether the workspace already has records, so that a catalog must exist.

        Raises:
            StoreError: The catalog is corrupted, foreign, newer than this version, missing or not writable.
        """
        self._check(has_records=has_records)
        revision = self._revision()
        if revision is None:
            if has_records:
                raise self._missing()
            self._prepare_new()
        if revision != REVISION:
            self._migrate(revision)

    @abstractmethod
    def _check(self, *, has_records: bool) -> None:
        """Check for problems that opening the database would not detect."""

    @abstractmethod
    def _prepare_new(self) -> None:
        """Prepare a new database before its tables are created."""

    def _missing(self) -> StoreError:
        message = "the catalog is missing or empty, but the workspace holds records"
        return StoreError(self.place, message, self.damaged_hint)

    def _revision(self) -> str | None:
        """Return the revision of the catalog, or None if there are no tables."""
        with self.reading() as connection:
            if not self._has_tables(connection):
                return None
            revision = revision_of(connection)
        if not isinstance(revision, str):
            raise StoreError(self.place, "the catalog has no revision", self.damaged_hint)
        return revision

    @abstractmethod
    def _has_tables(self, connection: Connection) -> bool:
        """Return whether there are any tables."""

    def _migrate(self, revision: str | None) -> None:
        """Migrate a catalog from a revision, or create its tables, unless another process has done it."""
        if revision is not None and revision not in REVISIONS:
            raise StoreError(
                self.place,
                f"the catalog has revision {revision}; this fabricbench reads revisions up to {REVISION}",
                "use the version of fabricbench that wrote the workspace, or a newer one",
            )
        with self.writing() as connection:
            migrate(connection, is_new=not self._has_tables(connection))
