"""What the machine has left is the least of what the kernel, control groups and limits of the process say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fabricbench.backend import machine

GB = 1 << 30


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 8 GB without control groups."""
    monkeypatch.setattr(machine, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path / "cgroup")
    write(tmp_path / "proc/meminfo", f"MemTotal: {16 << 20} kB\nMemAvailable: {8 << 20} kB\n")
    return tmp_path


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_without_limits_it_is_what_the_kernel_says(system: Path) -> None:
    assert machine.available_memory_bytes() == 8 * GB
    (system / "proc/meminfo").unlink()
    assert machine.available_memory_bytes() is None


def test_a_group_of_version_2_and_those_around_it_limit(system: Path) -> None:
    write(system / "proc/self/cgroup", "0::/user/run\n")
    write(system / "cgroup/user/run/memory.max", "max\n")
    write(system / "cgroup/user/run/memory.current", "0\n")
    write(system / "cgroup/user/memory.max", f"{4 * GB}\n")
    write(system / "cgroup/user/memory.current", f"{3 * GB}\n")
    assert machine.available_memory_bytes() == GB
    write(system / "cgroup/user/memory.stat", f"anon {2 * GB}\ninactive_file {GB}\n")
    assert machine.available_memory_bytes() == 2 * GB
    write(system / "cgroup/user/memory.current", f"{9 * GB}\n")
    assert machine.available_memory_bytes() == 0


def test_a_group_of_version_1_limits_though_its_path_is_not_mounted(system: Path) -> None:
    write(system / "proc/self/cgroup", "5:cpu:/x\n4:memory:/pod/run\n")
    write(system / "cgroup/memory/memory.limit_in_bytes", f"{2 * GB}\n")
    write(system / "cgroup/memory/memory.usage_in_bytes", f"{GB // 2}\n")
    assert machine.available_memory_bytes() == 3 * GB // 2


def test_a_limited_address_space_limits() -> None:
    script = (
        "import resource; from fabricbench.backend.machine import available_memory_bytes as left; "
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); print(left())"
    )
    finished = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert (1 << 29) < int(finished.stdout) < (1 << 30)


def test_cores_are_those_it_may_run_on_or_what_a_group_gives(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    assert machine.available_cores() == 16
    write(system / "proc/self/cgroup", "0::/user/run\n")
    write(system / "cgroup/user/run/cpu.max", "max 100000\n")
    assert machine.available_cores() == 16
    write(system / "cgroup/user/cpu.max", "250000 100000\n")
    assert machine.available_cores() == 2
    write(system / "cgroup/user/run/cpu.max", "50000 100000\n")
    assert machine.available_cores() == 1


def test_cores_of_a_group_of_version_1(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    write(system / "proc/self/cgroup", "4:cpu,cpuacct:/pod\n")
    write(system / "cgroup/cpu/pod/cpu.cfs_quota_us", "-1\n")
    write(system / "cgroup/cpu/pod/cpu.cfs_period_us", "100000\n")
    assert machine.available_cores() == 16
    write(system / "cgroup/cpu/cpu.cfs_quota_us", "400000\n")
    write(system / "cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert machine.available_cores() == 4
