"""Checks of jobs: ranks on hosts, names, algorithms, arrivals, software, and runs of single jobs."""

from collections.abc import Iterator

from fabricbench.plan import engine
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.jobs import STORAGE
from fabricbench.plan.jobs.check_storage import check_storage
from fabricbench.plan.jobs.model import UNTIL_OTHERS_END, Job
from fabricbench.plan.jobs.mpi import check_mpi
from fabricbench.plan.jobs.software import NONE, PRESETS
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.sizes import job_ranks
from fabricbench.words import close_match_hint


def check_ranks(plan: Plan, document: Document) -> Iterator[FieldProblem]:
    """Check that the ranks of all jobs fit on the hosts, those of one job on each."""
    host_count = plan.fabric.topology.host_count
    job_of_host: dict[int, int] = {}
    for index, job in enumerate(plan.jobs):
        hosts = range(host_count) if job.hosts is None else job.hosts
        problem = _first_rank_problem(plan, document, index, job_of_host)
        ranks = job_ranks(plan, job)
        if ranks < 2:
            actual = f"{ranks} rank" if ranks else "no rank"
            problem = FieldProblem(("jobs", index, "ranks"), actual, "2 ranks or more")
        if problem:
            yield problem
        job_of_host.update(dict.fromkeys(hosts, index))


def _first_rank_problem(
    plan: Plan, document: Document, index: int, job_of_host: dict[int, int]
) -> FieldProblem | None:
    """Return the problem of the first rank of a job that has no host of its own."""
    host_count, job = plan.fabric.topology.host_count, plan.jobs[index]
    hosts, path = range(host_count) if job.hosts is None else job.hosts, ("jobs", index, "ranks")
    if len(hosts) > host_count:
        return FieldProblem(path, f"{len(hosts)} ranks on {host_count} hosts", f"at most {host_count}")
    seen: set[int] = set()
    for rank, host in enumerate(hosts):
        rank_path = (*path, rank) if isinstance(document.value(path), list) else path
        if host >= host_count:
            return FieldProblem(rank_path, f"host {host}", f"hosts 0 to {host_count - 1} of this topology")
        if host in seen and job.storage:
            # `check_storage` reports it with the field, clients or targets.
            return None
        if host in seen:
            hint = "`processes_per_host` puts several ranks on each host"
            return FieldProblem(rank_path, f"host {host} twice", "each host once", hint)
        if host in job_of_host:
            other = plan.jobs[job_of_host[host]].name
            hint = "give `ranks`; without it a job takes all hosts" if job.hosts is None else ""
            return FieldProblem(
                rank_path, f"host {host}, which job `{other}` has", "hosts of no other job", hint
            )
        seen.add(host)
    return None


OPEN_LOOP = {"incast": "parallel", "permutation": "parallel", "uniform-random": "parallel"}
"""The algorithm of each collective that can offer messages at given times (crates/workload, open_loop.rs)."""


def check_jobs(plan: Plan) -> Iterator[FieldProblem]:
    """Check names and algorithms of the jobs, then storage, rounds and handshakes."""
    names: set[str] = set()
    for index, job in enumerate(plan.jobs):
        path: FieldPath = ("jobs", index)
        if job.name in names:
            yield FieldProblem((*path, "name"), f"`{job.name}` again", "a name no other job has")
        names.add(job.name)
        ranks = job_ranks(plan, job)
        yield from _check_algorithm(job, ranks, path)
        yield from _check_arrivals(job, path)
        yield from _check_software(job, path)
    yield from check_storage(plan)
    yield from check_mpi(plan)


def _check_software(job: Job, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that the software of the hosts is one for this kind of job."""
    software = PRESETS.get(job.software)
    if software is not None and software.is_storage != (job.storage is not None):
        names = [name for name, preset in PRESETS.items() if preset.is_storage == (job.storage is not None)]
        kind = "storage" if software.is_storage else "messages of collectives"
        yield FieldProblem(
            (*path, "software"), f"`{job.software}`, software for {kind}", ", ".join([NONE, *names])
        )


def _check_arrivals(job: Job, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that open-loop traffic has no fields that it excludes."""
    arrivals, arrivals_path = job.arrivals, (*path, "arrivals")
    if arrivals is None:
        return
    open_loop_algorithm = OPEN_LOOP.get(job.collective)
    if open_loop_algorithm is not None and job.algorithm not in {None, open_loop_algorithm}:
        actual = f"algorithm `{job.algorithm}` of {job.collective} with arrivals, a closed loop"
        yield FieldProblem((*path, "algorithm"), actual, f"{open_loop_algorithm}, which is the default")
    if arrivals.load_ppm is None and arrivals.rate_bps is None:
        yield FieldProblem((*arrivals_path, "load"), "neither load nor rate", "one of them")
    if arrivals.load_ppm is not None and arrivals.rate_bps is not None:
        yield FieldProblem((*arrivals_path, "rate"), "a rate beside a load", "one of them")
    if job.repeat != 1:
        hint = "`arrivals.duration` says how long it lasts"
        actual = UNTIL_OTHERS_END if job.repeat is None else f"{job.repeat} rounds"
        yield FieldProblem((*path, "repeat"), f"{actual} of open-loop traffic", "1", hint)
    for name in ("step_overhead", "send_overhead", "receive_overhead"):
        if getattr(job, f"{name}_ps"):
            actual = f"{'an overhead before' if name == 'step_overhead' else 'time spent on'} each message"
            yield FieldProblem((*path, name), actual, "0s: each is offered at its time")


def _check_algorithm(job: Job, ranks: int, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that the engine has the collective and its algorithm for this number of ranks."""
    algorithms = engine.algorithms()
    if job.storage or job.collective == STORAGE:
        return
    if job.collective not in algorithms:
        names: tuple[str, ...] = (*algorithms, STORAGE)
        hint = close_match_hint(job.collective, names)
        yield FieldProblem((*path, "collective"), f'"{job.collective}"', ", ".join(names), hint)
    elif job.algorithm is not None and job.algorithm not in algorithms[job.collective]:
        names = algorithms[job.collective]
        actual = f'"{job.algorithm}", which is no algorithm of {job.collective}'
        hint = close_match_hint(job.algorithm, names)
        yield FieldProblem((*path, "algorithm"), actual, ", ".join(names), hint)
    elif ranks >= 2:
        algorithm = job.algorithm or engine.default_algorithm(job.collective)
        refusal = engine.refusal(job.collective, algorithm, ranks)
        if refusal is not None:
            actual = f"{refusal.found} for {job.collective} {algorithm}"
            yield FieldProblem((*path, "ranks"), actual, refusal.allowed)


def check_solo(plan: Plan) -> Iterator[FieldProblem]:
    """Check that `solo` is set only with several jobs."""
    if plan.solo and len(plan.jobs) + len(plan.tcp) == 1:
        hint = f"a run of job `{plan.jobs[0].name}` is one alone already"
        yield FieldProblem(("solo",), "true with one job", "true with several jobs", hint)
