"""Checks of jobs and TCP traffic: ranks on hosts, algorithms, arrivals, MPI, software, and single jobs."""

from collections.abc import Iterator

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.document.document import Document
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.jobs import STORAGE
from fabricbench.plan.jobs.check_storage import check_storage
from fabricbench.plan.jobs.expand import tcp_hosts
from fabricbench.plan.jobs.model import UNTIL_OTHERS_END, Job
from fabricbench.plan.jobs.mpi import OWN_BLOCK, ROOTED
from fabricbench.plan.jobs.nccl_run import qp_mode
from fabricbench.plan.jobs.places import rank_places
from fabricbench.plan.jobs.software import NONE, PRESETS
from fabricbench.plan.jobs.tcp import Tcp
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.sizes import job_ranks
from fabricbench.words import close_match_hint, counted


def _check_rate(plan: "Plan", tcp: Tcp, path: FieldPath) -> Iterator[FieldProblem]:
    """Check the rate."""
    port_bps = plan.fabric.topology.host_link.rate_bps
    if tcp.rate_bps is not None and tcp.rate_bps > port_bps:
        actual = f"{units.format_rate(tcp.rate_bps)}, more than a host's port has"
        hint = "`rate: unlimited` sends as fast as congestion control allows"
        yield FieldProblem((*path, "rate"), actual, f"at most {units.format_rate(port_bps)}", hint)


