"""Who runs a trial: enough to tell, later and from another process, whether it still does."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.store.sql.connection import Row

_PROC = Path("/proc")
_PID_MAX = 2**22
"""The largest number of a process that Linux gives (proc(5), pid_max)."""


@dataclass(frozen=True)
class ProcessIdentity:
    """A process of some host.

    Attributes:
        host: Name of the host.
        pid: Its process number there, which is used again after it ends.
        start: When it started, as the kernel counts: boot and clock ticks since then. Empty if not known.
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
        """Read what the catalog says; a number that is none is that of no process."""
        return cls(row.host, row.pid if isinstance(row.pid, int) else 0, row.process_start)

    def may_be_alive(self) -> bool:
        """Tell whether the process may still run: a process of another host always may."""
        if self.host != platform.node():
            return True
        if not 0 < self.pid <= _PID_MAX:
            return False  # the number of no process: 0 and below mean groups of them
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it exists and belongs to another user
        start = _start_of(self.pid)
        return start is None or not self.start or start == self.start


def _start_of(pid: int) -> str | None:
    """Return when a process started, or None where the kernel does not tell; a zombie has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # proc(5): the name in parentheses may hold spaces; the fields after it start with the state (3),
    # and starttime is field 22.
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else f"{boot}:{fields[19]}"
