"""What this machine can still give: memory, as far as the system tells."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


def available_memory_bytes() -> int | None:
    """Return the memory that this process can still get; none where nothing tells.

    It is the least of what is free of the machine, of each control group and of the own address space.
    """
    known = [bytes_ for bytes_ in (_free(), _address_space(), *_control_groups()) if bytes_ is not None]
    return max(min(known), 0) if known else None


def _free() -> int | None:
    """Return what the kernel thinks can be had without swapping (proc(5), MemAvailable)."""
    return _kib(_PROC / "meminfo", "MemAvailable:")


def _address_space() -> int | None:
    """Return what a limit of the address space leaves (getrlimit(2), RLIMIT_AS)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = _kib(_PROC / "self/status", "VmSize:")
    return None if limit == resource.RLIM_INFINITY or taken is None else limit - taken


def _kib(file: Path, key: str) -> int | None:
    lines = (_text(file) or "").splitlines()
    values = [line.removeprefix(key) for line in lines if line.startswith(key)]
    return int(values[0].split()[0]) << 10 if values else None


def _control_groups() -> Iterator[int | None]:
    """Yield what each control group of this process, and each around it, leaves; of version 1 and 2."""
    for line in (_text(_PROC / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _around(_CGROUPS, path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            yield from _around(_CGROUPS / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes")


def _around(root: Path, path: str, limit_name: str, usage_name: str) -> Iterator[int | None]:
    # In a container the path is that of the host; what is mounted at the root is then the group itself.
    folder = root / path.lstrip("/")
    for group in (folder, *folder.parents):
        limit, usage = _number(group / limit_name), _number(group / usage_name)
        if limit is not None and usage is not None:
            yield limit - usage + _cached(group)
        if group == root:
            return


def _cached(group: Path) -> int:
    """Return the file cache that a group would give back (Linux, cgroup-v2.rst: inactive_file)."""
    for line in (_text(group / "memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def _number(file: Path) -> int | None:
    text = (_text(file) or "").strip()
    return int(text) if text.isdecimal() else None  # "max" is no limit


def _text(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:
        return None
