"""Runs trials of several plans concurrently, on this machine or a Ray cluster, into a workspace.

The processes persist for the whole search, because most of its trials take less time than starting a process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Protocol, cast

from fabricbench.backend.machine import available_cores, available_memory_bytes
from fabricbench.backend.protocol import SharingCores
from fabricbench.runner.campaign.cluster import LOCAL
from fabricbench.runner.campaign.execution import drive
from fabricbench.runner.campaign.trial_units import Unit
from fabricbench.runner.concurrency import SharedResources
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.messages import Done, Order, Setup
from fabricbench.runner.parallel import Task, Worker
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import Workspace
from fabricbench.store.record.writer import Attempt, ReadyTrial, finish_together


class Executor(Protocol):
    """Interface that runs trials."""

    def run(self, units: Sequence[Unit]) -> None:
        """Run trials without a record; one that fails has none afterwards, and stops no other."""

    def check(self) -> None:
        """Raise if the user stopped the search."""

    def close(self) -> None:
        """Release all resources."""


def executor_of(on: str, workspace: Workspace, interrupts: Interrupts) -> Executor:
    """Return the executor for this machine (`local`) or for the Ray cluster at an address."""
    if on == LOCAL:
        return OnThisMachine(workspace, interrupts)
    return OnCluster(workspace, interrupts, on)


class OnThisMachine:
    """Processes on this machine, at most one per core."""

    def __init__(self, workspace: Workspace, interrupts: Interrupts) -> None:
        """Take the workspace and the signal handling."""
        self._workspace = workspace
        self._interrupts = interrupts
        cores = available_cores()
        self._resources = SharedResources(cores, cores, available_memory_bytes())
        self._busy: list[Worker] = []
        self._idle: dict[str, list[Worker]] = {}
        self._open: dict[str, Attempt] = {}

    def run(self, units: Sequence[Unit]) -> None:
        """Run trials, longest first."""
        waiting = deque(sorted(units, key=lambda unit: unit.cost_ms, reverse=True))
        try:
            while waiting or self._busy:
                self._interrupts.check()
                while waiting and self._has_room(waiting[0]):
                    self._begin(waiting.popleft(), len(units))
                with self._interrupts.allowed():
                    ready = wait([worker.connection for worker in self._busy])
                self._finish([busy_worker for busy_worker in self._busy if busy_worker.connection in ready])
        except BaseException as error:
            self.close()
            for attempt in self._open.values():
                attempt.give_up(error)
            raise

    def check(self) -> None:
        """Raise if the user stopped the search."""
        self._interrupts.check()

    def close(self) -> None:
        """End the processes."""
        for worker in (*self._busy, *(worker for idle in self._idle.values() for worker in idle)):
            worker.end()
        self._busy.clear()
        self._idle.clear()

    def _has_room(self, unit: Unit) -> bool:
        running = [worker.task.memory_bytes for worker in self._busy if worker.task is not None]
        return self._resources.has_room(running, unit.memory_bytes)

    def _begin(self, unit: Unit, count: int) -> None:
        task = Task(unit.planned, unit.facts, 0, unit.memory_bytes)
        attempt = self._workspace.begin_elsewhere(unit.facts, machine_facts())
        self._open[unit.facts.id] = attempt
        idle = self._idle.setdefault(unit.facts.backend, [])
        backend = cast("SharingCores", unit.backend)
        worker = idle.pop() if idle else Worker(Setup(backend, None))
        self._busy.append(worker)
        cores = self._resources.cores_of(unit.memory_bytes, count)
        worker.begin(task, Order(unit.planned, unit.facts, attempt.folder, cores))

    def _finish(self, workers: Sequence[Worker]) -> None:
        """Process the messages of workers, and finish complete records."""
        ready: dict[str, ReadyTrial] = {}
        for worker in workers:
            task, message = worker.task, worker.receive()
            if task is None:
                raise AssertionError("a process that has nothing to do is heard")
            if isinstance(message, dict):
                continue
            self._busy.remove(worker)
            worker.task = None
            trial = task.facts.id
            if isinstance(message, Done):
                ready[trial] = self._open[trial].ready(message.summary, message.engine, message.record)
            else:
                error = worker.lost(f"trial {trial}") if message is None else message.error
                self._open.pop(trial).give_up(error)
            if message is None:
                worker.end()
            else:
                self._idle[task.facts.backend].append(worker)
        finish_together(self._workspace, list(ready.values()))
        for trial in ready:
            del self._open[trial]


class OnCluster:
    """A Ray cluster, joined again for each group of trials."""

    def __init__(self, workspace: Workspace, interrupts: Interrupts, address: str) -> None:
        """Take the workspace, the signal handling, and the address."""
        self._workspace = workspace
        self._interrupts = interrupts
        self._address = address

    def run(self, units: Sequence[Unit]) -> None:
        """Run trials, longest first."""
        drive(self._workspace, units, self._address, lambda _: None)

    def check(self) -> None:
        """Raise if the user stopped the search."""
        self._interrupts.check()

    def close(self) -> None:
        """Do nothing: each group has already left the cluster."""
