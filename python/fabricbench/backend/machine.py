"""Available memory and cores of this machine, as reported by the system."""

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
    """Return the memory still available to this process; None if it is not reported.

    It is the minimum of the machine's free memory, the memory left in each control group, and the memory left
    by the limit of the address space.
    """
    limits_bytes = [
        bytes_ for bytes_ in (_free(), _address_space(), *_control_groups()) if bytes_ is not None
    ]
    return max(min(limits_bytes), 0) if limits_bytes else None


def available_cores() -> int:
    """Return the number of cores available to this process, by its affinity and the quotas of its groups."""
    return min([len(os.sched_getaffinity(0)), *_quotas()])


def _free() -> int | None:
    """Return the kernel's estimate of memory available without swapping (proc(5), MemAvailable)."""
    return _kib(_PROC / "meminfo", "MemAvailable:")


def _address_space() -> int | None:
    """Return the memory left by the limit of the address space (getrlimit(2), RLIMIT_AS)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used_bytes = _kib(_PROC / "self/status", "VmSize:")
    return None if limit == resource.RLIM_INFINITY or used_bytes is None else limit - used_bytes


def _kib(file: Path, key: str) -> int | None:
    lines = (_text(file) or "").splitlines()
    values = [line.removeprefix(key) for line in lines if line.startswith(key)]
    return int(values[0].split()[0]) << 10 if values else None


def _control_groups() -> Iterator[int | None]:
    """Yield the memory left in each control group of this process and its ancestors, version 1 or 2."""
    for group, version in _groups("memory"):
        names = ("memory.max", "memory.current") if version == 2 else _MEMORY_OF_VERSION_1
        limit, usage = (_number(group / name) for name in names)
        if limit is not None and usage is not None:
            yield limit - usage + _cached(group)


def _quotas() -> Iterator[int]:
    """Yield the core quota of each control group of this process and its ancestors."""
    for group, version in _groups("cpu"):
        if version == 2:
            quota, _, period = (_text(group / "cpu.max") or "").strip().partition(" ")
        else:
            quota, period = ((_text(group / name) or "").strip() for name in _CORES_OF_VERSION_1)
        if quota.isdecimal() and period.isdecimal():  # "max" and -1 are no limit
            yield max(1, int(quota) // max(1, int(period)))


def _groups(controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the control groups of this process for a controller, and their ancestors, with their version."""
    for line in (_text(_PROC / "self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, version = _CGROUPS, 2
        elif controller in controllers.split(","):
            root, version = _CGROUPS / controller, 1
        else:
            continue
        # In a container the path is that of the host; the group itself is then mounted at the root.
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents):
            yield group, version
            if group == root:
                break


def _cached(group: Path) -> int:
    """Return the file cache of a group that can be reclaimed (Linux, cgroup-v2.rst: inactive_file)."""
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
