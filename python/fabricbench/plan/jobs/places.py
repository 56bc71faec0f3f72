"""Places of the ranks of a job: the host of each, and on servers its GPU."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricbench.plan.jobs.model import Job
    from fabricbench.plan.model import Plan


def rank_places(plan: Plan, job: Job) -> list[tuple[int, int]]:
    """Return the host and the GPU of each rank of a job; the GPU is 0 without servers."""
    members = list(range(plan.fabric.rank_count)) if job.hosts is None else list(job.hosts)
    server = plan.fabric.server
    if server is not None:
        places = [divmod(gpu, server.gpus) for gpu in members]
        return _dealt(places) if job.mapping == "round-robin" else places
    if job.mapping == "round-robin" or job.processes_per_host == 1:
        members = members * job.processes_per_host
    else:
        members = [host for host in members for _ in range(job.processes_per_host)]
    return [(host, 0) for host in members]


def _dealt(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the GPUs dealt out to their servers in turn, each server's in the order given."""
    by_server: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place in places:
        by_server[place[0]].append(place)
    turns = zip_longest(*by_server.values())
    return [place for turn in turns for place in turn if place is not None]


def gpus_by_server(places: list[tuple[int, int]]) -> dict[int, set[int]]:
    """Return the GPUs of a job on each of its servers."""
    gpus: dict[int, set[int]] = defaultdict(set)
    for server, gpu in places:
        gpus[server].add(gpu)
    return dict(gpus)
