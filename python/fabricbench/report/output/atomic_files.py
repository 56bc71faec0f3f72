"""Writes result files atomically: a file is either the old one or the complete new one.

Devices, pipes and open descriptors cannot be replaced and are written directly. Also checks before a long
computation that a file can be written.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from fabricbench.errors import UserError

_DESCRIPTORS: Final = "/proc/self/fd"
_LINKS_MAX: Final = 40
"""Maximum symbolic links in a chain, as in Linux."""


class OutputFileError(UserError):
    """The output file cannot be written.

    Attributes:
        path: The file.
        reason: Why not.
        hint: How to fix it.
    """

    def __init__(self, path: Path, reason: str, hint: str) -> None:
        super().__init__(f"cannot write {path}: {reason}")
        self.path = path
        self.reason = reason
        self.hint = hint
        self.add_note(f"hint: {hint}")  # shown in tracebacks


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a replacement of `path`, which takes effect when the block ends without an exception.

    Only a regular file is replaced, by a temporary one in the same folder. Anything else, such as a device, a
    pipe or an open descriptor such as /dev/stdout, is written directly. Symbolic links are followed and
    preserved.

    Args:
        path: The file to write; not a directory.

    Yields:
        The temporary file, or the directly written one, open for bytes.

    Raises:
        OutputFileError: `path` is a directory, its folder is missing or not writable, or the disk is full.
    """
    check_writable_target(path)
    try:
        direct_file = _direct_file(path)
        with _replacement(_end_of_links(path)) if direct_file is None else direct_file as stream:
            yield stream
    except OSError as error:
        raise OutputFileError(path, error.strerror or str(error), "choose another file") from error


def _direct_file(path: Path) -> IO[bytes] | None:
    """Open a path that is not a regular file, or return `None` if it is one or does not exist."""
    end = _end_of_links(path)
    number = _open_descriptor(end)
    if number is not None:
        # A copy of the descriptor continues at its file position; opening its name would truncate.
        return os.fdopen(os.dup(number), "wb")
    if not path.exists() or end.is_file():
        return None
    return os.fdopen(os.open(path, os.O_WRONLY), "wb")


def _end_of_links(path: Path) -> Path:
    """Follow symbolic links, up to the name of an open descriptor, whose link is made up by the kernel."""
    end = Path(os.path.realpath(path.parent), path.name)
    for _ in range(_LINKS_MAX):
        if _open_descriptor(end) is not None or not end.is_symlink():
            return end
        end = end.parent / end.readlink()
        end = Path(os.path.realpath(end.parent), end.name)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _open_descriptor(path: Path) -> int | None:
    """Return this process's descriptor for a path such as /proc/self/fd/1, or `None` for other paths."""
    is_number = path.name.isascii() and path.name.isdigit()
    return int(path.name) if is_number and str(path.parent) == os.path.realpath(_DESCRIPTORS) else None


@contextmanager
def _replacement(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces a regular one when the block ends without an exception."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as stream:
        temporary = Path(stream.name)
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            temporary.chmod(_mode_for_new_files())
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def check_writable_target(path: Path) -> None:
    """Check before a long computation that `path` is writable.

    Raises:
        OutputFileError: It is a directory or a cycle of links, its folder does not exist or is not writable,
            or it is a device or the like that is not writable.
    """
    try:
        end = _end_of_links(path)
    except OSError as error:
        raise OutputFileError(path, error.strerror or str(error), "choose another file") from error
    if path.is_dir():
        raise OutputFileError(path, "it is a directory", f"name a file in it: -o {path / 'FILE'}")
    folder = end.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise OutputFileError(path, f"there is no folder {folder}", f"create it: mkdir -p {folder}")
    if _open_descriptor(end) is not None:
        return
    is_special = path.exists() and not path.is_file()
    if not os.access(path if is_special else folder, os.W_OK):
        where = "to it" if is_special else f"in {folder}"
        raise OutputFileError(path, f"no permission to write {where}", "choose another file")


def check_page_name(path: Path) -> None:
    """Check that the name of a report does not have the suffix of a format other than HTML.

    Raises:
        OutputFileError: It has.
    """
    if path.suffix and path.suffix.lower() not in {".html", ".htm"}:
        raise OutputFileError(path, "a report is a page of HTML", f"name it {path.stem}.html")


def _mode_for_new_files() -> int:
    """Return the mode that `open` would give; temporary files start readable by their owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
