"""Prioritises acknowledgements over data at every port, for plans that give them a higher priority.

Below each port's token bucket is a scheduler with two queues: packets from RoCEv2's own UDP port, that is
ACK, NAK and CNP, and all others. It is a hierarchical token bucket (HTB) whose classes have a rate above that
of any port, so that only their priorities matter, as in a strict priority scheduler: kernels with TBF usually
have HTB, and may lack `prio`. It is created by `tc`, which is installed with `ip`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Final

from fabricbench.lab.agents import entering
from fabricbench.lab.blueprint import Node, Port

_ROCE_PORT: Final = 4791
_UDP: Final = 17
_UNLIMITED: Final = "rate 1000gbit burst 1mb cburst 1mb quantum 60000"
"""Above `RATE_BPS_MAX`, the fastest port, so that no class ever waits for its own tokens."""


def acknowledgements_first(node: Node, frame_bytes: int) -> str:
    """Prioritise acknowledgements over data at the ports of a node, whose token buckets exist.

    Args:
        node: The node.
        frame_bytes: The longest frame. The token bucket dequeues the next frame to know its length, so that
            frame waits as well.

    Returns:
        Why it is not possible; empty on success.
    """
    commands = "".join(f"{line}\n" for port in node.ports for line in _commands(port, frame_bytes))
    done = subprocess.run(
        entering(node, ["tc", "-batch", "-"]), check=False, capture_output=True, text=True, input=commands
    )
    return "" if done.returncode == 0 else done.stderr.strip().partition("\n")[0] or "tc fails"


def _commands(port: Port, frame_bytes: int) -> Iterator[str]:
    device = f"dev {port.interface}"
    limit = f"bfifo limit {max(port.queue_bytes - frame_bytes, frame_bytes)}"
    yield f"qdisc add {device} parent 1:1 handle 2: htb default 2"
    yield f"class add {device} parent 2: classid 2:1 htb {_UNLIMITED} prio 0"
    yield f"class add {device} parent 2: classid 2:2 htb {_UNLIMITED} prio 1"
    yield f"qdisc add {device} parent 2:1 handle 3: {limit}"
    yield f"qdisc add {device} parent 2:2 handle 4: {limit}"
    match = f"match ip protocol {_UDP} 0xff match ip sport {_ROCE_PORT} 0xffff"
    yield f"filter add {device} parent 2: protocol ip prio 1 u32 {match} flowid 2:1"
