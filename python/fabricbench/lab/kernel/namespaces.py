"""Named network namespaces: create, remove, run a function inside one, find and end its processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from fabricbench.lab.errors import LabError

_FOLDER: Final = Path("/run/netns")
"""Folder of named namespaces, as used by `ip netns`."""
_ENDING_S: Final = 1.0
"""Time limit for a process to end after SIGTERM when its lab is removed."""

Result = TypeVar("Result")


def create(name: str) -> None:
    """Create a namespace."""
    from pyroute2 import netns

    netns.create(name)


def remove(name: str) -> None:
    """Remove a namespace or its remains; the kernel removes its links with it."""
    from pyroute2 import netns

    with suppress(FileNotFoundError):
        netns.remove(name)


def path_of(name: str) -> Path:
    """Return the file of a namespace."""
    return _FOLDER / name


def existing(prefix: str) -> list[str]:
    """Return the namespaces with a name prefix."""
    return sorted(path.name for path in _FOLDER.glob(f"{prefix}*")) if _FOLDER.is_dir() else []


def inside(name: str, work: Callable[[], Result]) -> Result:
    """Run work in a namespace, in a new thread, because a thread keeps its changed namespace.

    Raises:
        LabError: There is no such namespace.
    """
    from pyroute2 import netns

    results: list[Result] = []
    errors: list[BaseException] = []

    def enter() -> None:
        try:
            netns.setns(name, flags=0)
            results.append(work())
        except BaseException as error:  # noqa: BLE001 -- raised again in the calling thread
            errors.append(error)

    if not path_of(name).exists():
        raise LabError(f"namespace {name} is gone", "`fabricbench lab down` removes what is left of its lab")
    thread = threading.Thread(target=enter, name=name)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def end_processes(names: Collection[str]) -> int:
    """End every process in the namespaces and return how many there were.

    A namespace continues to exist, without a name, while a process is in it.
    """
    pids = processes(names)
    _signal(pids, signal.SIGTERM)
    deadline = time.monotonic() + _ENDING_S
    while (remaining := processes(names)) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal(remaining, signal.SIGKILL)
    return len(pids)


def _signal(pids: Collection[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def processes(names: Collection[str]) -> list[int]:
    """Return the processes in the namespaces, except this one."""
    identities = {identity for name in names if (identity := _identity(path_of(name))) is not None}
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [
        pid for pid in pids if pid != os.getpid() and _identity(Path(f"/proc/{pid}/ns/net")) in identities
    ]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