def _check_priority(plan: "Plan", tcp: Tcp, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that the priority is lossy, and marked if and only if congestion control reacts to marks.

    WRED drops frames that are not ECN-capable, in place of marks.
    """
    switch, data = plan.fabric.switch, plan.transport.priorities.data
    priority_path = (*path, "priority")
    lossless = (switch.pfc.priorities or (data,)) if switch.pfc else ()
    if tcp.priority in lossless:
        actual = f"priority {tcp.priority}, which PFC makes lossless"
        hint = "TCP needs losses or marks to find its rate; the default of 0 is lossy"
        yield FieldProblem(priority_path, actual, "a lossy priority", hint)
        return
    marking = [set_up.ecn for _, set_up in plan.fabric.set_ups if set_up.ecn]
    markers_of_priority = [ecn for ecn in marking if tcp.priority in (ecn.priorities or (data,))]
    is_marked = any(ecn.wred is None or ecn.wred.marks for ecn in markers_of_priority)
    needs_marks, drops = tcp.congestion == "dctcp", all(ecn.wred for ecn in markers_of_priority)
    if needs_marks and not is_marked:
        actual = f"dctcp in priority {tcp.priority}, which no switch marks"
        hint = f"`fabric.switch.ecn: {{preset: alibaba, priorities: [{data}, {tcp.priority}]}}` marks it"
        yield FieldProblem((*path, "congestion"), actual, "dctcp in a priority of `ecn`", hint)
    elif is_marked and not needs_marks and not drops:
        actual = f"priority {tcp.priority}, which is marked, for {tcp.congestion}"
        hint = "only `congestion: dctcp` is capable of ECN; `ecn.wred: on` drops what is not"
        yield FieldProblem(priority_path, actual, "a priority that is not among those of `ecn`", hint)


def _check_pattern(tcp: Tcp, ranks: int, path: FieldPath) -> Iterator[FieldProblem]:
    algorithms = engine.algorithms()
    if tcp.collective not in algorithms:
        hint = close_match_hint(tcp.collective, algorithms)
        yield FieldProblem((*path, "collective"), f'"{tcp.collective}"', ", ".join(algorithms), hint)
        return
    names = algorithms[tcp.collective]
    if tcp.algorithm is not None and tcp.algorithm not in names:
        actual = f'"{tcp.algorithm}", which is no algorithm of {tcp.collective}'
        hint = close_match_hint(tcp.algorithm, names)
        yield FieldProblem((*path, "algorithm"), actual, ", ".join(names), hint)
        return
    refusal = engine.refusal(tcp.collective, tcp.algorithm or names[0], ranks)
    if refusal is not None:
        yield FieldProblem((*path, "ranks"), f"{refusal.found} for {tcp.collective}", refusal.allowed)


def _check_hosts(
    plan: "Plan", tcp: Tcp, path: FieldPath, traffic_by_host: dict[int, str]
) -> Iterator[FieldProblem]:
    """Check that the ranks are on hosts that exist and have no other TCP rank, and check the pattern."""
    hosts, host_count = tcp_hosts(plan, tcp), plan.fabric.host_count
    ranks_path = (*path, "ranks")
    if len(hosts) < 2:
        yield FieldProblem(ranks_path, f"{len(hosts)} rank" if hosts else "no rank", "2 ranks or more")
        return
    for host in hosts:
        if host >= host_count:
            yield FieldProblem(ranks_path, f"host {host}", f"hosts 0 to {host_count - 1} of this topology")
            return
        if host in traffic_by_host:
            actual = f"host {host}, which TCP traffic `{traffic_by_host[host]}` has"
            hint = "one entry for a host; more `connections` of each pair, or another collective"
            yield FieldProblem(ranks_path, actual, "hosts with one TCP rank", hint)
            return
        traffic_by_host[host] = tcp.name
    yield from _check_pattern(tcp, len(hosts), path)


def check_tcp(plan: "Plan") -> Iterator[FieldProblem]:
    """Check the names, hosts, priorities and rates of TCP traffic."""
    if plan.tcp and plan.fabric.switch.scheduled is not None:
        actual = "TCP over scheduled switches"
        yield FieldProblem(("tcp",), actual, "Ethernet switches, whose lossy queues drop")
    names = {job.name for job in plan.jobs}
    traffic_by_host: dict[int, str] = {}
    for index, tcp in enumerate(plan.tcp):
        path: FieldPath = ("tcp", index)
        if tcp.name in names:
            hint = "give each TCP traffic a `name`"
            actual = f"`{tcp.name}` again"
            yield FieldProblem((*path, "name"), actual, "a name of no job or other traffic", hint)
        names.add(tcp.name)
        yield from _check_hosts(plan, tcp, path, traffic_by_host)
        yield from _check_priority(plan, tcp, path)
        yield from _check_rate(plan, tcp, path)


def _check_rendezvous(plan: "Plan", job: "Job", field_path: FieldPath) -> Iterator[FieldProblem]:
    if job.arrivals is not None or job.storage is not None:
        kind = "a storage job" if job.storage is not None else "open-loop traffic"
        yield FieldProblem(field_path, f"a handshake of {kind}", "off")
    elif qp_mode(plan) != "per_pair":
        hint = "add `qp_mode: per_pair` to `transport`, as an MPI library has it"
        yield FieldProblem(field_path, "a handshake with a queue pair for each chunk", "off", hint)


def _check_own_block(job: "Job", field_path: FieldPath) -> Iterator[FieldProblem]:
    if job.collective not in OWN_BLOCK:
        allowed = f"it with {' or '.join(OWN_BLOCK)}, where each rank has one"
        yield FieldProblem(field_path, f"a copy of the own block of {job.collective}", allowed)
    elif job.arrivals is not None:
        yield FieldProblem(field_path, "a copy of the own block of open-loop traffic", "false")


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


def check_mpi(plan: "Plan") -> Iterator[FieldProblem]:
    """Check rounds, handshakes and copies of every job."""
    for index, job in enumerate(plan.jobs):
        path: FieldPath = ("jobs", index)
        yield from _check_rounds(job, path)
        if job.copies_own_block:
            yield from _check_own_block(job, (*path, "copies_own_block"))
        if job.rendezvous is not None:
            yield from _check_rendezvous(plan, job, (*path, "rendezvous"))


def check_ranks(plan: Plan, document: Document) -> Iterator[FieldProblem]:
    """Check that the ranks of all jobs fit on the hosts; a host has ranks of one storage job at most."""
    storage_of_host: dict[int, str] = {}
    for index, job in enumerate(plan.jobs):
        problem = _first_rank_problem(plan, document, index, storage_of_host)
        ranks = job_ranks(plan, job)
        if ranks < 2:
            actual = f"{ranks} rank" if ranks else "no rank"
            problem = FieldProblem(("jobs", index, "ranks"), actual, "2 ranks or more")
        if problem:
            yield problem
        if job.storage:
            storage_of_host.update({host: job.name for host, _ in rank_places(plan, job)})


def _first_rank_problem(
    plan: Plan, document: Document, index: int, storage_of_host: dict[int, str]
) -> FieldProblem | None:
    """Return the problem of the first rank of a job whose host it cannot have."""
    rank_count, job, node = plan.fabric.rank_count, plan.jobs[index], plan.fabric.node
    hosts, path = range(rank_count) if job.hosts is None else job.hosts, ("jobs", index, "ranks")
    noun, gpus_per_host = ("host", 1) if node is None else ("GPU", node.gpus)
    if node is not None and job.processes_per_host > 1:
        actual, hint = f"{job.processes_per_host} on servers", "`ranks` are GPUs, with a process each"
        return FieldProblem(("jobs", index, "processes_per_host"), actual, "1", hint)
    if len(hosts) > rank_count:
        return FieldProblem(path, f"{len(hosts)} ranks on {rank_count} {noun}s", f"at most {rank_count}")
    seen: set[int] = set()
    is_list = isinstance(document.value(path), list)
    for rank, host in enumerate(hosts):
        rank_path = (*path, rank) if is_list else path
        if host >= rank_count:
            return FieldProblem(
                rank_path, f"{noun} {host}", f"{noun}s 0 to {rank_count - 1} of this topology"
            )
        if host in seen and job.storage:
            # `check_storage` reports it with the field, clients or targets.
            return None
        if host in seen:
            hint = "" if node else "`processes_per_host` puts several ranks on each host"
            return FieldProblem(rank_path, f"{noun} {host} twice", f"each {noun} once", hint)
        if job.storage and (owner := storage_of_host.get(host // gpus_per_host)):
            actual = f"{noun} {host}, {'on a server that' if node else 'which'} storage job `{owner}` has"
            return FieldProblem(rank_path, actual, "hosts of no other storage job")
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
