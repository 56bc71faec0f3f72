"""Runs trials on a Ray cluster, and restarts them if a worker or a node is lost.

This runs in a separate process, started by `fabricbench.runner.campaign.cluster_pool`, because Ray may end
its client process when the cluster disappears.

Ray schedules each task by the cores and the memory that it requests; several short trials form one task. A
worker that can access the workspace writes records into it; any other sends their files back.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.runner.campaign.cluster import cluster_lost, head_of, joined
from fabricbench.runner.campaign.progress_actor import Board, Report
from fabricbench.runner.campaign.worker import Answer, run_orders
from fabricbench.runner.messages import Failed, Order, Setup, TrialProcessError

if TYPE_CHECKING:
    from ray import ObjectRef

_RETRIES: Final = 3
"""Restarts of a trial after its worker or node was lost."""
_FETCH_S: Final = 20
"""Timeout of one attempt to fetch the result of a task [s]; the node that stores it may be lost."""


@dataclass(frozen=True)
class _Task:
    orders: Sequence[Order]
    memory_bytes: int | None


@dataclass(frozen=True)
class Nodes:
    """Totals over the nodes of a cluster.

    Attributes:
        cores: Cores of all nodes, at least one, because nodes may leave and rejoin.
        cores_max: Cores of the largest node.
        memory_bytes_max: Largest memory that a node offers to its trials [bytes].
    """

    cores: int
    cores_max: int
    memory_bytes_max: int


class Tasks:
    """The tasks that run on a cluster or wait for a core."""

    def __init__(self, on: str, setups: Mapping[str, Setup], mark: Path, *, has_reports: bool) -> None:
        """Start Ray on this machine, or join a cluster.

        Args:
            on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.
            setups: Common settings of all trials of a backend, by the name of the backend.
            mark: A file in the workspace; a worker that finds it can access the workspace.
            has_reports: Whether trials report their progress; see `reports`.

        Raises:
            ClusterError: Ray is not installed, or there is no such cluster.
        """
        self._on = on
        self._ray = ray = joined(on)
        self._mark = mark
        self._tasks: dict[ObjectRef[list[Answer]], _Task] = {}
        with self._reached():
            self._setups = {name: ray.put(setup) for name, setup in setups.items()}
            self._run_orders = ray.remote(max_retries=_RETRIES, retry_exceptions=False)(run_orders)
            self._pending_request: ObjectRef[list[Report]] | None = None
            self._board = ray.remote(num_cpus=0, max_restarts=-1)(Board).remote() if has_reports else None

    @property
    def head(self) -> tuple[str, int] | None:
        """Host and port of the head of the cluster; None for `ray://`, where Ray's client monitors it."""
        return head_of(self._ray, self._on)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Raise a ClusterError if Ray does not reach the cluster."""
        try:
            yield
        except (OSError, self._ray.exceptions.RaySystemError) as error:
            raise cluster_lost(self._on, _first_line(error)) from error

    def __len__(self) -> int:
        """Return the number of tasks; each has one or more trials."""
        return len(self._tasks)

    def begin(self, orders: Sequence[Order], memory_bytes: int | None) -> None:
        """Run trials of one backend in sequence, with this much memory.

        Raises:
            ClusterError: The cluster has disappeared.
        """
        resources: dict[str, Any] = {"num_cpus": orders[0].cores}
        if memory_bytes is not None:
            resources["memory"] = memory_bytes
        with self._reached():
            setup = self._setups[orders[0].facts.backend]
            task = self._run_orders.options(**resources).remote(setup, orders, str(self._mark), self._board)
            # A client's reference has no hash before the cluster has replied.
            self._tasks[task] = _Task(orders, memory_bytes)

    def nodes(self) -> Nodes:
        """Return the totals over the nodes that are alive.

        Raises:
            ClusterError: The cluster has disappeared.
        """
        with self._reached():
            nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        cores = [node.get("CPU", 0) for node in nodes]
        memory = (node.get("memory", 0) for node in nodes)
        return Nodes(max(1, int(sum(cores))), max(1, int(max(cores, default=0))), int(max(memory, default=0)))

    def reports(self) -> Sequence[Report]:
        """Return the reports since the last call; some of their trials may have ended."""
        if self._board is None:
            return ()
        try:
            # The request is polled, not awaited: the board may still be starting.
            request, self._pending_request = self._pending_request or self._board.take.remote(), None
            if not self._ray.wait([request], timeout=0)[0]:
                self._pending_request = request
                return ()
            reports: list[Report] = self._ray.get(request)
        except Exception:  # noqa: BLE001 -- the board may be lost with its node; Ray restarts it
            return ()
        return reports

    def answers(self, timeout_s: float) -> list[tuple[str, Answer | Exception]]:
        """Wait for a task up to a timeout [s]; return the results of trials that have ended, by id.

        Raises:
            ClusterError: The cluster has disappeared.
        """
        with self._reached():
            ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=timeout_s)
            if ready:
                ready, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        return [answer for task in ready for answer in self._answers_of(task)]

    def _answers_of(self, task: ObjectRef[list[Answer]]) -> Iterator[tuple[str, Answer | Exception]]:
        orders = self._tasks[task].orders
        try:
            with self._reached():
                answers = self._ray.get(task, timeout=_FETCH_S)
        except self._ray.exceptions.GetTimeoutError:
            return  # the task is polled again later
        except self._ray.exceptions.RayError as error:
            lost_task = self._tasks.pop(task)
            if len(orders) == 1:
                yield orders[0].facts.id, self._failure(error)
            # One trial may be the cause: retry each in its own task, so that the others do not fail.
            for order in orders if len(orders) > 1 else ():
                self.begin([order], lost_task.memory_bytes)
            return
        del self._tasks[task]
        yield from ((order.facts.id, answer) for order, answer in zip(orders, answers, strict=True))

    def _failure(self, error: Exception) -> TrialProcessError:
        if isinstance(error, self._ray.exceptions.RayTaskError):
            return TrialProcessError(f"its worker cannot carry it out: {str(error).strip().splitlines()[-1]}")
        return TrialProcessError(f"the trial was lost {_RETRIES + 1} times: {_first_line(error)}")

    def close(self) -> None:
        """End all tasks and leave the cluster."""
        for task in self._tasks:
            with suppress(Exception):
                self._ray.cancel(task, force=True)
        with suppress(Exception):  # the cluster may have disappeared
            self._ray.shutdown()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def main(descriptor: int) -> None:
    """Serve requests from a connection until the other end closes it.

    Args:
        descriptor: File descriptor of the connection. The first message has the arguments of `Tasks`, each
            further one the name of a method and its arguments. The answer is the number of tasks and the
            returned value, or `Failed`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process of the campaign handles Ctrl-C
    connection: Connection[Any, Any] = Connection(descriptor)
    tasks: Tasks | None = None
    try:
        on, setups, mark, has_reports = connection.recv()
        try:
            tasks = Tasks(on, setups, mark, has_reports=has_reports)
            connection.send((0, tasks.head))
        except Exception as error:  # noqa: BLE001 -- the process of the campaign decides
            connection.send(Failed.by(error))
            return
        while True:
            name, arguments = connection.recv()
            try:
                returned = getattr(tasks, name)(*arguments)
                connection.send((len(tasks), returned))
            except Exception as error:  # noqa: BLE001 -- the process of the campaign decides
                connection.send(Failed.by(error))
    except (EOFError, OSError):
        return
    finally:
        if tasks is not None:
            tasks.close()
