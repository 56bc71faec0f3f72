"""The workers of a Ray cluster as a campaign has them: through a process that is told what to do there.

Ray ends the process that uses it when the cluster goes, at any place and with any exit status, or waits in it
for a minute. Here that costs a process which has nothing to lose; see `fabricbench.runner.campaign.tasks`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from fabricbench.runner.campaign.board import Report
from fabricbench.runner.campaign.cluster import gone, listens
from fabricbench.runner.campaign.tasks import Nodes
from fabricbench.runner.campaign.worker import Answer
from fabricbench.runner.messages import Failed, Order, Setup
from fabricbench.runner.peer import Peer

_MARK: Final = ".campaign"
_STDERR: Final = 2
"""The descriptor, also where a notebook has put something else in the place of `sys.stderr`."""
_WATCH_S: Final = 1
_HEAD_GONE_S: Final = 10
"""How long the head of a cluster may not listen."""
_HEAD_ANSWERS_S: Final = 2
_LET_GO_S: Final = 20
"""How long the process may take to end what runs and to let go of the cluster."""


class Pool:
    """The workers of a cluster.

    Attributes:
        nodes: What nodes it has, as of the last `look`.
        tasks: How many tasks run or wait for a core.
    """

    nodes: Nodes

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
        self.tasks = 0
        self._head: tuple[str, int] | None = None
        self._missed_at: float | None = None
        self._mark = records / f"{_MARK}-{uuid4().hex[:12]}"
        self._mark.write_text("")
        # Ray tells of lost workers on standard output, which is for the result.
        self._peer = Peer("fabricbench.runner.campaign.tasks", stdout=_STDERR)
        try:
            self._head = self._told((on, setups, self._mark, has_reports))
            self.nodes = self._ask("nodes")
        except BaseException:
            self.close()
            raise

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Have a method of `Tasks` called."""
        return self._told((method, arguments))

    def _told(self, message: object) -> Any:
        """Return what the process answers to a message.

        Raises:
            ClusterError: The process is gone, or the head has not listened for long.
        """
        try:
            self._peer.connection.send(message)
            while not self._peer.connection.poll(_WATCH_S):
                self._see_head()
            answer = self._peer.connection.recv()
        except (EOFError, OSError) as error:
            self._peer.end(_WATCH_S)
            raise gone(self._on, f"the process that used it {self._peer.ending()}") from error
        if isinstance(answer, Failed):
            raise answer.error
        self.tasks, returned = answer
        return returned

    def _see_head(self) -> None:
        """See whether the head listens, and give the cluster up if it has not done so for long."""
        if self._head is None or listens(self._head, _HEAD_ANSWERS_S):
            self._missed_at = None
            return
        self._missed_at = self._missed_at or time.monotonic()
        if time.monotonic() - self._missed_at > _HEAD_GONE_S:
            where = _address(self._head)
            raise gone(self._on, f"its head has not listened at {where} for {_HEAD_GONE_S} s")

    @property
    def is_cut_off(self) -> bool:
        """Whether the head did not listen when it was last looked for: nothing is to be asked then."""
        return self._missed_at is not None

    def begin(self, orders: Sequence[Order], memory_bytes: int | None) -> None:
        """Have trials of one backend carried out one after the other, in this much memory.

        Raises:
            ClusterError: The cluster is gone.
        """
        self._ask("begin", orders, memory_bytes)

    def look(self) -> None:
        """See which nodes there are, unless the head does not listen just now.

        Raises:
            ClusterError: The cluster is gone.
        """
        self._see_head()
        if not self.is_cut_off:
            self.nodes = self._ask("nodes")

    def reports(self) -> Sequence[Report]:
        """Return what trials have told since the last time, some of which may have ended."""
        reports: Sequence[Report] = self._ask("reports")
        return reports

    def answers(self, timeout_s: float) -> Sequence[tuple[str, Answer | Exception]]:
        """Wait for a task at most so long [s]; return what came of each trial that has ended, by its id.

        Raises:
            ClusterError: The cluster is gone.
        """
        answers: Sequence[tuple[str, Answer | Exception]] = self._ask("answers", timeout_s)
        return answers

    def close(self) -> None:
        """End what runs and let go of the cluster."""
        self._peer.end(0 if self.is_cut_off else _LET_GO_S)
        self._mark.unlink(missing_ok=True)


def _address(at: tuple[str, int]) -> str:
    host, port = at
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
