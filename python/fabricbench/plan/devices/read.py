"""Detects the format of a device's file (SONiC, containerlab or NCCL) and converts it to fields of a plan."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fabricbench.plan.devices import containerlab, nccl_graphs, nccl_topology
from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.json_text import text_of
from fabricbench.plan.devices.nccl_xml import read_xml
from fabricbench.plan.devices.sonic_config import conversion
from fabricbench.plan.devices.sonic_config.config_db import Sonic
from fabricbench.plan.devices.sonic_config.conversion import TrafficPriorities
from fabricbench.plan.devices.sonic_config.redis_dump import configuration_of

SONIC: Final = "sonic"
CONTAINERLAB: Final = "containerlab"
NCCL: Final = "nccl"
_HEAD_BYTES: Final = 4096
_BRACE: Final = re.compile(rb"(?m)^\s*\{\s*$")
"""Beginning of JSON below other text, such as the prompt of a shell."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of the user for a file.

    Attributes:
        format: Format of the file; none to detect it.
        data_dscp: DSCP of RDMA data.
        cnp_dscp: DSCP of CNPs.
        priority: Priority of RDMA data, if no DSCP determines it.
        servers: Number of hosts like that of the file.
    """

    format: str | None = None
    data_dscp: int | None = None
    cnp_dscp: int | None = None
    priority: int | None = None
    servers: int | None = None


def read_device(content: bytes, source: str, options: ReadOptions) -> Fragment:
    """Read the bytes of a file of a device as fields of a plan.

    Raises:
        PlanError: It has errors.
    """
    kind = options.format or _kind(content)
    if kind == SONIC:
        traffic = TrafficPriorities(options.priority, options.data_dscp, options.cnp_dscp)
        return conversion.fragment_of(Sonic(configuration_of(content, source)), traffic)
    text = text_of(content, source)
    if kind == CONTAINERLAB:
        return containerlab.fragment_of(text, source)
    outermost = read_xml(text, source)
    if outermost.tag == nccl_graphs.TAG:
        return nccl_graphs.Graphs(outermost, source).fragment(options.servers)
    return nccl_topology.Host(outermost, source).fragment(options.servers)


def _kind(content: bytes) -> str:
    head = content[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        return NCCL
    return SONIC if head.startswith(b"{") or _BRACE.search(head) else CONTAINERLAB
