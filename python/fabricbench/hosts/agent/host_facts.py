"""Reads facts about a host from Linux: kernel, processor, memory, RDMA devices, network interface.

The interface is the one with the data address, the IP address for test traffic.
"""

from __future__ import annotations

import ipaddress
import json
import os
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SYS_NET: Final = Path("/sys/class/net")
SYS_RDMA: Final = Path("/sys/class/infiniband")
_PROGRAM_S: Final = 5.0


@dataclass(frozen=True)
class Interface:
    """The interface of a data address.

    Attributes:
        name: Its name, such as `eth0`.
        mtu: Largest IP packet [bytes].
        rdma: RDMA devices whose port is this interface.
    """

    name: str
    mtu: int
    rdma: tuple[str, ...] = field(default=())


def interface_of(address: str) -> Interface | None:
    """Return the interface that has an address, or `None` if the host does not have it."""
    data_address = ipaddress.ip_address(address)
    for link in addresses():
        for own in link.get("addr_info", ()):
            if own.get("local") is None:
                continue
            network = ipaddress.ip_interface(f"{own['local']}/{own.get('prefixlen', 32)}")
            is_own = network.ip == data_address or (
                network.ip.is_loopback and data_address in network.network
            )
            if is_own:
                return Interface(link["ifname"], int(link["mtu"]), rdma_devices(link["ifname"]))
    return None


def addresses() -> list[dict[str, Any]]:
    """Return the interfaces of this network namespace with their addresses (`ip -json address`)."""
    text = program_output("ip", "-json", "address", "show")
    links = json.loads(text) if text else []
    return [link for link in links if link]


def program_output(*command: str) -> str | None:
    """Return the output of a system program, or `None` if it is missing, fails or hangs."""
    try:
        finished = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_PROGRAM_S, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return finished.stdout


def rdma_devices(interface: str) -> tuple[str, ...]:
    """Return the RDMA devices that have a port on an interface."""
    return tuple(
        device.name
        for device in sorted(SYS_RDMA.glob("*"))
        if any(text(file) == interface for file in device.glob("ports/*/gid_attrs/ndevs/*"))
    )


def host_facts(address: str) -> dict[str, str]:
    """Return the facts of this host and of the interface with an address, by neutral names.

    Unreadable facts are left out.
    """
    system = os.uname()
    facts = {
        "host_name": system.nodename,
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "cpus": str(len(os.sched_getaffinity(0))),
        "cpu_model": next(_cpu_lines("model name"), ""),
        "memory_available_bytes": str(available_memory_bytes() or ""),
        "locked_memory_limit_bytes": _locked_memory(),
        "udp_receive_buffer_max_bytes": text(Path("/proc/sys/net/core/rmem_max")),
        "udp_send_buffer_max_bytes": text(Path("/proc/sys/net/core/wmem_max")),
    }
    interface = interface_of(address) if address else None
    if interface is not None:
        facts |= _interface_facts(interface)
    return {name: value for name, value in facts.items() if value}


def _interface_facts(interface: Interface) -> dict[str, str]:
    folder = SYS_NET / interface.name
    driver = program_output("ethtool", "-i", interface.name) or ""
    driver_info = dict(line.split(": ", 1) for line in driver.splitlines() if ": " in line)
    facts = {
        "interface": interface.name,
        "mtu_bytes": str(interface.mtu),
        "driver": driver_info.get("driver", "") or _link_name(folder / "device/driver"),
        "driver_version": driver_info.get("version", ""),
        "firmware": driver_info.get("firmware-version", ""),
        "bus": driver_info.get("bus-info", ""),
        "speed_mbps": text(folder / "speed"),
        "rdma_devices": ", ".join(interface.rdma),
    }
    for device in interface.rdma:
        facts["rdma_firmware"] = text(SYS_RDMA / device / "fw_ver")
        facts["rdma_board"] = text(SYS_RDMA / device / "board_id")
    return facts


def text(path: Path) -> str:
    """Return the stripped text of a system file; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def number(path: Path) -> int | None:
    """Return the number in a system file, if there is one."""
    content = text(path)
    return int(content) if content.isdecimal() else None


def available_memory_bytes() -> int | None:
    """Return the kernel's estimate of the memory available without swapping (proc(5), MemAvailable)."""
    for line in text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return None


def _link_name(path: Path) -> str:
    try:
        return path.readlink().name
    except OSError:
        return ""


def _locked_memory() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)


def _cpu_lines(key: str) -> Iterator[str]:
    for line in text(Path("/proc/cpuinfo")).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            yield value.strip()
