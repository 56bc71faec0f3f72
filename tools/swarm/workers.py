"""Worker processes with limits of time and memory, which isolate scenarios that hang, crash or grow."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from tools.swarm.record import Violation
from tools.swarm.scenario import Outcome, examine

MEMORY_BYTES = 3 << 30
START_S = 600.0
"""Timeout for the start of a worker, with all its imports [s]."""
WALL = 15
"""Limit of a task's elapsed time, as a multiple of its limit of processor time, as other programs run too."""

HANGS = "a scenario ends"
CRASHES = "a scenario does not end its process"


@dataclass(frozen=True)
class Task:
    """A plan for a worker to run.

    Attributes:
        plan: The fields of a plan.
        compares: Whether to run it with other options as well.
    """

    plan: Mapping[str, Any]
    compares: bool


Examine = Callable[[Task], Outcome]


def examine_task(task: Task) -> Outcome:
    """Run the plan of a task and check its records with the laws."""
    return examine(task.plan, compares=task.compares)


def _serve(pipe: Connection, carry_out: Examine) -> None:
    """Run tasks until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe.send("ready")
    while True:
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        pipe.send(carry_out(task))


class Worker:
    """A process that runs one task at a time."""

    def __init__(self, limit_s: float, carry_out: Examine = examine_task) -> None:
        """Start the process.

        Args:
            limit_s: Processor time that a task may take; one that compares may take six times as long.
            carry_out: Function that runs a task.
        """
        self._limit_s = limit_s
        self._carry_out = carry_out
        self._cpu_until = self._until = 0.0
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self.pipe, worker_end = self._context.Pipe()
        os.environ["POLARS_MAX_THREADS"] = "1"
        self._process = self._context.Process(target=_serve, args=(worker_end, self._carry_out), daemon=True)
        self._process.start()
        worker_end.close()
        if not self.pipe.poll(START_S):
            raise TimeoutError("a worker does not start")
        self.pipe.recv()

    def begin(self, task: Task) -> None:
        """Start a task."""
        limit_s = self._limit_s * (6 if task.compares else 1)
        self._cpu_until = self._cpu_s() + limit_s
        self._until = time.monotonic() + WALL * limit_s
        self.pipe.send(task)

    def poll(self, wait_s: float = 0.0) -> Outcome | None:
        """Return the outcome of the task; None while it runs. A task beyond its time is ended."""
        if self.pipe.poll(wait_s):
            try:
                outcome: Outcome = self.pipe.recv()
            except EOFError:
                return self._crashed()
            return outcome
        if self._cpu_s() < self._cpu_until and time.monotonic() < self._until:
            return None
        self.close()
        self._start()
        message = f"the process was ended after {self._limit_s:.0f} s of processor time"
        return Outcome(is_accepted=True, violations=[Violation(HANGS, message)])

    def examine(self, task: Task) -> Outcome:
        """Run a task and return its outcome."""
        self.begin(task)
        while True:
            outcome = self.poll(0.2)
            if outcome is not None:
                return outcome

    def _cpu_s(self) -> float:
        """Return the processor time of the process [s]."""
        # Linux's clock of another process: its number inverted, shifted, with the bits of CPUCLOCK_SCHED.
        return time.clock_gettime((~(self._process.pid or 0) << 3) | 2)

    def _crashed(self) -> Outcome:
        self._process.join(5)
        status = self._process.exitcode
        self._start()
        return Outcome(is_accepted=True, violations=[Violation(CRASHES, f"the process ended with {status}")])

    def close(self) -> None:
        """End the process."""
        self.pipe.close()
        self._process.kill()
        self._process.join()
