"""A catalog in PostgreSQL, for a team: the tables of records stay in the folder of the workspace."""

from __future__ import annotations

from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from fabricbench.store.database import BUSY_TIMEOUT_S, Database
from fabricbench.store.errors import StoreError

_DRIVER = "postgresql+psycopg"
_WRITERS = 0x6661_6272_6963
"""The advisory lock that writers of a catalog hold ("fabric" in ASCII)."""

_LOCK_NOT_AVAILABLE = "55P03"
_DISK_FULL = "53100"
_NO_WRITING = {"42501", "25006"}  # insufficient privilege, read-only transaction
_OUT_OF_REACH = ("08", "25P03", "28", "3D", "53", "57P")
"""What a connection that is refused, or was cut, ends with (PostgreSQL, appendix A).

Connection exception, idle-in-transaction timeout, invalid authorization, invalid catalog name, insufficient
resources, operator intervention.
"""
_PAUSE_MAX_S = BUSY_TIMEOUT_S // 2
"""How long a writer may do nothing; a process that is stopped would keep every other one waiting."""


class PostgresqlDatabase(Database):
    """A catalog in a PostgreSQL database of its own.

    Attributes:
        place: Its URL without the password.
    """

    place: str
    damaged_hint = "give the workspace a database of its own, or restore this one from a backup"

    def __init__(self, url: URL) -> None:
        """Name the database; nothing is asked of it yet.

        Raises:
            StoreError: The driver is not installed.
        """
        self.place = url.set(drivername="postgresql").render_as_string(hide_password=True)
        try:
            # One transaction at a time: a connection for each, none kept open across a long run.
            engine = create_engine(url.set(drivername=_DRIVER), poolclass=NullPool)
        except ModuleNotFoundError as error:
            hint = "pip install 'fabricbench[postgresql]'"
            raise StoreError(self.place, "the driver of PostgreSQL is not installed", hint) from error
        event.listen(engine, "begin", _begin)
        super().__init__(engine)

    def _check(self, *, has_records: bool) -> None:
        """Do nothing: the server looks after its files."""

    def _prepare_new(self) -> None:
        """Do nothing: a database is there before a catalog."""

    def _translate(self, error: DBAPIError) -> StoreError:
        original: Any = error.orig
        state: str = getattr(original, "sqlstate", None) or ""
        reason = " ".join(str(original).split())
        if state == _LOCK_NOT_AVAILABLE:
            found = f"another process has held the catalog for {BUSY_TIMEOUT_S} s"
            return StoreError(self.place, found, "wait for the other run, or use another catalog")
        if state == _DISK_FULL:
            return StoreError(self.place, f"the disk of the database is full: {reason}", "make room there")
        if state in _NO_WRITING:
            return StoreError(
                self.place, f"cannot be written: {reason}", "ask for the right to write and create"
            )
        if state.startswith(_OUT_OF_REACH) or not state:
            hint = "check the URL, the password (PGPASSWORD, ~/.pgpass) and whether the server runs"
            return StoreError(self.place, f"cannot be reached: {reason}", hint)
        return StoreError(
            self.place, f"not the catalog of a fabricbench workspace: {reason}", self.damaged_hint
        )


def _begin(connection: Connection) -> None:
    """Let one writer in at a time, so that what was read still holds when writing."""
    if connection.get_execution_options().get("exclusive"):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_TIMEOUT_S}s'")
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{_PAUSE_MAX_S}s'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
