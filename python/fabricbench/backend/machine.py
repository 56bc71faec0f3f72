"""What this machine can give: memory and cores, as far as the system tells."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_MEMORY_OF_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")
_CORES_OF_VERSION_1 = ("cpu.cfs_quota_us", "cpu.cfs_period_us")


def available_memory_bytes() -> int | None:
    """Return the memory that this process can still get; none where nothing tells.

    It is the least of what is free of the machine, of each control group and of the own address space.
    """
    known = [bytes_ for bytes_ in (_free(), _address_space(), *_control_groups()) if bytes_ is not None]
    return max(min(known), 0) if known else None


def available_cores() -> int:
    """Return how many cores this process may keep busy: those that it may run on, or its groups' share."""
    return min([len(os.sched_getaffinity(0)), *_quotas()])


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
    for group, version in _groups("memory"):
        names = ("memory.max", "memory.current") if version == 2 else _MEMORY_OF_VERSION_1
        limit, usage = (_number(group / name) for name in names)
        if limit is not None and usage is not None:
            yield limit - usage + _cached(group)


def _quotas() -> Iterator[int]:
    """Yield the cores that each control group of this process, and each around it, gives it."""
    for group, version in _groups("cpu"):
        if version == 2:
            quota, _, period = (_text(group / "cpu.max") or "").strip().partition(" ")
        else:
            quota, period = ((_text(group / name) or "").strip() for name in _CORES_OF_VERSION_1)
        if quota.isdecimal() and period.isdecimal():  # "max" and -1 are no limit
            yield max(1, int(quota) // max(1, int(period)))


def _groups(controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the control groups of this process for a controller and those around them, with their version."""
    for line in (_text(_PROC / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, version = _CGROUPS, 2
        elif controller in controllers.split(","):
            root, version = _CGROUPS / controller, 1
        else:
            continue
        # In a container the path is that of the host; what is mounted at the root is then the group itself.
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents):
            yield group, version
            if group == root:
                break


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
