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
from fabricbench.plan.sweep.model import SIZE_FIELDS, SizeRange

DATA: Final = "data"
"""The sizes of a plan's trials are data sizes."""
MESSAGE: Final = "message"
"""The sizes of a plan's trials are message sizes."""


def size_kind(plan: Plan) -> str:
    """Return what the sizes of a plan's trials are: `DATA` or `MESSAGE`."""
    path = sweep_path(plan)
    if path is not None:
        return MESSAGE if path[-1] == "message_size" else DATA
    return MESSAGE if plan.jobs[0].message_bytes is not None else DATA


def sweep_path(plan: Plan) -> FieldPath | None:
    """Return the field of the sweep's sizes; none where it has none."""
    return next(iter(sweep_paths(plan)), None)


def sweep_paths(plan: Plan) -> list[FieldPath]:
    """Return every field of the sweep that gives sizes: one at most in a plan that has been checked."""
    return [path for path, _ in _swept(plan)]


def zips_sizes(plan: Plan) -> bool:
    """Tell whether the sizes of the sweep change with its fields."""
    path = sweep_path(plan)
    return path is not None and "zip" in path


def sweep_sizes(plan: Plan) -> list[tuple[int, FieldPath]]:
    """Return the sizes of the sweep [bytes], each with its field; none without any."""
    path, sizes = next(_swept(plan), ((), ()))
    if isinstance(sizes, SizeRange):
        return [(size, (*path, "start")) for size in _geometric(sizes)]
    if isinstance(sizes, int):
        return [(sizes, path)]
    return [(size, (*path, index)) for index, size in enumerate(sizes)]


def _swept(plan: Plan) -> Iterator[tuple[FieldPath, SizeRange | int | tuple[int, ...]]]:
    """Yield each list of sizes of the sweep with its field; a checked plan has one at most."""
    zipped = plan.sweep.zipped if plan.sweep else None
    for path, group in ((("sweep",), plan.sweep), (("sweep", "zip"), zipped)):
        for name in SIZE_FIELDS:
            sizes = getattr(group, name, None)
            if sizes is not None:
                yield (*path, name), sizes


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
