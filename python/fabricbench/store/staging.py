"""Folders of imports: the records of an archive until all of them are in the catalog.

    .import.NUMBER.partial/            its lease is held while the import runs
        journal.json                   URLs and identifiers of the trials, written before any record moves
        ID/TABLE.parquet               a record
        ID.old/                        a folder that was in the place of the record, unknown to the catalog

Records move to their places within the transaction that adds them to the catalog. If the process ends before
that commits, the next start takes them back by the journal: a trial of it without a record in the catalog was
not taken.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from fabricbench.store.database import Database
from fabricbench.store.errors import write_error
from fabricbench.store.lease import Lease
from fabricbench.store.rows import TRIAL_ID, is_record_url
from fabricbench.store.swap import PARTIAL, REPLACED
from fabricbench.store.tables import sync

_PREFIX: Final = ".import."
_JOURNAL: Final = "journal.json"


class Staging:
    """The folder of one import, leased until `close`.

    Attributes:
        folder: The folder.
    """

    def __init__(self, database: Database, records: Path) -> None:
        """Make the folder, in a transaction: nobody clears it before its lease is held.

        Raises:
            StoreError: The folder cannot be made, or the catalog not be locked.
        """
        self.folder = records / f"{_PREFIX}{uuid4().hex}{PARTIAL}"
        with database.writing():
            try:
                self.folder.mkdir()
                self._lease = Lease(self.folder)
            except OSError as error:
                raise write_error(self.folder, error) from error

    def note(self, urls: Mapping[str, str | None]) -> None:
        """Write the journal: the trials that are going to move, with the URLs of their records.

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
        """Remove the folder with all that is left in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lease.release()

    def leave(self) -> None:
        """Leave the folder to the next start, since only the catalog, out of reach now, has the outcome."""
        self._lease.release()


def is_staging(folder: Path) -> bool:
    """Check whether a folder is that of an import."""
    return folder.name.startswith(_PREFIX)


def journal_of(folder: Path) -> dict[str, str | None]:
    """Return the trials that an import may have moved, and the URLs of their records."""
    with suppress(OSError, ValueError, AttributeError):
        noted = json.loads((folder / _JOURNAL).read_text()).items()
        return {
            trial_id: url if is_record_url(url) else None
            for trial_id, url in noted
            if TRIAL_ID.fullmatch(trial_id)
        }
    return {}


def take_back(folder: Path, records: Path, trial_id: str) -> None:
    """Remove the record that an import has moved and never added to the catalog; restore the one before it.

    Raises:
        StoreError: A folder cannot be renamed.
    """
    record, replaced = records / trial_id, folder / f"{trial_id}{REPLACED}"
    if (folder / trial_id).exists() and record.exists():
        return  # it has not moved: the one in its place is another
    shutil.rmtree(record, ignore_errors=True)
    if replaced.is_dir():
        try:
            replaced.rename(record)
        except OSError as error:
            raise write_error(record, error) from error
