"""Identity of the process of a trial, to check from another process whether it is still running."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from fabricbench.store.catalog.sql import Row

_PROC = Path("/proc")
_PID_MAX = 2**22
"""Largest process id on Linux (proc(5), pid_max)."""


@dataclass(frozen=True)
class ProcessIdentity:
    """A process on a host.

    Attributes:
        host: Name of the host.
        pid: Its process id there, which may be reused after it ends.
        start: Its start time as boot id and clock ticks since boot. Empty if unknown.
    """

    host: str
    pid: int
    start: str

    @classmethod
    def current(cls) -> ProcessIdentity:
        """Return the identity of this process."""
        return cls(platform.node(), os.getpid(), _start_of(os.getpid()) or "")

    @classmethod
    def of_row(cls, row: Row) -> ProcessIdentity:
        """Return the process of a catalog row; an invalid process id becomes 0, which is no process."""
        return cls(row.host, row.pid if isinstance(row.pid, int) else 0, row.process_start)

    def may_be_alive(self) -> bool:
        """Return whether the process may still be running: on another host this is always assumed."""
        if self.host != platform.node():
            return True
        if not 0 < self.pid <= _PID_MAX:
            return False  # not a process id: 0 and below mean process groups
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it exists and belongs to another user
        start = _start_of(self.pid)
        return start is None or not self.start or start == self.start


def _start_of(pid: int) -> str | None:
    """Return when a process started, or None if the kernel does not report it; a zombie has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # proc(5): the name in parentheses may contain spaces; the fields after it start with the state (3),
    # and starttime is field 22.
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else f"{boot}:{fields[19]}"
