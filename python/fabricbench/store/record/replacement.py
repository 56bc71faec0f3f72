"""Replaces the record folder of a trial by a new one with the same id, and can undo it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from fabricbench.store.errors import write_error
from fabricbench.store.record.lease import Lease
from fabricbench.store.record.tables import sync

PARTIAL = ".partial"
"""Suffix of the folder of a record that is being written."""
REPLACED = ".old"
"""Suffix of the folder of a record that is being replaced."""


class RecordSwap:
    """Moves the folder of a finished record to the path of its id; the old one remains until `discard`."""

    def __init__(self, partial: Path, record: Path) -> None:
        """Prepare the swap; nothing moves yet.

        Args:
            partial: The new record; its name ends in `PARTIAL`.
            record: Its path, where an older record may be.
        """
        self._partial = partial
        self._record = record
        self._replaced = partial.with_suffix(REPLACED)
        self._inode = partial.stat().st_ino
        self._lease = Lease(partial)

    def apply(self) -> None:
        """Swap the folders. The caller's transaction excludes other writers.

        Raises:
            StoreError: A folder cannot be renamed.
        """
        try:
            if self._record.exists():
                self._record.rename(self._replaced)
            self._put_in_place()
        except OSError as error:
            raise write_error(self._record, error) from error

    def _put_in_place(self) -> None:
        self._partial.rename(self._record)
        sync(self._record.parent)

    def undo(self) -> None:
        """Move everything back after the transaction has failed.

        A record that another process has put there since then is not changed.
        """
        with suppress(OSError):
            if self._record.exists() and self._record.stat().st_ino == self._inode:
                self._record.rename(self._partial)
            if self._replaced.exists() and not self._record.exists():
                self._replaced.rename(self._record)

    def discard(self) -> None:
        """Remove the old record after the transaction."""
        self._lease.release()
        shutil.rmtree(self._replaced, ignore_errors=True)
