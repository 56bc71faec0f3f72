"""Temporary folders of imports: hold result tables of an archive until all its trials are in the catalog.

    .import.NUMBER.partial/            leased while the import runs
        journal.json                   URLs and ids of the trials, written before any record moves
        ID/TABLE.parquet               a record
        ID.old/                        a folder at the path of the record that is not in the catalog

Records move to their paths within the transaction that adds them to the catalog. If the process ends before
that commits, the next start moves them back by the journal: a trial without a record in the catalog was
not imported.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from fabricbench.store.catalog.database import Database
from fabricbench.store.catalog.rows import TRIAL_ID, is_record_url
from fabricbench.store.errors import write_error
from fabricbench.store.record.lease import Lease
from fabricbench.store.record.replacement import PARTIAL, REPLACED
from fabricbench.store.record.tables import sync

_PREFIX: Final = ".import."
_JOURNAL: Final = "journal.json"


class Staging:
    """The folder of one import, leased until `close`.

    Attributes:
        folder: The folder.
    """

    def __init__(self, database: Database, records: Path) -> None:
        """Create the folder in a transaction, so that no other process removes it before it is leased.

        Raises:
            StoreError: The folder cannot be created, or the catalog cannot be locked.
        """
        self.folder = records / f"{_PREFIX}{uuid4().hex}{PARTIAL}"
        with database.writing():
            try:
                self.folder.mkdir()
                self._lease = Lease(self.folder)
            except OSError as error:
                raise write_error(self.folder, error) from error

    def note(self, urls: Mapping[str, str | None]) -> None:
        """Write the journal: the trials that will move, with the URLs of their records.

        Raises:
            StoreError: It cannot be written.
        """
        journal = self.folder / _JOURNAL
        try:
            journal.write_text(json.dumps(dict(urls)))
            sync(journal)
            sync(self.folder)
        except OSError as error:
            raise write_error(journal, error) from error

    def close(self) -> None:
        """Remove the folder with its remaining content."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lease.release()

    def leave(self) -> None:
        """Keep the folder for the next start, because the catalog, now out of reach, decides the outcome."""
        self._lease.release()


def is_staging(folder: Path) -> bool:
    """Check whether a folder is that of an import."""
    return folder.name.startswith(_PREFIX)


def journal_of(folder: Path) -> dict[str, str | None]:
    """Return the trials that an import may have moved, and the URLs of their records."""
    with suppress(OSError, ValueError, AttributeError):
        entries = json.loads((folder / _JOURNAL).read_text()).items()
        return {
            trial_id: url if is_record_url(url) else None
            for trial_id, url in entries
            if TRIAL_ID.fullmatch(trial_id)
        }
    return {}


def take_back(folder: Path, records: Path, trial_id: str) -> None:
    """Remove a record that an import moved and never added to the catalog; restore the one before it.

    Raises:
        StoreError: A folder cannot be renamed.
    """
    record, replaced = records / trial_id, folder / f"{trial_id}{REPLACED}"
    if (folder / trial_id).exists() and record.exists():
        return  # it has not moved: the record at its path is another one
    shutil.rmtree(record, ignore_errors=True)
    if replaced.is_dir():
        try:
            replaced.rename(record)
        except OSError as error:
            raise write_error(record, error) from error
