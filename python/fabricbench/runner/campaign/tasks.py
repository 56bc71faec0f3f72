"""Trials on a Ray cluster: started, waited for, started again where a worker or a node was lost.

This is done in a process of its own, which `fabricbench.runner.campaign.pool` has: Ray ends the process that
uses it, in ways of its own, when its cluster goes.

Ray places each task by the cores and the memory that it asks for; several short trials are one task. A worker
that sees the workspace writes records into it; any other sends their files back.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.runner.campaign.board import Board, Report
from fabricbench.runner.campaign.cluster import gone, head_of, joined
from fabricbench.runner.campaign.worker import Answer, carry_out
from fabricbench.runner.messages import Failed, Order, Setup, TrialProcessError

if TYPE_CHECKING:
    from ray import ObjectRef

_RETRIES: Final = 3
"""How often a trial is started again after its worker or its node was lost."""
_FETCH_S: Final = 20
"""How long what a task has returned is waited for at a time; the node that has it may be gone."""


@dataclass(frozen=True)
class _Task:
    orders: Sequence[Order]
    memory_bytes: int | None


@dataclass(frozen=True)
class Nodes:
    """The nodes of a cluster together.

    Attributes:
        cores: Cores that they have together, one at least: nodes come and go.
        cores_max: The most cores of one node.
        memory_bytes_max: The most memory that one node lets its trials have.
    """

    cores: int
    cores_max: int
    memory_bytes_max: int


class Tasks:
    """What runs on a cluster, or waits for a core."""

    def __init__(self, on: str, setups: Mapping[str, Setup], mark: Path, *, has_reports: bool) -> None:
        """Start Ray on this machine, or join a cluster.

        Args:
            on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.
            setups: What all trials of a backend have in common, by its name.
            mark: A file of the workspace, by which a worker knows whether it sees that.
            has_reports: Whether trials tell how far they are; see `reports`.

        Raises:
            ClusterError: Ray is not installed, or there is no such cluster.
        """
        self._on = on
        self._ray = ray = joined(on)
        self._mark = mark
        self._tasks: dict[ObjectRef[list[Answer]], _Task] = {}
        with self._reached():
            self._setups = {name: ray.put(setup) for name, setup in setups.items()}
            self._carry_out = ray.remote(max_retries=_RETRIES, retry_exceptions=False)(carry_out)
            self._asked: ObjectRef[list[Report]] | None = None
            self._board = ray.remote(num_cpus=0, max_restarts=-1)(Board).remote() if has_reports else None

    @property
    def head(self) -> tuple[str, int] | None:
        """Where the head of the cluster listens; none where Ray's client looks after that."""
        return head_of(self._ray, self._on)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Say that the cluster is gone if Ray does not reach it."""
        try:
            yield
        except (OSError, self._ray.exceptions.RaySystemError) as error:
            raise gone(self._on, _first_line(error)) from error

    def __len__(self) -> int:
        """How many tasks there are; each has one trial or more."""
        return len(self._tasks)

    def begin(self, orders: Sequence[Order], memory_bytes: int | None) -> None:
        """Have trials of one backend carried out one after the other, in this much memory.

        Raises:
            ClusterError: The cluster is gone.
        """
        wanted: dict[str, Any] = {"num_cpus": orders[0].cores}
        if memory_bytes is not None:
            wanted["memory"] = memory_bytes
        with self._reached():
            setup = self._setups[orders[0].facts.backend]
            task = self._carry_out.options(**wanted).remote(setup, orders, str(self._mark), self._board)
            # A client's reference has no hash before the cluster has answered.
            self._tasks[task] = _Task(orders, memory_bytes)

    def nodes(self) -> Nodes:
        """Return which nodes there are.

        Raises:
            ClusterError: The cluster is gone.
        """
        with self._reached():
            nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        cores = [node.get("CPU", 0) for node in nodes]
        memory = (node.get("memory", 0) for node in nodes)
        return Nodes(max(1, int(sum(cores))), max(1, int(max(cores, default=0))), int(max(memory, default=0)))

    def reports(self) -> Sequence[Report]:
        """Return what trials have told since the last time, some of which may have ended."""
        if self._board is None:
            return ()
        try:
            # It is asked and not waited for: it may just start.
            asked, self._asked = self._asked or self._board.take.remote(), None
            if not self._ray.wait([asked], timeout=0)[0]:
                self._asked = asked
                return ()
            taken: list[Report] = self._ray.get(asked)
        except Exception:  # noqa: BLE001 -- the board may be gone with its node; it is there again before long
            return ()
        return taken

    def answers(self, timeout_s: float) -> list[tuple[str, Answer | Exception]]:
        """Wait for a task at most so long [s]; return what came of each trial that has ended, by its id.

        Raises:
            ClusterError: The cluster is gone.
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
            return  # it stays among the tasks
        except self._ray.exceptions.RayError as error:
            lost = self._tasks.pop(task)
            if len(orders) == 1:
                yield orders[0].facts.id, self._failure(error)
            # One of them may be at fault, and the others are not to fail with it.
            for order in orders if len(orders) > 1 else ():
                self.begin([order], lost.memory_bytes)
            return
        del self._tasks[task]
        yield from ((order.facts.id, answer) for order, answer in zip(orders, answers, strict=True))

    def _failure(self, error: Exception) -> TrialProcessError:
        if isinstance(error, self._ray.exceptions.RayTaskError):
            return TrialProcessError(f"its worker cannot carry it out: {str(error).strip().splitlines()[-1]}")
        return TrialProcessError(f"the trial was lost {_RETRIES + 1} times: {_first_line(error)}")

    def close(self) -> None:
        """End what runs and let go of the cluster."""
        for task in self._tasks:
            with suppress(Exception):
                self._ray.cancel(task, force=True)
        with suppress(Exception):  # it may be gone
            self._ray.shutdown()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def main(descriptor: int) -> None:
    """Do what comes in over a connection, until its other end is gone.

    Args:
        descriptor: Of the connection. First come the arguments of `Tasks`, then the name of a method and its
            arguments, again and again. Each is answered by how many tasks there are and what is returned, or
            by `Failed`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process of the campaign
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
