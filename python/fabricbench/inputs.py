"""Reads files and pipes that a user names; waits only for a limited time for the writer of a pipe.

A regular file is read, and so is a pipe, such as bash's `<(command)`. A named pipe must have a writer within
two seconds, and the writer may be silent for half a minute. Directories, sockets and devices other than
/dev/null are refused. Errors are OSError with the reason in words, for the message of the caller.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import time
from pathlib import Path
from typing import Final

BYTES_MAX: Final = 64 << 20
"""Most bytes of a file that is read whole, unless the caller has a limit of its own."""
WRITER_S: Final = 2.0
"""Longest time of a named pipe without a writer [s]."""
SILENCE_S: Final = 30.0
"""Longest silence of the writer of a named pipe [s]; that of a command has no limit."""
_PART_BYTES: Final = 1 << 20
_NULL: Final = (1, 3)
"""Major and minor number of /dev/null (Linux, devices.txt)."""
_DESCRIPTORS: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_KINDS: Final = (
    (stat.S_ISDIR, errno.EISDIR, ""),
    (stat.S_ISSOCK, errno.ENXIO, "a socket"),
    (stat.S_ISBLK, errno.EINVAL, "a block device"),
    (stat.S_ISCHR, errno.EINVAL, "a device or terminal"),
)


def read_input(path: Path, bytes_max: int | None = None) -> bytes:
    """Return the content of a file or pipe, at most one byte more than `bytes_max` of it.

    Args:
        path: The file.
        bytes_max: By default `BYTES_MAX`, and more is an error.

    Raises:
        OSError: It cannot be read, is no file or pipe, nobody writes to it, or it is larger than `BYTES_MAX`.
    """
    descriptor = _opened(path)
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        limit = (BYTES_MAX if bytes_max is None else bytes_max) + 1
        content = _pipe_content(descriptor, path, limit) if is_pipe else _content(descriptor, limit)
    finally:
        os.close(descriptor)
    if bytes_max is None and len(content) > BYTES_MAX:
        raise OSError(errno.EFBIG, f"larger than {BYTES_MAX:,} bytes", str(path))
    return content


def read_input_text(path: Path) -> str:
    """Return the text of a file or pipe in UTF-8, with universal newlines; see `read_input`.

    Raises:
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    return io.TextIOWrapper(io.BytesIO(read_input(path)), encoding="utf-8").read()


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading at any offset.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    descriptor = _opened(path)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "a pipe or device, not a regular file", str(path))
    return io.BufferedReader(io.FileIO(descriptor, "rb"))


def _opened(path: Path) -> int:
    """Open a file without waiting for the other end of a pipe."""
    _check_kind(path.stat(), path)  # before it is opened: that of a device can have effects
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _check_kind(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check_kind(status: os.stat_result, path: Path) -> None:
    is_null = (os.major(status.st_rdev), os.minor(status.st_rdev)) == _NULL
    for is_kind, number, name in _KINDS:
        if is_kind(status.st_mode) and not (is_null and is_kind is stat.S_ISCHR):
            reason = f"{name}, not a regular file" if name else os.strerror(number)
            raise OSError(number, reason, str(path))


def _content(descriptor: int, limit: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(limit)


def _pipe_content(descriptor: int, path: Path, limit: int) -> bytes:
    """Read a pipe to its end, with time limits unless a command writes to it."""
    os.set_blocking(descriptor, False)
    is_command = str(path).startswith(_DESCRIPTORS)
    parts: list[bytes] = []
    remaining, last_event, has_writer = limit, time.monotonic(), is_command
    while remaining:
        try:
            part = os.read(descriptor, min(remaining, _PART_BYTES))
        except BlockingIOError:
            has_writer, patience_s = True, SILENCE_S
            part = None
        else:
            patience_s = WRITER_S
        if part:
            parts.append(part)
            remaining -= len(part)
            last_event, has_writer = time.monotonic(), True
            continue
        if part is not None and has_writer:
            break  # the end: its writer has closed it
        if not is_command and time.monotonic() - last_event > patience_s:
            reason = "a pipe whose writer sends nothing" if has_writer else "a pipe that nobody writes to"
            raise OSError(errno.EAGAIN, reason, str(path))
        select.select([descriptor] if part is None else [], [], [], 0.05 if part is not None else 1.0)
    return b"".join(parts)
