"""Checks of a host before a run: address, MTU, port, memory limits, socket buffers, drivers, PFC, ECN."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from fabricbench.hosts.agent.host_facts import SYS_RDMA, Interface, interface_of, program_output, text

ROCE_PORT: Final = 4791
"""UDP port of RoCEv2 (IBTA annex A17)."""
ROCE_MTU_MIN: Final = 256 + 64
"""Smallest MTU of the interface: the smallest path MTU (IBTA vol. 1, 9.2.5.7) plus all headers."""
_MEMLOCK_MIN_BYTES: Final = 1 << 30
_SOCKET_BUFFER_MIN_BYTES: Final = 4 << 20
_PFC_LINES: Final = ("pfc-cap", "prio-pfc", "pfc-on")


class State(Enum):
    """Result of a check; the numbers are those of the protocol."""

    OK = 0
    UNKNOWN = 1
    WARNING = 2
    PROBLEM = 3


class Check(NamedTuple):
    """A check and its result."""

    name: str
    state: State
    found: str
    hint: str = ""


def host_checks(address: str, drivers: Mapping[str, str]) -> Iterator[Check]:
    """Run every check that applies to a data address.

    Args:
        address: The data address; may be empty.
        drivers: Reason why each driver of the data plane is unusable; empty if it is usable.
    """
    interface = interface_of(address) if address else None
    if address:
        yield _address(address, interface)
    if interface is not None:
        yield _mtu(interface)
    yield _roce_port(address or "0.0.0.0")
    yield _locked_memory()
    yield _socket_buffers()
    yield from (_driver(name, why) for name, why in sorted(drivers.items()))
    if interface is not None:
        yield _pfc(interface)
        yield _ecn(interface)


def _address(address: str, interface: Interface | None) -> Check:
    if interface is None:
        hint = "`ip address` at the host lists its addresses; the file of hosts has `address`"
        return Check("data address", State.PROBLEM, f"{address} is no address of this host", hint)
    return Check("data address", State.OK, f"{address} on {interface.name}")


def _mtu(interface: Interface) -> Check:
    size_text = f"{interface.mtu} bytes"
    if interface.mtu < ROCE_MTU_MIN:
        return Check("MTU", State.PROBLEM, size_text, f"`ip link set {interface.name} mtu 4200`")
    if interface.mtu < 4096 + 64:
        hint = "a transport MTU of 4096 does not fit; plans with 1024 do from 1088 on"
        return Check("MTU", State.WARNING, size_text, hint)
    return Check("MTU", State.OK, size_text)


def _roce_port(address: str) -> Check:
    """Try to bind UDP port 4791."""
    name = "UDP port 4791"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, ROCE_PORT))
        except OSError as error:
            return Check(name, State.WARNING, f"taken: {error.strerror}", _who_holds_roce())
    return Check(name, State.OK, "free")


def _who_holds_roce() -> str:
    soft_roce_devices = [
        device.name for device in sorted(SYS_RDMA.glob("*")) if not (device / "device").exists()
    ]
    if soft_roce_devices or Path("/sys/module/rdma_rxe").exists():
        device_name = soft_roce_devices[0] if soft_roce_devices else "NAME"
        return f"the kernel's soft-RoCE has it: `rdma link delete {device_name}`, or set another `port`"
    return "`ss -lunp sport = :4791` tells which program has it; or set another `port`"


def _locked_memory() -> Check:
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit == resource.RLIM_INFINITY:
        return Check("locked memory", State.OK, "unlimited")
    state = State.OK if limit >= _MEMLOCK_MIN_BYTES else State.WARNING
    hint = (
        ""
        if state is State.OK
        else "driver verbs needs more: `ulimit -l unlimited`, or LimitMEMLOCK=infinity in its unit"
    )
    return Check("locked memory", state, f"{limit >> 10} KiB", hint)


def _socket_buffers() -> Check:
    limits = [text(Path(f"/proc/sys/net/core/{name}")) for name in ("rmem_max", "wmem_max")]
    if not all(limit.isdecimal() for limit in limits):
        return Check("socket buffers", State.UNKNOWN, "not told")
    sizes_text = f"{int(limits[0]) >> 10} KiB to receive, {int(limits[1]) >> 10} KiB to send"
    if min(map(int, limits)) >= _SOCKET_BUFFER_MIN_BYTES:
        return Check("socket buffers", State.OK, sizes_text)
    size = 16 << 20
    hint = f"bursts are lost at the host: `sysctl -w net.core.rmem_max={size} net.core.wmem_max={size}`"
    return Check("socket buffers", State.WARNING, sizes_text, hint)


def _driver(name: str, obstacle: str) -> Check:
    if obstacle:
        return Check(f"driver {name}", State.UNKNOWN, f"cannot be used: {obstacle}")
    return Check(f"driver {name}", State.OK, "can be used")


def _pfc(interface: Interface) -> Check:
    """Report the priorities for which PFC is on, as printed by `dcb` (iproute2)."""
    output = program_output("dcb", "pfc", "show", "dev", interface.name)
    if output is None:
        return Check("PFC", State.UNKNOWN, "not told by the driver, or `dcb` is missing")
    lines = [line.strip() for line in output.splitlines() if line.strip().startswith(_PFC_LINES)]
    return Check("PFC", State.OK, "; ".join(lines) or output.strip().replace("\n", " ")[:200])


def _ecn(interface: Interface) -> Check:
    """Report the priorities for which the adapter reacts to ECN, if its driver shows them (mlx5)."""
    folder = Path("/sys/class/net") / interface.name / "ecn"
    priorities_by_direction = {
        direction.name: [
            priority.name for priority in sorted((direction / "enable").glob("*")) if text(priority) == "1"
        ]
        for direction in sorted(folder.glob("roce_*"))
    }
    if not priorities_by_direction:
        return Check("ECN of the adapter", State.UNKNOWN, "not told by the driver")
    priorities_text = "; ".join(
        f"{direction}: priorities {', '.join(priorities) or 'none'}"
        for direction, priorities in priorities_by_direction.items()
    )
    return Check("ECN of the adapter", State.OK, priorities_text)
