"""Acknowledgements ahead of data at every port, as a plan has them that gives them a higher priority.

Below each port's token bucket is a strict priority scheduler with two queues: packets from RoCEv2's own UDP
port, which ACK, NAK and CNP are, and all others. It is made by `tc`, which comes with `ip`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fabricbench.lab.agents import entering

if TYPE_CHECKING:
    from fabricbench.lab.blueprint import Node, Port

_ROCE_PORT: Final = 4791
_UDP: Final = 17
_ALL_TO_SECOND: Final = " ".join(["1"] * 16)
"""Every priority of the kernel's to the second queue: the filter alone finds what goes first."""


def acknowledgements_first(node: Node) -> str:
    """Let acknowledgements overtake data at the ports of a node, whose token buckets are there.

    Returns:
        Why that cannot be had; empty if it is done.
    """
    commands = "".join(f"{line}\n" for port in node.ports for line in _commands(port))
    done = subprocess.run(
        entering(node, ["tc", "-batch", "-"]), check=False, capture_output=True, text=True, input=commands
    )
    return "" if done.returncode == 0 else done.stderr.strip().partition("\n")[0] or "tc fails"


def _commands(port: Port) -> Iterator[str]:
    device, limit = f"dev {port.interface}", f"bfifo limit {port.queue_bytes}"
    yield f"qdisc add {device} parent 1:1 handle 2: prio bands 2 priomap {_ALL_TO_SECOND}"
    yield f"qdisc add {device} parent 2:1 handle 3: {limit}"
    yield f"qdisc add {device} parent 2:2 handle 4: {limit}"
    match = f"match ip protocol {_UDP} 0xff match ip sport {_ROCE_PORT} 0xffff"
    yield f"filter add {device} parent 2: protocol ip prio 1 u32 {match} flowid 2:1"
