"""A catalog in PostgreSQL, for teams: connections, a lock that admits one writer, and errors with hints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from fabricbench.store.catalog.database import BUSY_TIMEOUT_S, Database
from fabricbench.store.catalog.sql import Connection
from fabricbench.store.errors import StoreError, UnreachableError
from fabricbench.words import install_hint

if TYPE_CHECKING:
    import psycopg

_WRITERS = 0x6661_6272_6963
"""Advisory lock of the writers of a catalog ("fabric" in ASCII)."""

_LOCK_NOT_AVAILABLE = "55P03"
_DISK_FULL = "53100"
_READ_ONLY_ERRORS = {"42501", "25006"}  # insufficient privilege, read-only transaction
_UNREACHABLE_ERRORS = ("08", "25P03", "28", "3D", "53", "57P")
"""Error codes of a connection that is refused or was lost (PostgreSQL, appendix A).

Connection exception, idle-in-transaction timeout, invalid authorization, invalid catalog name, insufficient
resources, operator intervention.
"""
_PAUSE_MAX_S = BUSY_TIMEOUT_S // 2
"""Timeout of an idle writer [s]; a stopped process would otherwise block all others."""


class PostgresqlDatabase(Database):
    """A catalog in its own PostgreSQL database.

    Attributes:
        place: Its URL without the password.
    """

    place: str
    damaged_hint = "give the workspace a database of its own, or restore this one from a backup"

    def __init__(self, url: str, place: str) -> None:
        """Set the database, without a connection.

        Args:
            url: Its URL, as PostgreSQL defines it (PostgreSQL, 34.1.1.2).
            place: The URL without the password.

        Raises:
            StoreError: The driver is not installed, or the URL cannot be parsed.
        """
        self.place = place
        self._url = url
        try:
            import psycopg
        except ModuleNotFoundError as error:
            hint = install_hint("postgresql", "psycopg[binary]")
            raise StoreError(place, "the driver of PostgreSQL is not installed", hint) from error
        from psycopg.conninfo import conninfo_to_dict

        try:
            conninfo_to_dict(url)
        except psycopg.Error:  # its message may contain the password
            raise StoreError(place, "the catalog's URL cannot be read", "check its form") from None

    @contextmanager
    def _transaction(self, *, exclusive: bool) -> Iterator[Connection]:
        import psycopg

        with closing(psycopg.connect(self._url)) as driver:
            try:
                for text in _begin_statements(exclusive=exclusive):
                    driver.execute(text)
                yield Connection(driver, "postgresql")
            except BaseException:
                with suppress(Exception):  # the first error is the relevant one
                    driver.rollback()
                raise
            driver.commit()

    def _has_tables(self, connection: Connection) -> bool:
        tables = connection.execute("SELECT 1 FROM pg_tables WHERE schemaname = current_schema()")
        return tables.first() is not None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise self._translate(error) from error

    def _check(self, *, has_records: bool) -> None:
        """Do nothing: the server checks its files."""

    def _prepare_new(self) -> None:
        """Do nothing: the database exists before its catalog."""

    def _translate(self, error: psycopg.Error) -> StoreError:
        """Convert a database error to one with a hint."""
        state = error.sqlstate or ""
        reason = " ".join(str(error).split())
        if state == _LOCK_NOT_AVAILABLE:
            message = f"another process has held the catalog for {BUSY_TIMEOUT_S} s"
            return StoreError(self.place, message, "wait for the other run, or use another catalog")
        if state == _DISK_FULL:
            return StoreError(self.place, f"the disk of the database is full: {reason}", "make room there")
        if state in _READ_ONLY_ERRORS:
            return StoreError(
                self.place, f"cannot be written: {reason}", "ask for the right to write and create"
            )
        if state.startswith(_UNREACHABLE_ERRORS) or not state:
            hint = "check the URL, the password (PGPASSWORD, ~/.pgpass) and whether the server runs"
            return UnreachableError(self.place, f"cannot be reached: {reason}", hint)
        return StoreError(
            self.place, f"not the catalog of a fabricbench workspace: {reason}", self.damaged_hint
        )


def _begin_statements(*, exclusive: bool) -> Iterator[str]:
    """Yield the statements that begin a transaction.

    Only one writer is admitted at a time, so that the data it has read are still valid when it writes.
    """
    if exclusive:
        yield f"SET LOCAL lock_timeout = '{BUSY_TIMEOUT_S}s'"
        yield f"SET LOCAL idle_in_transaction_session_timeout = '{_PAUSE_MAX_S}s'"
        yield f"SELECT pg_advisory_xact_lock({_WRITERS})"
    else:
        yield "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
