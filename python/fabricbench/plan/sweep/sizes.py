"""The sizes that a plan asks for, each with the place where a user would change it.

A plan sweeps data sizes or message sizes. The size of a trial is of the kind that is swept; what the engine
is told is always the data size of each job.
"""

from collections.abc import Iterator
from typing import Final

from fabricbench.plan import engine
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.model import SizeRange

DATA: Final = "data"
"""The sizes of a plan's trials are data sizes."""
MESSAGE: Final = "message"
"""The sizes of a plan's trials are message sizes."""


def size_kind(plan: Plan) -> str:
    """Return what the sizes of a plan's trials are: `DATA` or `MESSAGE`."""
    if plan.sweep is not None:
        return MESSAGE if plan.sweep.data_size is None else DATA
    return MESSAGE if plan.jobs[0].message_bytes is not None else DATA


def sweep_path(plan: Plan) -> FieldPath:
    """Return the field of the sweep's sizes."""
    return ("sweep", f"{size_kind(plan)}_size")


def sweep_sizes(plan: Plan) -> list[tuple[int, FieldPath]]:
    """Return the sizes of the sweep [bytes], each with its field; none without a sweep."""
    if plan.sweep is None:
        return []
    sizes, path = plan.sweep.data_size or plan.sweep.message_size, sweep_path(plan)
    if sizes is None:
        return []
    if isinstance(sizes, SizeRange):
        return [(size, (*path, "start")) for size in _geometric(sizes)]
    if isinstance(sizes, int):
        return [(sizes, path)]
    return [(size, (*path, index)) for index, size in enumerate(sizes)]


def trial_sizes(plan: Plan) -> list[int]:
    """Return the size of each trial [bytes]: those of the sweep, or else the first job's."""
    return [size for size, _ in sweep_sizes(plan)] or [own_size(plan.jobs[0]) or 0]


def own_size(job: Job) -> int | None:
    """Return the data or message size that a job itself gives [bytes]; none if the sweep decides."""
    return job.message_bytes if job.data_bytes is None else job.data_bytes


def job_ranks(plan: Plan, job: Job) -> int:
    """Return the number of ranks of a job."""
    hosts = plan.fabric.topology.host_count if job.hosts is None else len(job.hosts)
    return hosts * job.processes_per_host


def job_size(plan: Plan, job: Job, trial_size_bytes: int) -> int:
    """Return the data size of a job in a trial [bytes]."""
    if job.data_bytes is not None:
        return job.data_bytes
    shares = engine.shares(job.collective, job_ranks(plan, job))
    if job.message_bytes is not None:
        return job.message_bytes * shares
    return trial_size_bytes * (shares if size_kind(plan) == MESSAGE else 1)


def shown_size(plan: Plan, job: Job, trial_size_bytes: int) -> int:
    """Return the size of a job in a trial [bytes], of the kind that the plan's trials have."""
    size = job_size(plan, job, trial_size_bytes)
    return size // engine.shares(job.collective, job_ranks(plan, job)) if size_kind(plan) == MESSAGE else size


def _geometric(sizes: SizeRange) -> Iterator[int]:
    """Yield start, start * factor, ... up to and including end."""
    size = sizes.start_bytes
    while size <= sizes.end_bytes:
        yield size
        size *= sizes.factor
