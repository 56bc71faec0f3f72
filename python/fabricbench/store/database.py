"""Opening the catalog's database: transactions, a check of what is there, and errors to act on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from fabricbench.store.catalog_schema import REVISION, REVISION_TABLE, metadata
from fabricbench.store.errors import DiskFullError, StoreError, has_little_room

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

CATALOG_FILE = "catalog.sqlite"
BUSY_TIMEOUT_S = 60
"""How long a transaction waits for that of another process; each lasts milliseconds."""

_CHECKPOINT_S = 0.5
_SQLITE_MAGIC = b"SQLite format 3\x00"
_CORRUPTED_HINT = (
    "nothing was changed in it; restore it from a backup, or move the whole workspace aside and run again"
)
_NOT_OURS = {"SQLITE_NOTADB", "SQLITE_CORRUPT"}
_NO_WRITING = {"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"}


class Database:
    """The catalog's database.

    Attributes:
        path: Its file.
    """

    def __init__(self, workspace: Path, url: str | None = None) -> None:
        """Prepare the connection; `open` makes it.

        Args:
            workspace: Folder of the workspace.
            url: Database URL as SQLAlchemy reads it; by default a file in the workspace.

        Raises:
            StoreError: The URL is not of an SQLite file; other databases are not supported yet.
        """
        self.path = _sqlite_file(url, workspace) if url else workspace / CATALOG_FILE
        # One transaction at a time: a connection for each, none kept open across a long run.
        self._engine = create_engine(
            URL.create("sqlite", database=str(self.path)),
            poolclass=NullPool,
            connect_args={"timeout": BUSY_TIMEOUT_S},
        )
        event.listen(self._engine, "connect", _prepare_sqlite)
        event.listen(self._engine, "begin", _begin_sqlite)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            StoreError: The catalog is corrupted, foreign, locked for too long or cannot be read.
        """
        with self._errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that excludes every other writer, and commit it at the end of the block.

        Raises:
            StoreError: The catalog is corrupted, foreign, locked for too long or cannot be written, or the
                disk is full.
        """
        with self._errors(), self._engine.connect() as connection:
            exclusive = connection.execution_options(exclusive=True)
            with exclusive.begin():
                yield exclusive

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._translate(error) from error

    def _translate(self, error: DBAPIError) -> StoreError:
        """Say what a database error means for the user."""
        original: Any = error.orig
        code: str = getattr(original, "sqlite_errorname", "")
        is_failure = code.startswith("SQLITE_IOERR")
        # SQLite shares an index of its log through a mapped file; no room for that is an I/O error to it.
        if code.startswith("SQLITE_FULL") or (is_failure and has_little_room(self.path)):
            return DiskFullError(self.path, "the disk is full")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            found = f"another process has held the catalog for {BUSY_TIMEOUT_S} s"
            return StoreError(self.path, found, "wait for the other run, or use another --workspace")
        if any(code.startswith(prefix) for prefix in _NO_WRITING):
            return StoreError(self.path, f"cannot be opened for writing: {original}", "check its permissions")
        if any(code.startswith(prefix) for prefix in _NOT_OURS):
            return StoreError(self.path, f"the catalog is corrupted: {original}", _CORRUPTED_HINT)
        if is_failure:
            return StoreError(self.path, f"the disk failed: {original}", "check the disk and its free space")
        found = f"not the catalog of a fabricbench workspace, or a damaged one: {original}"
        return StoreError(self.path, found, _CORRUPTED_HINT)

    def open(self, *, has_records: bool) -> None:
        """Check the catalog, make it if there is none and migrate it if it is an older one.

        Args:
            has_records: Whether the workspace already holds records, so that a catalog must be there.

        Raises:
            StoreError: The catalog is corrupted, foreign, newer than this version, missing or not writable.
        """
        self._check_file(has_records=has_records)
        revision = self._revision()
        if revision is None:
            if has_records:
                raise self._gone()
            self._set_journal()
            revision = self._create()
        if revision != REVISION:
            self._migrate(revision)

    def _gone(self) -> StoreError:
        found = "the catalog is missing or empty, but the workspace holds records"
        return StoreError(self.path, found, _CORRUPTED_HINT)

    def _check_file(self, *, has_records: bool) -> None:
        """Find files that SQLite would take for new, or notice as damaged only much later."""
        deadline = time.monotonic() + _CHECKPOINT_S
        while True:
            header, size_bytes = self._header()
            if has_records and not size_bytes:
                raise self._gone()  # before SQLite makes a new file of it
            if header and header[:16] != _SQLITE_MAGIC:
                raise StoreError(
                    self.path, "the catalog is corrupted: it is no SQLite database", _CORRUPTED_HINT
                )
            expected_bytes = _size_in_header(header)
            if expected_bytes <= size_bytes or self._has_log():
                return
            # Another process may just be moving its log into the file, header first.
            if time.monotonic() > deadline:
                found = f"the catalog is cut off: {size_bytes:,} of {expected_bytes:,} bytes are there"
                raise StoreError(self.path, found, _CORRUPTED_HINT)
            time.sleep(0.02)

    def _header(self) -> tuple[bytes, int]:
        """Return the first bytes of the file and its size; nothing and 0 if there is no file."""
        try:
            with self.path.open("rb") as file:
                return file.read(100), file.seek(0, 2)
        except FileNotFoundError:
            return b"", 0
        except OSError as error:
            found = f"cannot be read: {error.strerror}"
            raise StoreError(self.path, found, "a workspace keeps its catalog in this file") from error

    def _has_log(self) -> bool:
        """Tell whether a write-ahead log may hold what the file lacks; SQLite looks after that."""
        log = self.path.with_name(self.path.name + "-wal")
        return log.is_file() and log.stat().st_size > 0

    def _set_journal(self) -> None:
        """Switch to a write-ahead log, which lets others read during a write. The file remembers it."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        with self._errors():
            while True:
                try:
                    self._switch_to_wal()
                except DBAPIError as error:
                    # The switch does not wait for others, unlike a transaction.
                    busy = getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY")
                    if not busy or time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
                else:
                    return

    def _switch_to_wal(self) -> None:
        with self._engine.connect() as connection:
            autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
            if autocommit.exec_driver_sql("PRAGMA journal_mode").scalar() != "wal":
                autocommit.exec_driver_sql("PRAGMA journal_mode = WAL")

    def _revision(self) -> str | None:
        """Return the revision of the catalog, or None if there is no table at all."""
        with self.reading() as connection:
            if not self._tables(connection):
                return None
            revision = connection.execute(text(f"SELECT version_num FROM {REVISION_TABLE}")).scalar()
        if not isinstance(revision, str):
            raise StoreError(self.path, "the catalog does not tell its revision", _CORRUPTED_HINT)
        return revision

    def _tables(self, connection: Connection) -> list[str]:
        from sqlalchemy import inspect

        return inspect(connection).get_table_names()

    def _create(self) -> str:
        with self.writing() as connection:
            if not self._tables(connection):
                metadata.create_all(connection)
                connection.execute(
                    text(f"CREATE TABLE {REVISION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
                )
                insert = text(f"INSERT INTO {REVISION_TABLE} VALUES (:revision)")
                connection.execute(insert, {"revision": REVISION})
                return REVISION
        # Another process made it in the meantime.
        return self._revision() or REVISION

    def _migrate(self, revision: str) -> None:
        from fabricbench.store.migrate import known_revisions, upgrade

        if revision not in known_revisions():
            raise StoreError(
                self.path,
                f"the catalog has revision {revision}; this fabricbench knows revisions up to {REVISION}",
                "use the version of fabricbench that wrote the workspace, or a newer one",
            )
        with self.writing() as connection:
            upgrade(connection)


def _sqlite_file(url: str, workspace: Path) -> Path:
    """Return the file that a database URL names.

    Raises:
        StoreError: It names none; a password in it is not repeated.
    """
    found = "the catalog's URL cannot be read"
    with suppress(ArgumentError):
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            return Path(parsed.database)
        found = f"the catalog's URL {parsed.render_as_string()} is no file of SQLite"
    raise StoreError(workspace, found, "write sqlite:////folder/catalog.sqlite, or leave it out")


def _prepare_sqlite(connection: DBAPIConnection, _record: object) -> None:
    """Leave transactions to us: the driver's own would start them too late."""
    if isinstance(connection, sqlite3.Connection):
        connection.isolation_level = None


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at the start, so that what was read still holds when writing."""
    options = connection.get_execution_options()
    if options.get("isolation_level") == "AUTOCOMMIT":
        return
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("exclusive") else "BEGIN")


def _size_in_header(header: bytes) -> int:
    """Return the size that a database's header promises [bytes], or 0 if it does not say.

    SQLite file format, 1.3: the page size stands at offset 16 (1 means 65,536), the number of pages at 28;
    that number holds only if the change counter at 24 equals the one at 92.
    """
    if len(header) < 100 or header[24:28] != header[92:96]:
        return 0
    page_size = int.from_bytes(header[16:18], "big")
    return (65_536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
