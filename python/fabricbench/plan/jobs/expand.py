"""Creates the run specs of jobs and TCP traffic for the engine."""

from collections.abc import Sequence

from fabricbench.plan import engine
from fabricbench.plan._run_spec import CollectiveWork, JobSpec, PatternSpec, RepeatSpec, TcpSpec, Work
from fabricbench.plan.fabric.topology import host_rate_bps
from fabricbench.plan.jobs.library import FlatRing
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.jobs.nccl_run import nccl_of, run_of
from fabricbench.plan.jobs.places import rank_places
from fabricbench.plan.jobs.rounds import round_sizes
from fabricbench.plan.jobs.tcp import Tcp
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.sizes import job_sizes


def tcp_hosts(plan: "Plan", tcp: Tcp) -> list[int]:
    """Return the host of each rank."""
    return list(range(plan.fabric.host_count)) if tcp.hosts is None else list(tcp.hosts)


def job_specs(plan: Plan, jobs: Sequence[int], trial_size_bytes: int, seed: int) -> list[JobSpec]:
    """Return the run specs of some jobs; the random stream of each is its index in the plan.

    A job that repeats until the others end runs once if there are no others: once with each of its sizes.
    """
    is_alone = len(plan.jobs) > len(jobs) == 1
    return [_job(plan, index, trial_size_bytes, seed, is_alone=is_alone) for index in jobs]


def _job(plan: Plan, index: int, trial_size_bytes: int, seed: int, *, is_alone: bool) -> JobSpec:
    job = plan.jobs[index]
    sizes = round_sizes(job, job_sizes(plan, job, trial_size_bytes), seed, index, is_alone=is_alone)
    repeat: RepeatSpec = {"kind": "until-others-end"}
    if sizes.rounds is not None:
        repeat = {"kind": "rounds", "rounds": sizes.rounds}
    places = rank_places(plan, job)
    spec: JobSpec = {
        "name": job.name,
        "hosts": [host for host, _ in places],
        "stream": index,
        "start_ps": job.start_ps,
        "repeat": repeat,
        "work": _work(plan, job, sizes.cycle),
    }
    if plan.fabric.server is not None:
        spec["gpus"] = [gpu for _, gpu in places]
    if job.dscp is not None:
        spec["dscp"] = job.dscp
    if job.priority is not None:
        spec["priority"] = job.priority
    return spec


def _work(plan: Plan, job: Job, sizes: list[int]) -> Work:
    """Return the work of a job whose rounds have these data sizes in turn."""
    if job.storage is not None:
        return job.storage.run_spec(sizes[0])
    pattern: PatternSpec = {
        "collective": job.collective,
        "algorithm": _algorithm(job),
        "data_bytes": max(sizes),
        "root": job.root,
    }
    if job.arrivals is not None:
        return job.arrivals.run_spec(pattern, host_rate_bps(plan.fabric.topology))
    work = job.to_spec(
        CollectiveWork,
        kind="collective",
        pattern=pattern,
        rendezvous=None if job.rendezvous is None else job.rendezvous.run_spec(),
        # If rounds overlapped, their times could not be attributed to their sizes.
        barrier=job.barrier or len(sizes) > 1,
    )
    if len(sizes) > 1:
        work["round_bytes"] = sizes
    if (nccl := nccl_of(plan, job)) is not None:
        pattern["algorithm"], work["nccl"] = run_of(plan, job, nccl, pattern["data_bytes"])
    return work


def _algorithm(job: Job) -> str:
    """Return the algorithm among the ranks of a job."""
    default = "ring" if isinstance(job.library, FlatRing) else engine.default_algorithm(job.collective)
    return job.algorithm or default


def tcp_specs(plan: Plan) -> list[TcpSpec]:
    """Return the run specs of TCP traffic; its random streams follow those of the jobs."""
    return [
        tcp.run_spec(tcp_hosts(plan, tcp), engine.default_algorithm(tcp.collective), len(plan.jobs) + index)
        for index, tcp in enumerate(plan.tcp)
    ]
