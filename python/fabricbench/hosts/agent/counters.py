"""Reads counters of network devices before and after a run, under names that do not depend on the vendor.

Sources: the statistics of the interface (`ip -stats link`) and of its driver (`ethtool -S`), the kernel's UDP
and TCP counters (`/proc/net/snmp`, as in `nstat`) and backlog counters (`/proc/net/softnet_stat`), and the
counters of its RDMA devices (`ports/*/counters` and `ports/*/hw_counters`). `fabricbench.counters` defines
them; a counter that is not listed there keeps its vendor name and has no neutral one. Linux reads the
counters of an adapter at most every 10 ms (`lifespan`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fabricbench.counters import Counter, look_up
from fabricbench.hosts.agent.host_facts import SYS_RDMA, Interface, number, program_output, text

COUNTERS_MAX: Final = 4_000
"""Most counters of a host; adapters have hundreds."""
VALUE_MAX: Final = 2**63 - 1
"""Largest value of a record; drivers show 2**64 - 1 for counters that they do not support."""


_RDMA_FAMILIES: Final = {"mlx5": "mlx5", "bnxt": "bnxt_re"}
"""Counter family by the prefix of the name of an RDMA device's driver."""

Snapshot = dict[tuple[str, str, str], tuple[int, Counter | None]]
"""Value in units and definition, by device, source and vendor name."""


def snapshot(interface: Interface | None) -> Snapshot:
    """Read every counter of an interface and of its RDMA devices."""
    if interface is None:
        return {}
    values: Snapshot = {}
    for key, value, definition in _counters(interface):
        if len(values) == COUNTERS_MAX:
            break
        units = value * (definition.scale if definition else 1)
        if units <= VALUE_MAX:
            values[key] = (units, definition)
    return values


def _counters(interface: Interface) -> Iterator[tuple[tuple[str, str, str], int, Counter | None]]:
    for name, value in link_statistics(interface.name):
        yield (interface.name, "link", name), value, look_up(name, "link")
    for name, value in ethtool_statistics(program_output("ethtool", "-S", interface.name) or ""):
        yield (interface.name, "ethtool", name), value, look_up(name, "ethtool")
    for name, value in kernel_statistics(text(Path("/proc/net/snmp"))):
        if (definition := look_up(name, "nstat")) is not None:
            yield ("kernel", "nstat", name), value, definition
    for name, value in backlog_statistics(text(Path("/proc/net/softnet_stat"))):
        yield ("kernel", "softnet", name), value, look_up(name, "softnet")
    for device in interface.rdma:
        yield from _rdma_counters(SYS_RDMA / device)


def link_statistics(interface: str) -> Iterator[tuple[str, int]]:
    """Yield the statistics of an interface; `/sys` may show those of another network namespace."""
    output = program_output("ip", "-json", "-stats", "link", "show", "dev", interface)
    for link in json.loads(output) if output else ():
        for direction, counters in sorted(link.get("stats64", {}).items()):
            yield from ((f"{direction}_{name}", value) for name, value in sorted(counters.items()))


def kernel_statistics(content: str) -> Iterator[tuple[str, int]]:
    """Yield the protocol counters of `/proc/net/snmp` under their `nstat` names."""
    lines = content.splitlines()
    for header, values in zip(lines[::2], lines[1::2], strict=False):
        protocol, *names = header.split()
        for name, value in zip(names, values.split()[1:], strict=False):
            yield f"{protocol.rstrip(':')}{name}", int(value)


def backlog_statistics(content: str) -> Iterator[tuple[str, int]]:
    """Yield the packet backlog counters, summed over processors; each line has hexadecimal numbers of one."""
    lines = [line.split() for line in content.splitlines()]
    if lines:
        yield "dropped", sum(int(line[1], 16) for line in lines)
        yield "time_squeeze", sum(int(line[2], 16) for line in lines)


def _rdma_counters(device: Path) -> Iterator[tuple[tuple[str, str, str], int, Counter | None]]:
    family = _rdma_family(device)
    for port in sorted(device.glob("ports/*")):
        name = f"{device.name}/{port.name}"
        for source in ("counters", "hw_counters"):
            counter_source = "rdma" if source == "counters" else source
            for file in sorted(port.glob(f"{source}/*")):
                if file.name != "lifespan" and (value := number(file)) is not None:
                    definition = look_up(
                        file.name, counter_source, family if counter_source == source else None
                    )
                    yield (name, counter_source, file.name), value, definition


def _rdma_family(device: Path) -> str:
    """Return the counter family of an RDMA device."""
    try:
        driver = (device / "device/driver").readlink().name
    except OSError:
        # Soft-RoCE has no bus device.
        return "rxe" if text(device / "node_desc") == "rxe" or device.name.startswith("rxe") else "unknown"
    return next((family for name, family in _RDMA_FAMILIES.items() if driver.startswith(name)), "unknown")


def ethtool_statistics(output: str) -> Iterator[tuple[str, int]]:
    """Yield the counters in the output of `ethtool -S`."""
    for line in output.splitlines():
        name, colon, value = line.strip().rpartition(":")
        if colon and value.strip().isdecimal():
            yield name.strip(), int(value)
