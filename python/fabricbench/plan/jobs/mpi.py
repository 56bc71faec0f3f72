"""MPI's additions to a collective: the handshake before large messages, rounds and copies; their checks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pydantic import Field

from fabricbench.plan._run_spec import RendezvousSpec
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Size
from fabricbench.words import counted

if TYPE_CHECKING:
    from fabricbench.plan.jobs.model import Job
    from fabricbench.plan.model import Plan

OWN_BLOCK: Final = ("all-to-all", "all-gather")
"""Collectives in which every rank has a block of its own that it does not send."""
ROOTED: Final = ("gather", "scatter", "broadcast", "reduce", "incast")
"""Collectives with a root, or a receiver."""


class Rendezvous(PlanModel):
    """The handshake before large messages: the sender announces one (RTS), the receiver clears it (CTS).

    The payload follows the clearance. Both are messages on queue pairs of their own, in the priority of data.
    """

    threshold_bytes: Size = Field(
        default="8KB",
        alias="threshold",
        validate_default=True,
        description=(
            "Smaller messages are sent at once (eager), without the handshake [size]. Source: "
            "UCX_RNDV_THRESH as UCX-Py sets it; UCX itself estimates it from the adapter."
        ),
    )
    control_bytes: Size = Field(
        default=64,
        alias="control_size",
        description=(
            "Payload of an announcement and of a clearance [size, 1 B to 4 KB]. Source: an estimate: a "
            "header of UCX, some 40 bytes, with address and key of a buffer."
        ),
    )

    def run_spec(self) -> RendezvousSpec:
        """Return its fields for the engine."""
        return self.to_spec(RendezvousSpec)


def check_mpi(plan: "Plan") -> Iterator[FieldProblem]:
    """Check rounds, handshakes and copies of every job."""
    for index, job in enumerate(plan.jobs):
        path: FieldPath = ("jobs", index)
        yield from _check_rounds(job, path)
        if job.copies_own_block:
            yield from _check_own_block(job, (*path, "copies_own_block"))
        if job.rendezvous is not None:
            yield from _check_rendezvous(plan, job, (*path, "rendezvous"))


def _check_rounds(job: "Job", path: FieldPath) -> Iterator[FieldProblem]:
    """Check warm-up, barriers, computing time and changing roots of rounds."""
    if job.arrivals is not None or job.storage is not None:
        kind = "a storage job" if job.storage is not None else "open-loop traffic"
        hint = "its own `warm_up` is a time" if job.storage is not None else ""
        if job.warm_up_rounds:
            actual = f"{counted(job.warm_up_rounds, 'round')} to warm up of {kind}"
            yield FieldProblem((*path, "warm_up_rounds"), actual, "0", hint)
        if job.root_shift:
            yield FieldProblem((*path, "root_shift"), f"another root in each round of {kind}", "false")
        if job.barrier:
            yield FieldProblem((*path, "barrier"), f"a barrier between rounds of {kind}", "false")
        if job.compute_ps:
            yield FieldProblem((*path, "compute"), f"time to compute in each round of {kind}", "0")
        return
    if job.root_shift and job.collective not in ROOTED:
        allowed = f"it with {', '.join(ROOTED[:-1])} or {ROOTED[-1]}"
        yield FieldProblem((*path, "root_shift"), f"another root in each round of {job.collective}", allowed)
    if job.warm_up_rounds and job.repeat is None:
        actual = f"{counted(job.warm_up_rounds, 'round')} to warm up of a job that others end"
        yield FieldProblem((*path, "warm_up_rounds"), actual, "0, or a number for `repeat`")


def _check_own_block(job: "Job", field_path: FieldPath) -> Iterator[FieldProblem]:
    if job.collective not in OWN_BLOCK:
        allowed = f"it with {' or '.join(OWN_BLOCK)}, where each rank has one"
        yield FieldProblem(field_path, f"a copy of the own block of {job.collective}", allowed)
    elif job.arrivals is not None:
        yield FieldProblem(field_path, "a copy of the own block of open-loop traffic", "false")


def _check_rendezvous(plan: "Plan", job: "Job", field_path: FieldPath) -> Iterator[FieldProblem]:
    if job.arrivals is not None or job.storage is not None:
        kind = "a storage job" if job.storage is not None else "open-loop traffic"
        yield FieldProblem(field_path, f"a handshake of {kind}", "off")
    elif plan.transport.qp_mode != "per_pair":
        hint = "add `qp_mode: per_pair` to `transport`, as an MPI library has it"
        yield FieldProblem(field_path, "a handshake with a queue pair for each chunk", "off", hint)
