"""Runs the trials of a campaign on the workers of a Ray cluster, through a separate process.

When its cluster disappears, Ray may end its client process at any point with any exit status, or block it for
a minute. The separate process isolates the campaign from this; see `fabricbench.runner.campaign.tasks`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from fabricbench.runner.campaign.cluster import cluster_lost, listens
from fabricbench.runner.campaign.progress_actor import Report
from fabricbench.runner.campaign.tasks import Nodes
from fabricbench.runner.campaign.worker import Answer
from fabricbench.runner.messages import Failed, Order, Setup
from fabricbench.runner.parallel import Peer

_MARK: Final = ".campaign"
_STDERR: Final = 2
"""File descriptor of stderr, also valid where a notebook has replaced `sys.stderr`."""
_HEAD_CHECK_S: Final = 1
_HEAD_TIMEOUT_S: Final = 10
"""Time without a listening head after which a cluster counts as lost [s]."""
_HEAD_CONNECT_S: Final = 2
_SHUTDOWN_S: Final = 20
"""Time that the process has to end its tasks and to leave the cluster [s]."""


class Pool:
    """The workers of a cluster.

    Attributes:
        nodes: Its nodes at the last `refresh_nodes`.
        tasks: Number of tasks that run or wait for a core.
    """

    nodes: Nodes

    def __init__(
        self, on: str, setups: Mapping[str, Setup], records: Path, *, has_reports: bool = False
    ) -> None:
        """Start Ray on this machine, or join a cluster.

        Args:
            on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.
            setups: Common settings of all trials of a backend, by the name of the backend.
            records: The folder of the records.
            has_reports: Whether trials report their progress; see `reports`.

        Raises:
            ClusterError: Ray is not installed, or there is no such cluster.
        """
        self._on = on
        self.tasks = 0
        self._head: tuple[str, int] | None = None
        self._missed_at: float | None = None
        self._mark = records / f"{_MARK}-{uuid4().hex[:12]}"
        self._mark.write_text("")
        # Ray logs lost workers to standard output, which is reserved for the result.
        self._peer = Peer("fabricbench.runner.campaign.tasks", stdout=_STDERR)
        try:
            self._head = self._request((on, setups, self._mark, has_reports))
            self.nodes = self._call("nodes")
        except BaseException:
            self.close()
            raise

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method of `Tasks` in the process."""
        return self._request((method, arguments))

    def _request(self, message: object) -> Any:
        """Send a message to the process and return its answer.

        Raises:
            ClusterError: The process has ended, or the head has not listened for too long.
        """
        try:
            self._peer.connection.send(message)
            while not self._peer.connection.poll(_HEAD_CHECK_S):
                self._see_head()
            answer = self._peer.connection.recv()
        except (EOFError, OSError) as error:
            self._peer.end(_HEAD_CHECK_S)
            raise cluster_lost(self._on, f"the process that used it {self._peer.ending()}") from error
        if isinstance(answer, Failed):
            raise answer.error
        self.tasks, returned = answer
        return returned

    def _see_head(self) -> None:
        """Check that the head listens; raise if it has not done so for too long."""
        if self._head is None or listens(self._head, _HEAD_CONNECT_S):
            self._missed_at = None
            return
        self._missed_at = self._missed_at or time.monotonic()
        if time.monotonic() - self._missed_at > _HEAD_TIMEOUT_S:
            head_address = _address(self._head)
            raise cluster_lost(
                self._on, f"its head has not listened at {head_address} for {_HEAD_TIMEOUT_S} s"
            )

    @property
    def is_cut_off(self) -> bool:
        """Whether the head did not listen at the last check; no requests should be sent then."""
        return self._missed_at is not None

    def begin(self, orders: Sequence[Order], memory_bytes: int | None) -> None:
        """Run trials of one backend in sequence, with this much memory.

        Raises:
            ClusterError: The cluster has disappeared.
        """
        self._call("begin", orders, memory_bytes)

    def refresh_nodes(self) -> None:
        """Refresh the list of nodes, unless the head is not listening.

        Raises:
            ClusterError: The cluster has disappeared.
        """
        self._see_head()
        if not self.is_cut_off:
            self.nodes = self._call("nodes")

    def reports(self) -> Sequence[Report]:
        """Return the reports since the last call; some of their trials may have ended."""
        reports: Sequence[Report] = self._call("reports")
        return reports

    def answers(self, timeout_s: float) -> Sequence[tuple[str, Answer | Exception]]:
        """Wait for a task up to a timeout [s]; return the results of trials that have ended, by id.

        Raises:
            ClusterError: The cluster has disappeared.
        """
        answers: Sequence[tuple[str, Answer | Exception]] = self._call("answers", timeout_s)
        return answers

    def close(self) -> None:
        """End all tasks and leave the cluster."""
        self._peer.end(0 if self.is_cut_off else _SHUTDOWN_S)
        self._mark.unlink(missing_ok=True)


def _address(host_and_port: tuple[str, int]) -> str:
    host, port = host_and_port
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
