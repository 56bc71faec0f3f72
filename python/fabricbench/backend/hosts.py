"""Backend for real hosts: agents on the hosts run the ranks of a plan over a real network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench import __version__, _core
from fabricbench.backend.fabric_counters import OBSERVED as OF_THE_LINKS, ReadLinks, fabric_rows
from fabricbench.backend.host_counters import counter_rows
from fabricbench.backend.job_outcomes import run_summary, wrong_bytes_text
from fabricbench.backend.protocol import (
    BackendError,
    Observation,
    Observer,
    Progress,
    RefusedError,
    RunResult,
)
from fabricbench.hosts.control.hosts_file import Host, Hosts, load_hosts
from fabricbench.hosts.protocol import RefusedError as HostsRefusedError
from fabricbench.plan.endpoints import unsupported
from fabricbench.plan.engine import describe
from fabricbench.plan.expand import PlannedTrial
from fabricbench.work import collective_of

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.hosts.control.run import HostResult, Step

RESULTS: Final = "3"
"""Version of the results; a digest of the hosts is appended, because other hosts give other results."""

_NO_HOSTS: Final = "no hosts to run on"
_NO_HOSTS_HINT: Final = "name a file of hosts: `fabricbench run PLAN --backend hosts --hosts hosts.yaml`"


class HostsBackend:
    """Runs trials on the hosts of a file.

    Attributes:
        path: The file of hosts; without one only the backend's name is available.
        authority: Folder of the certificate authority that authenticates the controller to agents.
        read_links: Reads the counters of the links between the hosts, if available.
    """

    name = "hosts"

    def __init__(
        self, hosts: str | None = None, hosts_authority: str = "", read_links: ReadLinks | None = None
    ) -> None:
        self.path = hosts
        self.authority = Path(hosts_authority)
        self.read_links = read_links

    @cached_property
    def _hosts(self) -> Hosts:
        if self.path is None:
            raise BackendError(_NO_HOSTS, hint=_NO_HOSTS_HINT)
        return load_hosts(Path(self.path))

    @cached_property
    def _driver(self) -> str:
        """The common driver of all hosts: the two halves of a chunk are measured by different hosts."""
        drivers = sorted({host.driver for host in self._hosts.hosts})
        if len(drivers) > 1:
            raise BackendError(f"drivers {', '.join(drivers)} in {self.path}", "one driver for all hosts")
        return drivers[0]

    @property
    def version(self) -> str:
        """Version of the results on these hosts."""
        return f"{RESULTS}-{self._hosts.digest}"

    @property
    def engine_version(self) -> str:
        """Version of fabricbench, the same for agents and controller."""
        return __version__

    @property
    def observed(self) -> Mapping[str, Observation]:
        """Counters, and chunks as both ends saw them, without the columns that the driver cannot measure."""
        return {
            "chunks": {"at": "endpoint", "unmeasured": tuple(_core.unmeasured(self._driver))},
            "counters": {"at": "device", "unmeasured": ()},
            **(OF_THE_LINKS if self.read_links else {}),
        }

    def notes(self, planned: PlannedTrial) -> Sequence[str]:
        """Return which parts of a trial apply on hosts and which do not; see `Announcing`.

        Raises:
            RefusedError: It cannot run on hosts, or no host is assigned to one of the plan's hosts.
        """
        spec = planned.run_spec
        _check(spec)
        run_hosts = self._chosen(planned)
        ranks = sum(len(job["hosts"]) for job in spec["jobs"])
        return [
            f"{ranks} ranks on {', '.join(host.name for host in run_hosts[:8])}"
            + (f" and {len(run_hosts) - 8} more hosts" if len(run_hosts) > 8 else "")
            + f", driver {self._driver}: {_applied(self._driver)} apply as planned",
            *_not_applied(spec, self._driver),
        ]

    def _chosen(self, planned: PlannedTrial) -> tuple[Host, ...]:
        try:
            return self._hosts.for_plan(number for job in planned.run_spec["jobs"] for number in job["hosts"])
        except HostsRefusedError as error:
            raise RefusedError(error.field, error.found, error.allowed, error.hint) from error

    def run(self, planned: PlannedTrial, observer: Observer, *, threads: int | None) -> RunResult:  # noqa: ARG002
        """Run one trial; see `Backend.run`.

        Raises:
            RefusedError: The RunSpec cannot be run on hosts.
            BackendError: A host refuses it, or is lost during the run.
            KeyboardInterrupt: The user stopped the run.
        """
        from fabricbench.hosts.control.run import HostsRun
        from fabricbench.hosts.control.survey import controller_identity

        _check(planned.run_spec)
        run_hosts, observed = self._chosen(planned), _Steps(observer)
        before = self.read_links() if self.read_links else ()
        try:
            run = HostsRun(run_hosts, controller_identity(self._hosts, self.authority))
            results = run.carry_out(planned.spec_json, observed.take)
        except HostsRefusedError as error:
            raise BackendError(error.found, error.allowed, error.hint, error.field) from error
        if self.read_links:
            for table, rows in fabric_rows(describe(planned.spec_json), before, self.read_links()):
                observer.rows(table, rows)
        result = self._result(planned, results, observer, run.ended_early)
        return RunResult(result.summary, {**result.engine, "spans_s": run.spans_s})

    def _result(
        self, planned: PlannedTrial, results: Sequence[HostResult], observer: Observer, why: str
    ) -> RunResult:
        import pyarrow as pa

        batches: list[pa.RecordBatch] = _core.chunk_rows(
            planned.spec_json,
            driver=self._driver,
            sent=[result.collected.sent for result in results],
            received=[result.collected.received for result in results],
            shifts_ps={
                number: shifts
                for result in results
                if (shifts := result.clock.shifts_ps())
                for number in result.host.plays
            },
        )
        for batch in batches:
            observer.rows("chunks", batch)
        observer.rows("counters", counter_rows(results))
        failures = "; ".join(
            f"host {result.host.name}: {result.failure}" for result in results if result.failure
        )
        chunks = pa.Table.from_batches(batches) if batches else _no_chunks()
        wrong = {
            result.host.name: int(count)
            for result in results
            if (count := result.collected.counters.endpoint.get("wrong_bytes", 0))
        }
        is_unreliable = planned.run_spec["transport"].get("connection") == "uc" and self._driver != "tcp"
        messages = _messages(planned.run_spec, results) if is_unreliable else {}
        summary = run_summary(planned.run_spec, chunks, failures or why, wrong, messages)
        if wrong:
            summary["notes"] = [f"`verify`: {wrong_bytes_text(wrong)}"]
        return RunResult(summary, {"hosts": [_host_facts(result) for result in results]})


def _messages(spec: Mapping[str, Any], results: Sequence[HostResult]) -> dict[int, dict[str, int]]:
    """Return the messages that each job sent and received on unreliable connections."""
    import pyarrow as pa

    messages = {number: {"sent": 0, "received": 0} for number in range(len(spec["jobs"]))}
    for result in results:
        for end, stream in (("sent", result.collected.sent), ("received", result.collected.received)):
            rows = pa.ipc.open_stream(stream).read_all()
            for row in rows.group_by("job").aggregate([("messages", "sum")]).to_pylist():
                messages[row["job"]][end] += row["messages_sum"]
    return messages


def _no_chunks() -> pa.Table:
    """Return the table `chunks` without rows."""
    import pyarrow as pa

    names = ("round", "start_ps", "completed_ps", "delivered_ps", "src_rank", "dst_rank", "step", "qp")
    text = {name: pa.array([], pa.string()) for name in ("job", "status")}
    return pa.table({**text, **{name: pa.array([], pa.int64()) for name in names}})


def _check(spec: Mapping[str, Any]) -> None:
    """Check that endpoints can execute a run.

    Raises:
        RefusedError: They cannot.
    """
    for part in unsupported(spec):
        raise RefusedError(part.field, part.found, part.allowed)
    for number, job in enumerate(spec["jobs"]):
        if collective_of(job).get("compute_ps"):
            actual = "time to compute in each round"
            raise RefusedError(
                f"jobs[{number}].work.compute_ps", actual, "0 on hosts, whose ranks compute nothing"
            )
    if (chunks := spec["observe"]["chunks"]) != "all":
        raise RefusedError("observe.chunks", str(chunks), "all on hosts: each chunk has a row")


def _applied(driver: str) -> str:
    """Return the parts of a plan that a driver applies."""
    if driver == "tcp":
        return "jobs, sizes and queue pairs"
    if driver == "verbs":
        return "jobs, sizes, queue pairs, message size, MTU, timeout and retries"
    return "jobs, sizes, message size and MTU"


def _not_applied(spec: Mapping[str, Any], driver: str) -> Iterator[str]:
    """Yield the parts of a run that describe the fabric, and so apply to predictions only."""
    if driver == "tcp":
        yield (
            "each queue pair is a TCP connection of the kernel: what the plan says of the transport, rate "
            "control such as DCQCN included, is for predictions only, and those are of RoCE"
        )
    if driver == "verbs":
        yield (
            "recovery, windows and rate control are those of the RDMA adapters, as their hosts set them: "
            "those of the plan are for predictions only"
        )
    fabric = spec["fabric"]
    yield (
        "the fabric is the one between the hosts: topology, link rates, switches, PFC, ECN and load "
        "balancing of the plan are for predictions only"
    )
    if fabric.get("failures"):
        yield "failures of the plan are not caused"
    overheads = ("send_overhead_ps", "receive_overhead_ps", "copies_own_block")
    if any(collective_of(job).get(name) for job in spec["jobs"] for name in overheads):
        yield "the time that software takes is that of the hosts: overheads of the plan are not added"


class _Steps:
    """Forwards the progress of a run to the observer, in its format."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._began = time.monotonic()
        self._delivered_bytes = 0
        self._elapsed_ps = 0

    def take(self, step: Step) -> None:
        """Forward the current progress."""
        span_ps = step.elapsed_ps - self._elapsed_ps
        progress: Progress = {
            "delivered_bytes": step.delivered_bytes,
            "total_bytes": step.total_bytes,
            "sim_ps": step.elapsed_ps,
            "wall_s": time.monotonic() - self._began,
            "samples": [],
        }
        if span_ps > 0:
            progress["samples"].append(
                {
                    "sim_ps": step.elapsed_ps,
                    "span_ps": span_ps,
                    "delivered_bytes": step.delivered_bytes - self._delivered_bytes,
                    "queue_max_bytes": None,
                    "marked_frames": None,
                    "paused_ps": None,
                }
            )
            self._delivered_bytes, self._elapsed_ps = step.delivered_bytes, step.elapsed_ps
        self._observer.progressed(progress)


def _host_facts(result: HostResult) -> dict[str, Any]:
    """Return the description of a host for the record: identity, settings, clock error and endpoint facts."""
    return {
        "host": result.host.name,
        "plays": list(result.host.plays),
        "address": result.host.entry.address,
        "driver": result.host.driver,
        "settings": result.host.settings,
        "version": result.description.version,
        "facts": dict(sorted(result.description.facts.items())),
        "clock_offset_ns": result.clock.offset_ns,
        "clock_drift_ns": result.clock.drift_ns,
        "clock_error_ns": result.clock.error_ns,
        "completion_times": _completion_times(result.collected.counters.endpoint),
        "endpoint": {
            name: _number(value) for name, value in sorted(result.collected.counters.endpoint.items())
        },
    }


def _completion_times(endpoint: Mapping[str, float]) -> str:
    """Return the source of the completion times of a host: `adapter`, `software`, or both."""
    used, refused = (endpoint.get(name, 0) for name in ("completion_stamps", "completion_stamps_refused"))
    if not used:
        return "software"
    return "adapter and software" if refused else "adapter"


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value
