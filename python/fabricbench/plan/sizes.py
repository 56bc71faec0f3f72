"""The data sizes that a plan asks for, each with the place where a user would change it."""

from collections.abc import Iterator

from fabricbench.plan.errors import FieldPath
from fabricbench.plan.model import Job, Plan, SizeRange

_SWEEP: FieldPath = ("sweep", "data_size")


def sweep_sizes(plan: Plan) -> list[tuple[int, FieldPath]]:
    """Return the data sizes of the sweep [bytes], each with its field; none without a sweep."""
    if plan.sweep is None:
        return []
    sizes = plan.sweep.data_size
    if isinstance(sizes, SizeRange):
        return [(size, (*_SWEEP, "start")) for size in _geometric(sizes)]
    if isinstance(sizes, int):
        return [(sizes, _SWEEP)]
    return [(size, (*_SWEEP, index)) for index, size in enumerate(sizes)]


def trial_sizes(plan: Plan) -> list[int]:
    """Return the data size of each trial [bytes]: those of the sweep, or else the first job's."""
    return [size for size, _ in sweep_sizes(plan)] or [job_size(plan.jobs[0], 0)]


def job_size(job: Job, trial_size_bytes: int) -> int:
    """Return the data size of a job in a trial [bytes]."""
    return trial_size_bytes if job.data_bytes is None else job.data_bytes


def _geometric(sizes: SizeRange) -> Iterator[int]:
    """Yield start, start * factor, ... up to and including end."""
    size = sizes.start_bytes
    while size <= sizes.end_bytes:
        yield size
        size *= sizes.factor
