"""Selects the database of a workspace's catalog by its URL: an SQLite file or PostgreSQL."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from fabricbench.store.catalog.database import Database
from fabricbench.store.catalog.postgresql import PostgresqlDatabase
from fabricbench.store.catalog.sqlite import ReadOnlySqliteDatabase, SqliteDatabase
from fabricbench.store.errors import StoreError
from fabricbench.store.names import CATALOG_FILE

_FORMS = (
    "write sqlite:////folder/catalog.sqlite or postgresql://user@host/database, or leave it out for a "
    "file in the workspace"
)


def catalog_database(workspace: Path, url: str | None = None, *, read_only: bool = False) -> Database:
    """Return the database of a workspace's catalog, unopened.

    Args:
        workspace: Folder of the workspace.
        url: URL of the database; by default a file in the workspace.
        read_only: Whether to open the file in the workspace for reading only.

    Raises:
        StoreError: The URL is neither of an SQLite file nor of PostgreSQL; a password in it is not repeated.
    """
    if not url:
        path = workspace / CATALOG_FILE
        return ReadOnlySqliteDatabase(path) if read_only else SqliteDatabase(path)
    url = url.strip()
    try:
        parts = urlsplit(url, allow_fragments=False)
        password = parts.password
    except ValueError:  # its message may contain the password
        raise StoreError(workspace, "the catalog's URL cannot be read", _FORMS) from None
    if not parts.scheme:
        raise StoreError(workspace, "the catalog's URL cannot be read", _FORMS)
    kind, database = parts.scheme.partition("+")[0], parts.path[1:]
    if kind == "sqlite" and database:
        return SqliteDatabase(Path(database))
    plain_url = f"{kind}{url[len(parts.scheme) :]}"  # without the name of a driver
    url_without_password = re.sub("(?<=[?&]password=)[^&]*", "***", plain_url)
    if password is not None:
        url_without_password = url_without_password.replace(f":{password}@", ":***@", 1)
    if kind == "postgresql" and database:
        return PostgresqlDatabase(plain_url, url_without_password)
    raise StoreError(
        workspace, f"the catalog's URL {url_without_password} names no database that is supported", _FORMS
    )
