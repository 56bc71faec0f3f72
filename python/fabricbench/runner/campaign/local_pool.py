"""Runs the trials of a campaign in a pool of processes on this machine, without a cluster.

Each process runs one trial at a time and writes its result tables into the workspace. A trial whose process
was killed is restarted in another process, a few times.
"""

from __future__ import annotations

import platform
import shutil
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Final

from fabricbench.backend.machine import available_cores, available_memory_bytes
from fabricbench.runner.campaign.progress_actor import Report
from fabricbench.runner.campaign.tasks import Nodes
from fabricbench.runner.campaign.worker import Answer
from fabricbench.runner.concurrency import SharedResources
from fabricbench.runner.messages import Done, Failed, Order, Setup, TrialProcessError
from fabricbench.runner.parallel import Worker
from fabricbench.runner.trial_facts import machine_facts

_RETRIES: Final = 3
"""Restarts of a trial after its process was killed."""
_REPORTS_MAX: Final = 4_096
"""Largest number of queued reports; the oldest are dropped."""
_UNKNOWN_BYTES: Final = 1 << 62
"""Memory assumed on a machine that does not report it."""


@dataclass
class _Trial:
    order: Order
    memory_bytes: int | None
    tries: int = 0
    started_s: float = 0.0


class LocalPool:
    """Processes of this machine; see `fabricbench.runner.campaign.cluster_pool` for those of a cluster.

    Attributes:
        nodes: This machine, as one node.
        is_cut_off: Always False.
    """

    is_cut_off = False

    def __init__(self, setups: Mapping[str, Setup], *, has_reports: bool = False) -> None:
        """Create a pool without processes.

        Args:
            setups: Common settings of all trials of a backend, by the name of the backend.
            has_reports: Whether trials report their progress; see `reports`.
        """
        cores, memory_bytes = available_cores(), available_memory_bytes()
        self.nodes = Nodes(cores, cores, _UNKNOWN_BYTES if memory_bytes is None else memory_bytes)
        self._resources = SharedResources(cores, cores, memory_bytes)
        self._setups = setups
        self._waiting: deque[_Trial] = deque()
        self._busy: list[tuple[Worker, _Trial]] = []
        self._idle: dict[str, list[Worker]] = {name: [] for name in setups}
        self._reports: deque[Report] | None = deque(maxlen=_REPORTS_MAX) if has_reports else None

    @property
    def tasks(self) -> int:
        """Number of trials that run or wait for a core."""
        return len(self._waiting) + len(self._busy)

    def begin(self, orders: Sequence[Order], memory_bytes: int | None) -> None:
        """Queue trials of one backend, each with this much memory."""
        self._waiting.extend(_Trial(order, memory_bytes) for order in orders)
        self._start()

    def refresh_nodes(self) -> None:
        """Do nothing: this machine does not change."""

    def reports(self) -> Sequence[Report]:
        """Return the reports since the last call; some of their trials may have ended."""
        reports = list(self._reports or ())
        if self._reports is not None:
            self._reports.clear()
        return reports

    def answers(self, timeout_s: float) -> Sequence[tuple[str, Answer | Exception]]:
        """Wait for a trial up to a timeout [s]; return the results of trials that have ended, by id."""
        ready = wait([worker.connection for worker, _ in self._busy], timeout_s)
        results: list[tuple[str, Answer | Exception]] = []
        for worker, trial in [pair for pair in self._busy if pair[0].connection in ready]:
            answer = self._received(worker, trial)
            if answer is not None:
                results.append((trial.order.facts.id, answer))
        self._start()
        return results

    def close(self) -> None:
        """End all processes."""
        idle = [worker for workers in self._idle.values() for worker in workers]
        for worker in (*(worker for worker, _ in self._busy), *idle):
            worker.end()
        self._busy.clear()
        self._waiting.clear()
        self._idle = {name: [] for name in self._setups}

    def _start(self) -> None:
        """Start trials in order while cores and memory allow."""
        while self._waiting:
            running = [trial.memory_bytes for _, trial in self._busy]
            cores = sum(trial.order.cores for _, trial in self._busy) + self._waiting[0].order.cores
            is_over = bool(running) and cores > self._resources.cores
            if is_over or not self._resources.has_room(running, self._waiting[0].memory_bytes):
                return
            self._begin(self._waiting.popleft())

    def _begin(self, trial: _Trial) -> None:
        name = trial.order.facts.backend
        worker = self._idle[name].pop() if self._idle[name] else Worker(self._setups[name])
        trial.tries += 1
        trial.started_s = time.monotonic()
        self._busy.append((worker, trial))
        if self._reports is not None:
            self._reports.append((trial.order.facts.id, None))
        worker.send(trial.order)

    def _received(self, worker: Worker, trial: _Trial) -> Answer | Exception | None:
        """Return the result of a trial; None if it is still running or was restarted."""
        message = worker.receive()
        if isinstance(message, dict):
            if self._reports is not None:
                self._reports.append((trial.order.facts.id, message))  # type: ignore[arg-type]
            return None
        self._busy.remove((worker, trial))
        if isinstance(message, Done | Failed):
            self._idle[trial.order.facts.backend].append(worker)
            busy_s = time.monotonic() - trial.started_s
            return Answer(message, None, busy_s, platform.node(), machine_facts())
        error = worker.lost(f"trial {trial.order.facts.id}")
        worker.end()
        if not isinstance(error, TrialProcessError) or trial.tries > _RETRIES:
            return error
        shutil.rmtree(trial.order.folder, ignore_errors=True)
        self._waiting.appendleft(trial)
        return None
