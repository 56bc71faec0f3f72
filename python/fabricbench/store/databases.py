"""Selects the database of a workspace's catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fabricbench.store.database import Database
from fabricbench.store.errors import StoreError
from fabricbench.store.names import CATALOG_FILE

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_FORMS = (
    "write sqlite:////folder/catalog.sqlite or postgresql://user@host/database, or leave it out for a "
    "file in the workspace"
)


def catalog_database(workspace: Path, url: str | None = None, *, read_only: bool = False) -> Database:
    """Return the database of a workspace's catalog, unopened.

    Args:
        workspace: Folder of the workspace.
        url: URL of the database in SQLAlchemy's format; by default a file in the workspace.
        read_only: Whether to open the file in the workspace for reading only.

    Raises:
        StoreError: The URL is neither of an SQLite file nor of PostgreSQL; a password in it is not repeated.
    """
    if not url:
        return _sqlite(workspace / CATALOG_FILE, read_only=read_only)
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError(workspace, "the catalog's URL cannot be read", _FORMS) from error
    kind = parsed.get_backend_name()
    if kind == "sqlite" and parsed.database:
        return _sqlite(Path(parsed.database))
    if kind == "postgresql" and parsed.database:
        return _postgresql(parsed)
    shown = parsed.render_as_string(hide_password=True)
    raise StoreError(workspace, f"the catalog's URL {shown} names no database that is supported", _FORMS)


def _sqlite(path: Path, *, read_only: bool = False) -> Database:
    from fabricbench.store.sqlite import ReadOnlySqliteDatabase, SqliteDatabase

    return ReadOnlySqliteDatabase(path) if read_only else SqliteDatabase(path)


def _postgresql(url: URL) -> Database:
    from fabricbench.store.postgresql import PostgresqlDatabase

    return PostgresqlDatabase(url)
