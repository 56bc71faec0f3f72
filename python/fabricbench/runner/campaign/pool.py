"""Trials on a Ray cluster: started, waited for, started again where a worker or a node was lost.

Ray places each task by the cores and the memory that it asks for; several short trials are one task. A worker
that sees the workspace writes records into it; any other sends their files back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from fabricbench.runner.campaign.board import Board, Report
from fabricbench.runner.campaign.cluster import LOCAL, head_of, joined, listens
from fabricbench.runner.campaign.worker import Answer, carry_out
from fabricbench.runner.messages import ClusterError, Order, Setup, TrialProcessError

if TYPE_CHECKING:
    from ray import ObjectRef

_RETRIES: Final = 3
"""How often a trial is started again after its worker or its node was lost."""
_MARK: Final = ".campaign"
_HEAD_GONE_S: Final = 10
"""How long the head of a cluster may not listen: Ray waits for a minute, and then ends this process."""
_HEAD_ANSWERS_S: Final = 2
_FETCH_S: Final = 20
"""How long what a task has returned is waited for at a time; the node that has it may be gone."""
_GONE: Final = (
    "finished trials have their record; the same command, or resuming the run, goes on with the rest"
)


@dataclass(frozen=True)
class _Task:
    orders: Sequence[Order]
    memory_bytes: int | None


class Pool:
    """The workers of a cluster.

    Attributes:
        cores: Cores that they have together, one at least: nodes come and go.
        cores_max: The most cores of one node.
        memory_bytes_max: The most memory that one node lets its trials have.
    """

    def __init__(
        self, on: str, setups: Mapping[str, Setup], records: Path, *, has_reports: bool = False
    ) -> None:
        """Start Ray on this machine, or join a cluster.

        Args:
            on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.
            setups: What all trials of a backend have in common, by its name.
            records: The folder in which records are written.
            has_reports: Whether trials tell how far they are; see `reports`.

        Raises:
            ClusterError: Ray is not installed, or there is no such cluster.
        """
        self._on = on
        self._ray = ray = joined(on)
        self._mark = records / f"{_MARK}-{uuid4().hex[:12]}"
        self._head = head_of(ray, on)
        self._missed_at: float | None = None
        self._tasks: dict[ObjectRef[list[Answer]], _Task] = {}
        self.look()
        with self._reached():
            self._setups = {name: ray.put(setup) for name, setup in setups.items()}
            self._carry_out = ray.remote(max_retries=_RETRIES, retry_exceptions=False)(carry_out)
            self._asked: ObjectRef[list[Report]] | None = None
            self._board = ray.remote(num_cpus=0, max_restarts=-1)(Board).remote() if has_reports else None
        self._mark.write_text("")

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Say that the cluster is gone if Ray does not reach it."""
        try:
            yield
        except (ConnectionError, self._ray.exceptions.RaySystemError) as error:
            raise self._gone(_first_line(error)) from error

    def _gone(self, reason: str) -> ClusterError:
        where = "Ray on this machine" if self._on == LOCAL else f"the Ray cluster at {self._on}"
        return ClusterError(f"{where} is gone: {reason}", _GONE)

    @property
    def is_cut_off(self) -> bool:
        """Whether the head did not listen when nodes were looked for: nothing is to be asked of Ray then."""
        return self._missed_at is not None

    @property
    def tasks(self) -> int:
        """How many tasks run or wait for a core."""
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

    def look(self) -> None:
        """See which nodes there are, unless the head does not listen just now.

        Raises:
            ClusterError: The cluster is gone.
        """
        if self._head is not None and not listens(self._head, _HEAD_ANSWERS_S):
            self._missed_at = self._missed_at or time.monotonic()
            if time.monotonic() - self._missed_at > _HEAD_GONE_S:
                raise self._gone(f"its head has not listened at {_address(self._head)} for {_HEAD_GONE_S} s")
            return
        self._missed_at = None
        with self._reached():
            nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        self.cores = max(1, int(sum(node.get("CPU", 0) for node in nodes)))
        self.cores_max = max(1, int(max((node.get("CPU", 0) for node in nodes), default=0)))
        self.memory_bytes_max = int(max((node.get("memory", 0) for node in nodes), default=0))

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

    def answers(self, timeout_s: float) -> Iterator[tuple[str, Answer | Exception]]:
        """Wait for a task at most so long [s], then yield what came of each trial that has ended, by its id.

        Raises:
            ClusterError: The cluster is gone.
        """
        with self._reached():
            ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=timeout_s)
            if ready:
                ready, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        for task in ready:
            yield from self._answers_of(task)

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
        # Ray waits for a head that is gone until it ends this process, before the reason could be told.
        for task in () if self.is_cut_off else self._tasks:
            with suppress(Exception):
                self._ray.cancel(task, force=True)
        with suppress(Exception):  # it may be gone
            self._ray.shutdown()
        self._mark.unlink(missing_ok=True)


def _address(at: tuple[str, int]) -> str:
    host, port = at
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
