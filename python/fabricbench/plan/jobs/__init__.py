"""What the hosts do: jobs and TCP traffic, with their fields, checks and run specs.

`model` is a job with `arrivals` (open-loop traffic), `storage` and `mpi` (rounds and handshakes) as parts of
it, `check` what concerns all jobs; `tcp` is the traffic beside them. `expand` writes them out.
"""

from typing import Final

STORAGE: Final = "storage"
"""The collective of a storage job."""
