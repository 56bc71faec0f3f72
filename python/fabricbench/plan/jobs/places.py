"""Places of the ranks of a job: the host of each, and on servers, or NVLink domains of several, its GPU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.plan.jobs.model import Job
    from fabricbench.plan.model import Plan


def rank_places(plan: Plan, job: Job) -> list[tuple[int, int]]:
    """Return the host and the GPU of each rank of a job; the GPU is 0 without servers."""
    members = list(range(plan.fabric.rank_count)) if job.hosts is None else list(job.hosts)
    node = plan.fabric.node
    if node is not None:
        dealt = _dealt(members, node.server.gpus) if job.mapping == "round-robin" else members
        return [divmod(gpu, node.gpus) for gpu in dealt]
    if job.mapping == "round-robin" or job.processes_per_host == 1:
        members = members * job.processes_per_host
    else:
        members = [host for host in members for _ in range(job.processes_per_host)]
    return [(host, 0) for host in members]


def _dealt(gpus: Sequence[int], of_server: int) -> list[int]:
    """Return the GPUs dealt out to their servers in turn, each server's in the order given."""
    by_server: dict[int, list[int]] = defaultdict(list)
    for gpu in gpus:
        by_server[gpu // of_server].append(gpu)
    turns = zip_longest(*by_server.values())
    return [gpu for turn in turns for gpu in turn if gpu is not None]


def gpus_by_server(plan: Plan, job: Job) -> dict[int, set[int]]:
    """Return the GPUs of a job on each of its servers, by their numbers in the fabric and in the server."""
    node = plan.fabric.node
    assert node is not None, "the caller checks it"
    gpus: dict[int, set[int]] = defaultdict(set)
    for host, gpu in rank_places(plan, job):
        server, own = divmod(host * node.gpus + gpu, node.server.gpus)
        gpus[server].add(own)
    return dict(gpus)
