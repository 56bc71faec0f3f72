"""Traffic of the hosts: jobs and TCP traffic, with their fields, checks and run specs.

`model` is a job with `arrivals` (open-loop traffic), `storage`, `software`, `rounds` and `mpi` (handshakes)
as its parts, `check` checks all jobs and `check_storage` those of storage; `tcp` is the TCP traffic. `names`
has those of collectives and algorithms, `expand` creates the run specs.
"""

from typing import Final

STORAGE: Final = "storage"
"""The collective of a storage job."""
