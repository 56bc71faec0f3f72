"""Reader for the files of an untrusted tar archive, in sequence.

Only plain headers are accepted, as `fabricbench workspace export` writes them. Sparse files, links and
extended headers are rejected without being parsed: with those, a few bytes can declare any size.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_BLOCK_BYTES: Final = 512
_COPY_BYTES: Final = 1 << 20
_PLAIN: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)


class MemberError(Exception):
    """An archive that is damaged or not as export writes it; the message has the offset."""


@dataclass(frozen=True)
class Member:
    """A file of an archive.

    Attributes:
        name: Its name in the archive.
        size_bytes: Its size, checked against the size of the archive.
    """

    name: str
    size_bytes: int


class Members:
    """Reads an archive from start to end."""

    def __init__(self, stream: IO[bytes], size_bytes: int) -> None:
        """Take an open file and its size."""
        self._stream = stream
        self._size_bytes = size_bytes
        self._next = 0

    def next(self) -> Member | None:
        """Advance to the next file; return None at the end.

        Raises:
            MemberError: The next file is damaged, not a plain file, or extends beyond the end of the archive.
            OSError: The archive cannot be read.
        """
        begin = self._next
        self._stream.seek(begin)
        try:
            block = self._stream.read(_BLOCK_BYTES)
            if not block.strip(b"\0"):
                return None
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError, OverflowError) as error:
            raise MemberError(f"the header at byte {begin:,} is damaged: {error}") from error
        name_text = ascii(header.name[:80])
        if header.type not in _PLAIN:
            raise MemberError(f"{name_text} at byte {begin:,} is no plain file")
        room = self._size_bytes - begin - _BLOCK_BYTES
        if not 0 <= header.size <= room:
            raise MemberError(f"{name_text} declares {header.size:,} bytes, of which {room:,} can be there")
        content_end = begin + _BLOCK_BYTES + header.size
        self._next = begin + _BLOCK_BYTES + -(-header.size // _BLOCK_BYTES) * _BLOCK_BYTES
        self._check_padding(content_end)
        self._stream.seek(begin + _BLOCK_BYTES)
        return Member(header.name, header.size)

    def _check_padding(self, content_end: int) -> None:
        """Check that a file is padded with zeros to the next block."""
        self._stream.seek(content_end)
        if self._stream.read(self._next - content_end).strip(b"\0"):
            raise MemberError(f"the bytes after byte {content_end:,} belong to no file")

    def is_at_end(self) -> bool:
        """Check that only zeros follow the last file.

        Raises:
            OSError: The archive cannot be read.
        """
        self._stream.seek(self._next)
        while part := self._stream.read(_COPY_BYTES):
            if part.strip(b"\0"):
                return False
        return True

    def content(self, member: Member) -> bytes:
        """Return the content of the file that `next` returned last.

        Raises:
            OSError: The archive cannot be read.
        """
        return self._stream.read(member.size_bytes)

    def copy(self, member: Member, target: Path) -> str:
        """Copy the file that `next` returned last to disk, and return its SHA-256.

        Raises:
            OSError: The archive cannot be read, or the copy cannot be written.
        """
        digest, remaining_bytes = hashlib.sha256(), member.size_bytes
        with target.open("wb") as file:
            while remaining_bytes and (part := self._stream.read(min(remaining_bytes, _COPY_BYTES))):
                digest.update(part)
                file.write(part)
                remaining_bytes -= len(part)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()
