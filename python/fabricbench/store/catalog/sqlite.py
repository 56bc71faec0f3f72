"""A catalog in an SQLite file, the default: connections, checks for damaged files, and errors with hints.

A file that cannot be written is opened for reading, or through a migrated copy.
"""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NoReturn

from fabricbench.inputs import open_regular
from fabricbench.store.catalog.database import BUSY_TIMEOUT_S, Database
from fabricbench.store.catalog.sql import Connection
from fabricbench.store.errors import DiskFullError, StoreError, has_little_room

_BEGIN = {False: "BEGIN", True: "BEGIN IMMEDIATE"}
_CHECKPOINT_S = 0.5
_SQLITE_MAGIC = b"SQLite format 3\x00"
_CORRUPTION_ERRORS = {"SQLITE_NOTADB", "SQLITE_CORRUPT"}
_READ_ONLY_ERRORS = {"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"}


class SqliteDatabase(Database):
    """A catalog in a file.

    Attributes:
        place: The file.
    """

    place: Path
    damaged_hint = (
        "nothing was changed in it; restore it from a backup, or move the whole workspace aside and run again"
    )

    def __init__(self, path: Path) -> None:
        """Set the file, which need not exist yet."""
        self.place = path

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.place, timeout=BUSY_TIMEOUT_S)

    def _opened(self) -> sqlite3.Connection:
        """Open a connection without automatic transactions: the driver would start them too late."""
        connection = self._connect()
        connection.isolation_level = None
        # Text that is not UTF-8 is decoded to surrogates, instead of failing the whole query.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        return connection

    @contextmanager
    def _transaction(self, *, exclusive: bool) -> Iterator[Connection]:
        with closing(self._opened()) as driver:
            # The write lock is taken at the start, so that the data read are still valid when writing.
            driver.execute(_BEGIN[exclusive])
            try:
                yield Connection(driver, "sqlite")
            except BaseException:
                with suppress(sqlite3.Error):  # the first error is the relevant one
                    driver.rollback()
                raise
            driver.commit()

    def _has_tables(self, connection: Connection) -> bool:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        )
        return tables.first() is not None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._translate(error) from error

    def _translate(self, error: sqlite3.Error) -> StoreError:
        """Convert a database error to one with a hint."""
        code: str = getattr(error, "sqlite_errorname", "")
        is_failure = code.startswith("SQLITE_IOERR")
        # SQLite shares an index of its log through a mapped file; if the disk is too full for it, it reports
        # I/O.
        if code.startswith("SQLITE_FULL") or (is_failure and has_little_room(self.place)):
            return DiskFullError(self.place, "the disk is full")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            message = f"another process has held the catalog for {BUSY_TIMEOUT_S} s"
            return StoreError(self.place, message, "wait for the other run, or use another --workspace")
        if any(code.startswith(prefix) for prefix in _READ_ONLY_ERRORS):
            return StoreError(self.place, f"cannot be opened for writing: {error}", "check its permissions")
        if any(code.startswith(prefix) for prefix in _CORRUPTION_ERRORS):
            return StoreError(self.place, f"the catalog is corrupted: {error}", self.damaged_hint)
        if is_failure:
            return StoreError(self.place, f"the disk failed: {error}", "check the disk and its free space")
        message = f"not the catalog of a fabricbench workspace, or a damaged one: {error}"
        return StoreError(self.place, message, self.damaged_hint)

    def _check(self, *, has_records: bool) -> None:
        """Detect files that SQLite would take for new, or recognise as damaged only much later."""
        deadline = time.monotonic() + _CHECKPOINT_S
        while True:
            header, size_bytes = self._header()
            if has_records and not size_bytes:
                raise self._missing()  # before SQLite creates a new file
            if header and header[:16] != _SQLITE_MAGIC:
                raise StoreError(
                    self.place, "the catalog is corrupted: it is no SQLite database", self.damaged_hint
                )
            expected_bytes = _size_in_header(header)
            if expected_bytes <= size_bytes or self._has_log():
                return
            # Another process may be moving its log into the file, header first.
            if time.monotonic() > deadline:
                message = f"the catalog is cut off: {size_bytes:,} of {expected_bytes:,} bytes are there"
                raise StoreError(self.place, message, self.damaged_hint)
            time.sleep(0.02)

    def _header(self) -> tuple[bytes, int]:
        """Return the first bytes of the file and its size; empty and 0 if there is no file."""
        try:
            with open_regular(self.place) as file:
                return file.read(100), file.seek(0, 2)
        except FileNotFoundError:
            return b"", 0
        except OSError as error:
            message = f"cannot be read: {error.strerror}"
            raise StoreError(self.place, message, "a workspace keeps its catalog in this file") from error

    def _has_log(self) -> bool:
        """Return whether a write-ahead log may contain the missing part of the file; SQLite handles that."""
        log = self.place.with_name(self.place.name + "-wal")
        return log.is_file() and log.stat().st_size > 0

    def _prepare_new(self) -> None:
        """Switch the file to a write-ahead log, which allows reads during a write."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        with self._errors():
            while True:
                try:
                    self._switch_to_wal()
                except sqlite3.Error as error:
                    # Unlike a transaction, the switch does not wait for others.
                    is_busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
                    if not is_busy or time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
                else:
                    return

    def _switch_to_wal(self) -> None:
        with closing(self._opened()) as driver:
            if driver.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                driver.execute("PRAGMA journal_mode = WAL")


class ReadOnlySqliteDatabase(SqliteDatabase):
    """A catalog in a folder without write permission, such as a shared one.

    A catalog of an earlier version is migrated in a temporary copy when it is opened.
    """

    def __init__(self, path: Path) -> None:
        """Set the file."""
        super().__init__(path)
        self._copy: Path | None = None

    def _migrate(self, revision: str | None) -> None:
        folder = mkdtemp(prefix="fabricbench-")
        weakref.finalize(self, rmtree, folder, ignore_errors=True)
        copy = Path(folder) / self.place.name
        with self._errors(), closing(self._connect()) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        SqliteDatabase(copy)._migrate(revision)
        self._copy = copy

    def _connect(self) -> sqlite3.Connection:
        if self._copy is not None:
            return sqlite3.connect(self._copy, timeout=BUSY_TIMEOUT_S)
        # Without a log file, no process has the file open for writing, and SQLite does not need the index of
        # a log, which it could not create here.
        parameters = "mode=ro" if self._has_log() else "mode=ro&immutable=1"
        return sqlite3.connect(
            f"{self.place.absolute().as_uri()}?{parameters}", timeout=BUSY_TIMEOUT_S, uri=True
        )

    def writing(self) -> NoReturn:
        """Refuse to write.

        Raises:
            StoreError: Always.
        """
        raise StoreError(self.place.parent, "no permission to write", "name another folder with --workspace")


def _size_in_header(header: bytes) -> int:
    """Return the size of a database according to its header [bytes], or 0 if unknown.

    SQLite file format, 1.3: the page size is at offset 16 (1 means 65,536), the number of pages at 28;
    that number is valid only if the change counter at 24 equals the one at 92.
    """
    if len(header) < 100 or header[24:28] != header[92:96]:
        return 0
    page_size = int.from_bytes(header[16:18], "big")
    return (65_536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
