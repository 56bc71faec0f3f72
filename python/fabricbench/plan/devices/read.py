"""A file of a real device, read by what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fabricbench.plan.devices import containerlab, nccl_topology, sonic
from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.json_text import text_of
from fabricbench.plan.devices.redis_dump import configuration_of
from fabricbench.plan.devices.sonic import Carried
from fabricbench.plan.devices.sonic_ports import Sonic

SONIC: Final = "sonic"
CONTAINERLAB: Final = "containerlab"
NCCL: Final = "nccl"
_HEAD_BYTES: Final = 4096
_BRACE: Final = re.compile(rb"(?m)^\s*\{\s*$")
"""Begins JSON below something else, such as the prompt of a shell."""


@dataclass(frozen=True)
class Asked:
    """What a user says beside the file.

    Attributes:
        format: What the file is; none to go by what it looks like.
        data_dscp: DSCP of RDMA data.
        cnp_dscp: DSCP of CNPs.
        priority: Priority of RDMA data, where no DSCP says it.
        servers: How many hosts there are as the file's.
    """

    format: str | None = None
    data_dscp: int | None = None
    cnp_dscp: int | None = None
    priority: int | None = None
    servers: int | None = None


def read_device(content: bytes, source: str, asked: Asked) -> Fragment:
    """Read the bytes of a file of a device as fields of a plan.

    Raises:
        PlanError: Something in it is wrong.
    """
    kind = asked.format or _kind(content)
    if kind == SONIC:
        carried = Carried(asked.priority, asked.data_dscp, asked.cnp_dscp)
        return sonic.fragment_of(Sonic(configuration_of(content, source)), carried)
    text = text_of(content, source)
    if kind == CONTAINERLAB:
        return containerlab.fragment_of(text, source)
    return nccl_topology.fragment_of(text, source, asked.servers)


def _kind(content: bytes) -> str:
    head = content[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        return NCCL
    return SONIC if head.startswith(b"{") or _BRACE.search(head) else CONTAINERLAB
