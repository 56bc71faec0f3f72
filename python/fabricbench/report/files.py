"""Writing a result file so that it is either the old one or the whole new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


class OutputFileError(Exception):
    """The file asked for cannot be written.

    Attributes:
        path: The file.
        reason: Why not, in words.
        hint: What to do about it.
    """

    def __init__(self, path: Path, reason: str, hint: str) -> None:
        super().__init__(f"cannot write {path}: {reason}")
        self.path = path
        self.reason = reason
        self.hint = hint
        self.add_note(f"hint: {hint}")  # a traceback shows it


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that replaces it when the block ends without an exception.

    Args:
        path: The file to write; an existing file is replaced, a directory never is.

    Yields:
        The temporary file, open for bytes.

    Raises:
        OutputFileError: `path` is a directory, its folder is missing or may not be written, or the disk is
            full.
    """
    check_writable_target(path)
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            try:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                temporary.chmod(_mode_for_new_files())
                temporary.replace(path)
            except BaseException:
                with suppress(OSError):
                    temporary.unlink()
                raise
    except OSError as error:
        raise OutputFileError(path, error.strerror or str(error), "choose another file with -o") from error


def check_writable_target(path: Path) -> None:
    """Check early, before a long computation, that `path` may become a file.

    Raises:
        OutputFileError: It is a directory, its folder does not exist or may not be written.
    """
    if path.is_dir():
        raise OutputFileError(path, "it is a directory", f"name a file in it: -o {path / 'FILE'}")
    if not path.parent.is_dir():
        raise OutputFileError(path, f"there is no folder {path.parent}", f"create it: mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputFileError(path, f"no permission to write in {path.parent}", "choose another file with -o")


def check_page_name(path: Path) -> None:
    """Check that a report, which is a page of HTML, is not called something else.

    Raises:
        OutputFileError: Its name ends with that of another format.
    """
    if path.suffix and path.suffix.lower() not in {".html", ".htm"}:
        raise OutputFileError(path, "a report is a page of HTML", f"name it {path.stem}.html")


def _mode_for_new_files() -> int:
    """Give the mode that `open` would have given: temporary files start as readable by their owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
