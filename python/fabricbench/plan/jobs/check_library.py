"""Checks of the libraries of jobs, and warnings of what NCCL does and the model does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.jobs.library import FlatRing, Nccl, NoLibrary, honoured, transport_fields
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.jobs.nccl_run import (
    JobNodes,
    choices,
    has_nccl,
    is_modelled,
    nccl_of,
    obstacle,
    qp_mode,
)
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.sizes import job_sizes, trial_sizes

_ALGORITHM: Final = "NCCL_ALGO"
_COLLNET: Final = "NCCL_COLLNET_ENABLE"


def check_library(plan: Plan) -> Iterator[FieldProblem]:
    """Check that each job can have its library, and NCCL's version and variables."""
    for index, job in enumerate(plan.jobs):
        path: FieldPath = ("jobs", index, "library")
        if isinstance(job.library, FlatRing):
            yield from _check_flat(plan, job, path)
        elif job.library is not None and not isinstance(job.library, NoLibrary):
            yield from _check_nccl(plan, job, job.library.nccl, path)
        if (nccl := nccl_of(plan, job)) is not None:
            yield from _check_choices(plan, job, nccl, (*path, "nccl"))
    if has_nccl(plan) and qp_mode(plan) == "per_chunk":
        hint = "leave it out, or `library: none` for jobs without NCCL"
        yield FieldProblem(("transport", "qp_mode"), "per_chunk with NCCL", "per_pair", hint)


def _check_flat(plan: Plan, job: Job, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that no job has servers, and that there is a ring."""
    if plan.fabric.server is not None:
        hint = "give all jobs `library: flat-ring`, and leave out `fabric.server`"
        yield FieldProblem(path, "a flat ring on servers", "flat-ring for every job, without servers", hint)
    elif (job.algorithm or "ring") != "ring":
        yield FieldProblem((*path[:2], "algorithm"), f"{job.algorithm} of a flat ring", "ring")
    elif "ring" not in engine.algorithms().get(job.collective, ()):
        yield FieldProblem(path, f"a flat ring of {job.collective}", "nccl, none")


def _check_nccl(plan: Plan, job: Job, nccl: Nccl, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that NCCL can run a job that names it, and that its variables do not contradict other fields."""
    if reason := obstacle(plan, job):
        hint = "NCCL needs all GPUs of its servers; `library: none` runs the algorithm among the ranks"
        yield FieldProblem(path, f"NCCL with {reason}", "none", hint)
    env: FieldPath = (*path, "nccl", "env")
    if nccl.env.get(_COLLNET, "0") != "0":
        hint = "CollNet and SHARP, reductions in switches of the network, are not modelled"
        yield FieldProblem((*env, _COLLNET), f'"{nccl.env[_COLLNET]}"', "0", hint)
    if job.algorithm is not None and _ALGORITHM in nccl.env:
        hint = "`algorithm` acts as NCCL_ALGO"
        yield FieldProblem((*env, _ALGORITHM), f"{_ALGORITHM} beside `algorithm`", "one of them", hint)
    for name, value in transport_fields(nccl.env):
        if name == "timeout" and units.parse_time(value) != plan.transport.timeout_ps:
            actual = f"{value} by {env[-1]} beside {units.format_time(plan.transport.timeout_ps)}"
            yield FieldProblem(("transport", "timeout"), actual, "one value for all jobs")
        if name == "qps_per_rank_pair" and value != plan.transport.qps_per_rank_pair:
            actual = f"{plan.transport.qps_per_rank_pair} beside {value} by {env[-1]}"
            yield FieldProblem(("transport", name), actual, "one value for all jobs")


def _check_choices(plan: Plan, job: Job, nccl: Nccl, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that NCCL's rules have the version and the values, and allow something for every size."""
    for size in trial_sizes(plan):
        try:
            answer = choices(plan, job, nccl, max(job_sizes(plan, job, size)))
        except engine.SpecError as error:
            field = ("version",) if error.field == "version" else ("env", error.field)
            yield FieldProblem((*path, *field), f'"{error.found}"', error.allowed)
            return
        if answer["nodes"] != JobNodes.of(plan, job).count:
            actual = f"NCCL {nccl.version} that takes each server of a scale-up domain for a node"
            hint = "domains of several servers need NCCL 2.20, and no NCCL_MNNVL_ENABLE=0"
            yield FieldProblem(path, actual, "each domain as a node", hint)
            return
        chosen = answer["operations"][0]["chosen"]
        if chosen is None:
            place = "on one server" if JobNodes.of(plan, job).count == 1 else "over several servers"
            actual = f"variables that allow no algorithm and protocol of {job.collective} {place}"
            yield FieldProblem((*path, "env"), actual, "NCCL_ALGO and NCCL_PROTO with one")
            return
        if not is_modelled(chosen):
            actual = f"{chosen['algorithm']}, which NCCL chooses for {units.human_size(size)}"
            without = f"^{chosen['algorithm']}"
            hint = (
                f'`env: {{NCCL_ALGO: "{without}"}}` runs the next best; `library: none` the algorithm alone'
            )
            yield FieldProblem(path, actual, "ring, tree, NVLS or NVLS tree in the model", hint)
            return


def library_warnings(plan: Plan) -> Iterator[FieldProblem]:
    """Yield variables of NCCL without an effect, and jobs of which NCCL's algorithm is not modelled."""
    for index, job in enumerate(plan.jobs):
        path: FieldPath = ("jobs", index, "library")
        nccl = nccl_of(plan, job)
        if nccl is None:
            continue
        answer = choices(plan, job, nccl, max(job_sizes(plan, job, trial_sizes(plan)[0])))
        used = honoured(nccl.env)
        if ignored := [name for name in answer["ignored"] if name not in used]:
            yield FieldProblem(
                (*path, "nccl", "env"), f"variables without an effect here: {', '.join(ignored)}"
            )
        if len(job_sizes(plan, job, trial_sizes(plan)[0])) > 1:
            actual = "rounds of several sizes, all run as NCCL chooses for the largest"
            yield FieldProblem((*path[:2], "data_size"), actual, hint="`sweep.data_size` chooses for each")
