"""Checks of storage jobs: hosts, length, excluded fields and block sizes."""

from collections.abc import Iterator

from fabricbench import units
from fabricbench.plan.errors import FieldPath, FieldProblem
from fabricbench.plan.jobs import STORAGE
from fabricbench.plan.jobs.model import Job
from fabricbench.plan.jobs.storage import LOGICAL_BLOCK_BYTES, Storage
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.sizes import own_size, sweep_sizes


def check_storage(plan: Plan) -> Iterator[FieldProblem]:
    """Yield the problems of the storage jobs of a plan."""
    for index, job in enumerate(plan.jobs):
        path: FieldPath = ("jobs", index)
        if job.storage is None:
            if job.collective == STORAGE:
                hint = "add `storage: {clients: ..., targets: ..., duration: ...}`"
                yield FieldProblem((*path, "storage"), "nothing", "what the clients do", hint)
            continue
        if job.collective != STORAGE:
            actual = f"`{job.collective}` with `storage`"
            yield FieldProblem((*path, "collective"), actual, STORAGE)
        yield from _check_hosts(job, job.storage, path)
        yield from _check_servers(plan, job, (*path, "storage"))
        yield from _check_length(job.storage, (*path, "storage"))
        yield from _check_excluded(plan, job, path)
        yield from _check_blocks(plan, job, path)


def _check_hosts(job: Job, storage: Storage, path: FieldPath) -> Iterator[FieldProblem]:
    storage_path = (*path, "storage")
    if job.processes_per_host > 1:
        actual = f"{job.processes_per_host} ranks on each host of a storage job"
        yield FieldProblem((*path, "processes_per_host"), actual, "1")
    for name, hosts in (("clients", storage.clients), ("targets", storage.targets)):
        if not hosts:
            yield FieldProblem((*storage_path, name), "all hosts", 'hosts such as "0-10"')
            return
    clients, targets = storage.clients or (), storage.targets or ()
    shared_hosts = [host for host in targets if host in clients]
    repeated_hosts = [host for host in (*clients, *targets) if (*clients, *targets).count(host) > 1]
    if shared_hosts:
        actual = f"host {shared_hosts[0]}, which is a client"
        yield FieldProblem((*storage_path, "targets"), actual, "hosts that are no clients")
    elif repeated_hosts:
        name = "clients" if repeated_hosts[0] in clients else "targets"
        yield FieldProblem((*storage_path, name), f"host {repeated_hosts[0]} twice", "each host once")
    elif list(job.hosts or ()) != [*clients, *targets]:
        hint = "leave `ranks` out: clients and targets are the ranks"
        yield FieldProblem((*path, "ranks"), "ranks of a storage job", "nothing", hint)


def _check_servers(plan: Plan, job: Job, storage_path: FieldPath) -> Iterator[FieldProblem]:
    """Check that no node has two clients or targets: queue pairs of storage are between hosts."""
    node = plan.fabric.node
    if node is None or job.storage is None:
        return
    seen: set[int] = set()
    for name, gpus in (("clients", job.storage.clients or ()), ("targets", job.storage.targets or ())):
        for gpu in gpus:
            host = gpu // node.gpus
            if host in seen:
                noun = "server" if node.servers == 1 else "scale-up domain"
                actual = f"GPU {gpu}, on a {noun} that has a client or target"
                yield FieldProblem((*storage_path, name), actual, f"one GPU of each {noun}")
                return
            seen.add(host)


def _check_length(storage: Storage, storage_path: FieldPath) -> Iterator[FieldProblem]:
    if storage.duration_ps is None and storage.operations is None:
        hint = "add `duration: 10ms`"
        yield FieldProblem(
            (*storage_path, "duration"), "neither duration nor operations", "one of them", hint
        )
    if storage.duration_ps is not None and storage.operations is not None:
        yield FieldProblem((*storage_path, "operations"), "operations beside a duration", "one of them")
    if storage.duration_ps is not None and storage.warm_up_ps >= storage.duration_ps:
        actual = f"{units.format_time(storage.warm_up_ps)} of {units.format_time(storage.duration_ps)}"
        yield FieldProblem((*storage_path, "warm_up"), actual, "less than the duration")


def _check_excluded(plan: Plan, job: Job, path: FieldPath) -> Iterator[FieldProblem]:
    """Check that a storage job has no fields that it excludes."""
    if job.algorithm is not None:
        yield FieldProblem((*path, "algorithm"), f'"{job.algorithm}"', "none for a storage job")
    if job.arrivals is not None:
        yield FieldProblem((*path, "arrivals"), "arrivals of a storage job", "none: it is a closed loop")
    for name in ("step_overhead", "send_overhead", "receive_overhead"):
        if getattr(job, f"{name}_ps"):
            yield FieldProblem((*path, name), "an overhead of a storage job", "0s")
    if job.repeat not in (None, 1):
        hint = "`storage.duration` says how long it lasts"
        yield FieldProblem((*path, "repeat"), f"{job.repeat} rounds of a storage job", "1", hint)
    if plan.transport.recovery != "go_back_n":
        actual = f"{plan.transport.recovery} with storage job `{job.name}`"
        yield FieldProblem(("transport", "recovery"), actual, "go_back_n: commands are taken in order")


def _check_blocks(plan: Plan, job: Job, path: FieldPath) -> Iterator[FieldProblem]:
    has_block_size = job.storage is not None and job.storage.block_bytes is not None
    size_path = (*path, "storage", "block_size") if has_block_size else (*path, "data_size")
    own_bytes = own_size(job)
    sizes = sweep_sizes(plan) if own_bytes is None else [(own_bytes, size_path)]
    if has_block_size and job.storage is not None and job.storage.block_bytes != own_bytes:
        yield FieldProblem((*path, "data_size"), "a data size beside a block size", "one of them")
    for size, field_path in sizes:
        if size % LOGICAL_BLOCK_BYTES:
            actual = f"a block of {size} bytes"
            multiple_below = size // LOGICAL_BLOCK_BYTES * LOGICAL_BLOCK_BYTES
            nearest = [
                units.format_size(value)
                for value in (multiple_below, multiple_below + LOGICAL_BLOCK_BYTES)
                if value
            ]
            hint = f"the nearest: {' and '.join(nearest)}"
            yield FieldProblem(field_path, actual, f"a multiple of {LOGICAL_BLOCK_BYTES} bytes", hint)
            return
