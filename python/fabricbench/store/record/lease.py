"""Locks on temporary folders: a folder with a lease belongs to a living process.

The lock is flock(2) on the folder itself, in shared mode. The kernel releases it when its process ends for
any reason, so reused process ids and process namespaces cause no confusion. All processes of one machine see
it; for processes of other hosts the catalog decides.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path


class Lease:
    """A shared lock on a folder, valid until `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Lock a folder.

        Raises:
            OSError: There is no such folder. On a file system without locks nothing is locked and no error is
                raised.
        """
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._close = weakref.finalize(self, os.close, descriptor)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)

    def release(self) -> None:
        """Unlock the folder."""
        self._close()


def is_leased(folder: Path) -> bool:
    """Check whether a living process of this machine leases a folder; False if the folder is missing."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
