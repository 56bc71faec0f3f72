"""Errors of a workspace, with hints for the user; detection of a full disk."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from fabricbench.errors import UserError

_LITTLE_ROOM_BYTES = 64 * 1024
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class StoreError(UserError):
    """A workspace that cannot be used as requested.

    Attributes:
        path: The file or folder concerned, or the URL of a database.
        found: Description of the problem.
        hint: Suggested remedy.
    """

    def __init__(self, path: Path | str, found: str, hint: str) -> None:
        super().__init__(f"{path}: {found}")
        self.path = path
        self.found = found
        self.hint = hint
        self.add_note(f"hint: {hint}")  # a traceback shows it


class UnreachableError(StoreError):
    """A database or record store at a URL that does not respond, possibly for a limited time."""


class DiskFullError(StoreError):
    """The disk is full for the tables or the catalog."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            path,
            f"cannot write: {reason}; {_free_bytes(path):,} bytes are free there",
            "free some space or choose another folder with --workspace; finished trials are intact, "
            "and --resume runs only the rest",
        )


class UnknownTrialError(StoreError):
    """No trial, or more than one, matches a name."""


def is_disk_full(error: OSError) -> bool:
    """Return whether an error means that the file system, a quota or a file size limit is exhausted."""
    return error.errno in _DISK_FULL


def write_error(path: Path, error: OSError) -> StoreError:
    """Convert an operating system error while writing `path` to one with a hint."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    if is_disk_full(error):
        return DiskFullError(path, reason)
    return StoreError(path, f"cannot write: {reason}", "choose another folder with --workspace")


def has_little_room(path: Path) -> bool:
    """Return whether the file system of `path` is almost full."""
    return _free_bytes(path) < _LITTLE_ROOM_BYTES


def _free_bytes(path: Path) -> int:
    """Return the free bytes of the file system of `path` or its nearest existing parent."""
    existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    return shutil.disk_usage(existing).free
