"""Data or message sizes of the trials and jobs of a plan, each with the field where a user would change it.

A plan sweeps data sizes or message sizes. The size of a trial is of the kind that is swept; the run spec of
the engine always has the data size of each job.
"""

from collections.abc import Iterator
from typing import Final

from fabricbench.plan import engine
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.fields.sizes import SizeRange, size_list
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.model import SIZE_FIELDS

DATA: Final = "data"
"""The sizes of a plan's trials are data sizes."""
ELEMENT_BYTES: Final = 4
"""Bytes of an element [bytes]; source: nccl-tests, float by default."""
SHARE_BYTES: Final = 16
"""The share of a rank in a rounded size is a multiple of it [bytes]; source: nccl-tests."""
MESSAGE: Final = "message"
"""The sizes of a plan's trials are message sizes."""


def size_kind(plan: Plan) -> str:
    """Return the kind of the sizes of a plan's trials: `DATA` or `MESSAGE`."""
    path = sweep_path(plan)
    if path is not None:
        return MESSAGE if path[-1] == "message_size" else DATA
    return MESSAGE if plan.jobs[0].message_bytes is not None else DATA


def sweep_path(plan: Plan) -> FieldPath | None:
    """Return the field of the sweep's sizes; none if it has none."""
    return next(iter(sweep_paths(plan)), None)


def sweep_paths(plan: Plan) -> list[FieldPath]:
    """Return every field of the sweep that gives sizes: one at most in a plan that has been checked."""
    return [path for path, _ in _swept(plan)]


def zips_sizes(plan: Plan) -> bool:
    """Whether the sizes of the sweep change with its fields."""
    path = sweep_path(plan)
    return path is not None and "zip" in path


def sweep_sizes(plan: Plan) -> list[tuple[int, FieldPath]]:
    """Return the sizes of the sweep [bytes], each with its field; none without any."""
    path, sizes = next(_swept(plan), ((), ()))
    return _with_fields(sizes, path)


def own_size_fields(job: Job, index: int) -> list[tuple[int, FieldPath]]:
    """Return the sizes that job `index` itself gives [bytes], each with its field."""
    sizes = _job_size_field(job)
    name = "message_size" if job.data_bytes is None else "data_size"
    return [] if sizes is None else _with_fields(sizes, ("jobs", index, name))


def _with_fields(sizes: SizeRange | int | tuple[int, ...], path: FieldPath) -> list[tuple[int, FieldPath]]:
    """Return some sizes [bytes], each with the field where a user would change it."""
    size_values = size_list(sizes)
    if isinstance(sizes, SizeRange):
        return [(size, (*path, "start")) for size in size_values]
    if isinstance(sizes, int):
        return [(size, path) for size in size_values]
    return [(size, (*path, index)) for index, size in enumerate(size_values)]


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
    """Return the data or message size that a job itself gives, the largest of several [bytes].

    None if the sweep decides.
    """
    sizes = _job_size_field(job)
    return None if sizes is None else max(size_list(sizes), default=None)


def _job_size_field(job: Job) -> SizeRange | int | tuple[int, ...] | None:
    return job.message_bytes if job.data_bytes is None else job.data_bytes


def job_ranks(plan: Plan, job: Job) -> int:
    """Return the number of ranks of a job."""
    hosts = plan.fabric.rank_count if job.hosts is None else len(job.hosts)
    return hosts * job.processes_per_host


def job_size(plan: Plan, job: Job, trial_size_bytes: int) -> int:
    """Return the data size of a job in a trial, the largest of several [bytes]."""
    return max(job_sizes(plan, job, trial_size_bytes))


def job_sizes(plan: Plan, job: Job, trial_size_bytes: int) -> list[int]:
    """Return the data sizes of a job in a trial, in the order of the plan [bytes]."""
    shares = engine.shares(job.collective, job_ranks(plan, job))
    if job.data_bytes is not None:
        return [rounded_size(size, shares) for size in size_list(job.data_bytes)]
    if job.message_bytes is not None:
        return [size * shares for size in size_list(job.message_bytes)]
    if size_kind(plan) == MESSAGE:
        return [trial_size_bytes * shares]
    return [rounded_size(trial_size_bytes, shares)]


def rounded_size(size_bytes: int, shares: int) -> int:
    """Return the data size that is run for a size of the plan: rounded down if it has no equal shares.

    As nccl-tests do, whole elements are divided among ranks, in shares of a multiple of 16 bytes. A size that
    is no number of elements of 4 bytes, or too small for such shares, is returned unchanged.

    Source: nccl-tests, `(count / nranks) & -(16 / element size)` in all_gather.cu and alltoall.cu.
    """
    if size_bytes % shares == 0 or size_bytes % ELEMENT_BYTES:
        return size_bytes
    return size_bytes // shares // SHARE_BYTES * SHARE_BYTES * shares or size_bytes


def shown_size(plan: Plan, job: Job, trial_size_bytes: int) -> int:
    """Return the size of a job in a trial [bytes], of the kind that the plan's trials have."""
    size = job_size(plan, job, trial_size_bytes)
    return size // engine.shares(job.collective, job_ranks(plan, job)) if size_kind(plan) == MESSAGE else size
