"""Counters of network devices before and after a run, under neutral names with what each vendor counts.

Read are the statistics of the interface (`ip -stats link`), what its driver adds (`ethtool -S`), what the
kernel counts of UDP and TCP (`/proc/net/snmp`, as `nstat` shows it) and of its backlogs
(`/proc/net/softnet_stat`), and the counters of its RDMA devices (`ports/*/counters` and
`ports/*/hw_counters`). What each of them is stands in `fabricbench.counters`; one that is not there keeps its
vendor's name and has no neutral one. Linux reads the counters of an adapter at most every 10 ms (`lifespan`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fabricbench.counters import Counter, look_up
from fabricbench.hosts.agent.facts import SYS_RDMA, Interface, number, program_output, text

COUNTERS_MAX: Final = 4_000
"""Most counters of a host; adapters have hundreds."""
VALUE_MAX: Final = 2**63 - 1
"""Largest value of a record; drivers show 2**64 - 1 for what they do not count."""


_RDMA_FAMILIES: Final = {"mlx5": "mlx5", "bnxt": "bnxt_re"}
"""Family of counters by how the name of an RDMA device's driver begins."""

Snapshot = dict[tuple[str, str, str], tuple[int, Counter | None]]
"""By device, source and vendor's name: the value in units, and what it is."""


def snapshot(interface: Interface | None) -> Snapshot:
    """Read every counter of an interface and of its RDMA devices."""
    if interface is None:
        return {}
    found: Snapshot = {}
    for key, value, known in _counters(interface):
        if len(found) == COUNTERS_MAX:
            break
        units = value * (known.scale if known else 1)
        if units <= VALUE_MAX:
            found[key] = (units, known)
    return found


def _counters(interface: Interface) -> Iterator[tuple[tuple[str, str, str], int, Counter | None]]:
    for name, value in link_statistics(interface.name):
        yield (interface.name, "link", name), value, look_up(name, "link")
    for name, value in ethtool_statistics(program_output("ethtool", "-S", interface.name) or ""):
        yield (interface.name, "ethtool", name), value, known_ethtool(name)
    for name, value in kernel_statistics(text(Path("/proc/net/snmp"))):
        if (known := look_up(name, "nstat")) is not None:
            yield ("kernel", "nstat", name), value, known
    for name, value in backlog_statistics(text(Path("/proc/net/softnet_stat"))):
        yield ("kernel", "softnet", name), value, look_up(name, "softnet")
    for device in interface.rdma:
        yield from _rdma_counters(SYS_RDMA / device)


def link_statistics(interface: str) -> Iterator[tuple[str, int]]:
    """Yield the statistics of an interface; `/sys` may show those of another network namespace."""
    told = program_output("ip", "-json", "-stats", "link", "show", "dev", interface)
    for link in json.loads(told) if told else ():
        for way, counters in sorted(link.get("stats64", {}).items()):
            yield from ((f"{way}_{name}", value) for name, value in sorted(counters.items()))


def kernel_statistics(told: str) -> Iterator[tuple[str, int]]:
    """Yield the counters of the protocols in `/proc/net/snmp`, by the names that `nstat` gives them."""
    lines = told.splitlines()
    for heads, values in zip(lines[::2], lines[1::2], strict=False):
        protocol, *names = heads.split()
        for name, value in zip(names, values.split()[1:], strict=False):
            yield f"{protocol.rstrip(':')}{name}", int(value)


def backlog_statistics(told: str) -> Iterator[tuple[str, int]]:
    """Yield what became of packets in the backlogs of all processors, a line of hexadecimal numbers each."""
    lines = [line.split() for line in told.splitlines()]
    if lines:
        yield "dropped", sum(int(line[1], 16) for line in lines)
        yield "time_squeeze", sum(int(line[2], 16) for line in lines)


def _rdma_counters(device: Path) -> Iterator[tuple[tuple[str, str, str], int, Counter | None]]:
    family = _rdma_family(device)
    for port in sorted(device.glob("ports/*")):
        name = f"{device.name}/{port.name}"
        for source in ("counters", "hw_counters"):
            told = "rdma" if source == "counters" else source
            for file in sorted(port.glob(f"{source}/*")):
                if file.name != "lifespan" and (value := number(file)) is not None:
                    known = look_up(file.name, told, family if told == source else None)
                    yield (name, told, file.name), value, known


def _rdma_family(device: Path) -> str:
    """Return whose counters an RDMA device has."""
    try:
        driver = (device / "device/driver").readlink().name
    except OSError:
        # Soft-RoCE has no device of a bus.
        return "rxe" if text(device / "node_desc") == "rxe" or device.name.startswith("rxe") else "unknown"
    return next((family for name, family in _RDMA_FAMILIES.items() if driver.startswith(name)), "unknown")


def ethtool_statistics(output: str) -> Iterator[tuple[str, int]]:
    """Yield the counters in what `ethtool -S` prints."""
    for line in output.splitlines():
        name, colon, value = line.strip().rpartition(":")
        if colon and value.strip().isdecimal():
            yield name.strip(), int(value)


def known_ethtool(name: str) -> Counter | None:
    """Return what a counter of `ethtool -S` is, if it is one that is known."""
    return look_up(name, "ethtool")
