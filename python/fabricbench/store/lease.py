"""Locks on folders in work: a folder whose lease is held belongs to a living process.

The lock is flock(2) on the folder itself, in shared mode. The kernel drops it when its process ends, however
that happens, so that neither a process number that is used again nor another namespace of processes misleads.
It is seen by all processes of one machine; processes of other hosts are judged by the catalog.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path


class Lease:
    """A shared lock on a folder, held until `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Lock a folder.

        Raises:
            OSError: There is no such folder. A file system without locks is no error: nothing is locked then.
        """
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._close = weakref.finalize(self, os.close, descriptor)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)

    def release(self) -> None:
        """Unlock the folder."""
        self._close()


def is_leased(folder: Path) -> bool:
    """Check whether a living process of this machine holds a lease of a folder; one that is gone has none."""
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
