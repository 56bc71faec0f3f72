"""Cleans up a workspace after a process was killed: its attempts at trials, and temporary folders."""

from __future__ import annotations

import shutil
from pathlib import Path

from fabricbench.store.catalog.database import Database
from fabricbench.store.catalog.rows import TRIAL_ID, is_record_url
from fabricbench.store.catalog.schema import INTERRUPTED
from fabricbench.store.catalog.sql import Connection, Row, Sql
from fabricbench.store.catalog.trials import Catalog
from fabricbench.store.errors import write_error
from fabricbench.store.record.lease import is_leased
from fabricbench.store.record.replacement import PARTIAL, REPLACED
from fabricbench.store.record.staging import is_staging, journal_of, take_back


def recover(database: Database, catalog: Catalog, records: Path) -> list[str]:
    """Mark the attempts whose process has ended, and remove or restore their folders.

    Attempts of processes that may still be running, here or on another host, are not changed, nor are folders
    with a lease.

    Returns:
        The URLs at which the marked attempts may have written records.

    Raises:
        StoreError: The catalog or the folder cannot be read or written.
    """
    with database.reading() as connection:
        if not catalog.abandoned(connection) and not _strays(connection, catalog, records):
            return []
    uploaded = []
    # Everything is queried again, now that no other process can be doing the same.
    with database.writing() as connection:
        for attempt in catalog.abandoned(connection):
            uploaded += [attempt.tables] if is_record_url(attempt.tables) else []
            message = f"process {attempt.pid} on {attempt.host} ended before the trial did"
            catalog.give_up(connection, attempt.attempt, INTERRUPTED, message)
            if isinstance(attempt.id, str) and TRIAL_ID.fullmatch(attempt.id):
                _take_back(connection, catalog, records, attempt)
        for stray in _strays(connection, catalog, records):
            if is_staging(stray):
                uploaded += _undo_import(connection, catalog, stray)
            else:
                _clear(stray)
    return uploaded


def _undo_import(connection: Connection, catalog: Catalog, staging: Path) -> list[str]:
    """Undo an import that was never committed; return the URLs at which it may have written records."""
    uploaded = []
    for trial_id, url in journal_of(staging).items():
        if url is not None and not catalog.remote_records(connection, Sql("tables = ?", url)):
            uploaded.append(url)
        if not catalog.has_record(connection, trial_id):
            take_back(staging, staging.parent, trial_id)
    shutil.rmtree(staging, ignore_errors=True)
    return uploaded


def _take_back(connection: Connection, catalog: Catalog, records: Path, attempt: Row) -> None:
    """Undo the renames of an attempt that was never committed."""
    replaced = records / Path(str(attempt.folder)).with_suffix(REPLACED).name
    is_its_own = replaced.name.startswith(f".{attempt.id}.")
    if not (is_its_own and replaced.is_dir()) and catalog.has_record(connection, attempt.id):
        return
    shutil.rmtree(records / attempt.id, ignore_errors=True)
    if is_its_own and replaced.is_dir():
        _clear(replaced)


def _strays(connection: Connection, catalog: Catalog, records: Path) -> list[Path]:
    """Return the temporary folders without an owner or a lease, replaced records first."""
    folders = [path for path in records.glob(".*") if path.suffix in (PARTIAL, REPLACED)]
    folders = [path for path in folders if not is_leased(path)]
    if not folders:
        return []
    owned = catalog.running_folders(connection)
    strays = (path for path in folders if path.with_suffix(PARTIAL).name not in owned)
    return sorted(strays, key=lambda path: path.suffix)


def _clear(stray: Path) -> None:
    """Remove a temporary folder, or restore a replaced record if nothing has replaced it."""
    record = stray.parent / stray.name.split(".")[1]
    if stray.suffix == REPLACED and not record.exists():
        try:
            stray.rename(record)
        except OSError as error:
            raise write_error(record, error) from error
    else:
        shutil.rmtree(stray, ignore_errors=True)
