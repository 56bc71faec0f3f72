"""Software stacks of hosts: documented times per message or operation, as defaults of a job's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

NONE: Final = "none"


@dataclass(frozen=True)
class Software:
    """Costs of one software stack.

    Attributes:
        is_storage: It serves storage operations; otherwise it sends messages of collectives.
        costs: Values of fields of the job, or of its `storage`.
        source: Their source.
    """

    is_storage: bool
    costs: Mapping[str, str]
    source: str


PRESETS: Final[Mapping[str, Software]] = {
    "mpi": Software(
        is_storage=False,
        costs={"send_overhead": "150ns", "receive_overhead": "150ns"},
        source=(
            "300 ns for each message, the time by which MPI over InfiniBand is slower than the path of 1 B "
            "alone (1.08 us, University of Trento, p2p at 100 Gb/s; 0.78 us of adapters, cables and a switch "
            "by their data sheets); assumed: half of it at either end"
        ),
    ),
    "spdk": Software(
        is_storage=True,
        costs={"service_time": "730ns"},
        source=(
            "10.94 million reads of 4 KB a second on 8 cores of a target (SPDK NVMe-oF RDMA performance "
            "report 24.05, as a web article quotes it); assumed: one core serves a target, and writes "
            "take as long"
        ),
    ),
    "linux": Software(
        is_storage=True,
        costs={"service_time": "3.7us"},
        source=(
            "5.09 times fewer operations for each core than SPDK (the same article); assumed as there. Time "
            "of interrupts and of the client is left out"
        ),
    ),
}
"""Software stacks by the name that a plan has in `software`."""


def fill_software(job: Any) -> Any:
    """Return a job as written with the costs of its software, unless it has its own.

    A name that does not exist, or not for this kind of job, is left to the checks.
    """
    software = PRESETS.get(str(job.get("software"))) if isinstance(job, dict) else None
    if software is None or software.is_storage != isinstance(job.get("storage"), dict):
        return job
    if software.is_storage:
        return job | {"storage": dict(software.costs) | job["storage"]}
    return dict(software.costs) | job
