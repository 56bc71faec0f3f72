"""Traffic of the hosts: jobs and TCP traffic, with their fields, checks and run specs.

`model` is a job and its open-loop traffic, with `storage`, `software`, `rounds` and `mpi` (handshakes) as its
parts; `check` checks all jobs and `check_storage` those of storage; `tcp` is the TCP traffic.
`collective_names` has the names of collectives and algorithms, `expand` creates the run specs.
"""

from typing import Final

STORAGE: Final = "storage"
"""The collective of a storage job."""
