"""A file of a real device, read by what it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricbench.plan.devices import containerlab, nccl_topology
from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.sonic import Carried, fragment_of, read_sonic
from fabricbench.plan.errors import Place, PlanError, Problem

SONIC: Final = "sonic"
CONTAINERLAB: Final = "containerlab"
NCCL: Final = "nccl"
_HEAD_BYTES: Final = 4096


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


def read_device(path: Path, source: str, asked: Asked) -> Fragment:
    """Read a file of a device as fields of a plan.

    Raises:
        PlanError: It cannot be read, or something in it is wrong.
    """
    kind = asked.format or _kind(path, source)
    if kind == SONIC:
        carried = Carried(asked.priority, asked.data_dscp, asked.cnp_dscp)
        return fragment_of(read_sonic(path, source), carried)
    if kind == CONTAINERLAB:
        return containerlab.read_containerlab(path, source)
    return nccl_topology.read_nccl_topology(path, source, asked.servers)


def _kind(path: Path, source: str) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PlanError([Problem(Place(source), "", f"a file that cannot be read: {reason}")]) from error
    if head.startswith(b"<"):
        return NCCL
    return SONIC if head.startswith(b"{") else CONTAINERLAB
