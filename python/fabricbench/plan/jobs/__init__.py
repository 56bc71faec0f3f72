"""Traffic of the hosts: jobs and TCP traffic, with their fields, checks and run specs.

`model` is a job and its open-loop traffic, with `storage`, `software`, `rounds` and `mpi` (handshakes) as its
parts; `check` checks all jobs and `check_storage` those of storage; `tcp` is the TCP traffic.
`collective_names` has the names of collectives and algorithms, `expand` creates the run specs.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

STORAGE: Final = "storage"
"""The collective of a storage job."""


def data_priorities(run_spec: Mapping[str, Any]) -> frozenset[int]:
    """Return the priorities of the data of all jobs of a RunSpec."""
    common = run_spec["transport"]["priorities"]["data"]
    jobs: Iterable[Mapping[str, Any]] = run_spec.get("jobs") or ({},)
    return frozenset(int(job.get("priority", common)) for job in jobs)
