"""Runs trials concurrently, each in its own process, with the same results and order as sequentially.

The processes write records (result tables); only this one writes the catalog, where attempts start and end in
the order of the plan. The complete record of a trial waits until all earlier trials have ended.

If a trial fails, no other starts, and the running ones continue to their end. A signal or an error in this
process ends them at once.

`Peer` is a child process of this Python interpreter that receives its work over a connection.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Final, cast

from fabricbench.backend.protocol import SharingCores
from fabricbench.plan.expand import PlannedTrial
from fabricbench.runner.concurrency import SharedResources
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.messages import Done, Failed, Order, Setup, TrialProcessError
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.runner.trials import Runner
from fabricbench.store import StoreError, Trial, TrialFacts
from fabricbench.store.record.writer import Attempt, finish_together
from fabricbench.words import data_size


class Peer:
    """The process and this end of the connection."""

    def __init__(self, module: str, stdout: int = subprocess.DEVNULL) -> None:
        """Start `main` of a module with the file descriptor of the other end of the connection."""
        self.connection: Connection[Any, Any]
        self.connection, other_end = Pipe()
        # It uses the module path of this process, to find backends from other packages too.
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main({other_end.fileno()})"
        )
        # In its own session it does not receive Ctrl-C from the terminal.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", start],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            pass_fds=[other_end.fileno()],
            start_new_session=True,
        )
        other_end.close()

    def end(self, grace_s: float = 0) -> None:
        """Close the connection, and kill the process if it does not end within a grace period [s]."""
        self.connection.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(grace_s)
        self.process.kill()
        self.process.wait()

    def ending(self) -> str:
        """Wait until the process has ended, and return how it ended, as text."""
        status = self.process.wait()
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        return f"ended with exit status {status}"


_KILLED: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGHUP})
"""Signals that the system, when out of memory, or a user sends to end a process."""


@dataclass
class Task:
    """A trial of the run and its result.

    Attributes:
        planned: The trial.
        facts: Its facts.
        number: Its number in the run, from 1.
        memory_bytes: Its estimated memory [bytes]; None if unknown.
        attempt: The attempt at it; None before it starts, or if it already has a record.
        stored: The trial from the workspace, if it already had a record.
        done: Answer of its process when the record is complete.
        error: Error of the trial, if it failed.
    """

    planned: PlannedTrial
    facts: TrialFacts
    number: int
    memory_bytes: int | None
    attempt: Attempt | None = None
    stored: Trial | None = None
    done: Done | None = None
    error: BaseException | None = None

    @property
    def is_final(self) -> bool:
        """Whether its result is final."""
        return self.stored is not None or self.done is not None or self.error is not None


class Worker(Peer):
    """A process that runs trials; see `fabricbench.runner.worker`."""

    def __init__(self, setup: Setup) -> None:
        super().__init__("fabricbench.runner.worker")
        self.task: Task | None = None
        self.send(setup)

    def begin(self, task: Task, order: Order) -> None:
        """Start a trial in the process."""
        self.task = task
        self.send(order)

    def send(self, message: object) -> None:
        """Send a `Setup` or an `Order`."""
        try:
            self.connection.send(message)
        except OSError:  # the process has ended; `receive` reports that
            return

    def receive(self) -> Any:
        """Return the next message of the process; None if it has ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def lost(self, trial: str) -> Exception:
        """Return the error for a process that ended during a trial."""
        text = f"the process of {trial} {self.ending()}"
        status = self.process.wait()
        # A crash is a bug of fabricbench. The core exits with status 2 if memory runs out.
        return TrialProcessError(text) if -status in _KILLED or status == 2 else RuntimeError(text)


class ConcurrentTrials:
    """The trials of a run that run concurrently."""

    def __init__(
        self, runner: Runner, tasks: Iterable[Task], resources: SharedResources, done: list[Trial]
    ) -> None:
        """Prepare the trials.

        Args:
            runner: The runner with workspace and listener; its backend shares cores.
            tasks: The remaining trials, in the order of the plan.
            resources: The resources that they share.
            done: List with the earlier trials; finished trials are appended in the order of the plan.
        """
        self._runner = runner
        self._setup = Setup(cast("SharingCores", runner.backend), runner.threads)
        self._resources = resources
        self._waiting = deque(tasks)
        self._count = len(done) + len(self._waiting)
        self._started: deque[Task] = deque()
        self._busy: list[Worker] = []
        self._idle: list[Worker] = []
        self._done = done
        self._error: BaseException | None = None

    def run(self, interrupts: Interrupts) -> None:
        """Run the trials.

        Raises:
            TrialProcessError: The process of a trial has ended unexpectedly.
            KeyboardInterrupt: The user stopped the run.
            StoreError: The workspace cannot be written, or the disk is full.
        """
        try:
            while self._waiting or self._started:
                interrupts.check()
                self._finish()
                self._start()
                if self._busy:
                    with interrupts.allowed():
                        ready = wait([worker.connection for worker in self._busy])
                    for worker in [
                        busy_worker for busy_worker in self._busy if busy_worker.connection in ready
                    ]:
                        self._process_message(worker)
        except BaseException as error:
            self._leave(error)
            if self._error is not None:
                raise self._error from None
            raise
        finally:
            for worker in (*self._busy, *self._idle):
                worker.end()
        if self._error is not None:
            raise self._error

    def _start(self) -> None:
        """Start trials in the order of the plan while there are free resources."""
        while self._waiting and self._has_room(self._waiting[0]):
            task = self._waiting.popleft()
            self._started.append(task)
            task.stored = self._runner.stored_trial(task.facts)
            if task.stored is not None:
                continue
            self._runner.listener.trial_started(task.facts, task.number, self._count)
            task.attempt = self._runner.workspace.begin_elsewhere(task.facts, machine_facts())
            cores = self._resources.cores_of(task.memory_bytes, 1 + len(self._waiting) + len(self._busy))
            worker = self._idle.pop() if self._idle else Worker(self._setup)
            self._busy.append(worker)
            worker.begin(task, Order(task.planned, task.facts, task.attempt.folder, cores))

    def _has_room(self, task: Task) -> bool:
        if any(started.facts.id == task.facts.id for started in self._started):
            return False  # duplicate trial in a plan: the second one uses the record of the first
        running = [worker.task.memory_bytes for worker in self._busy if worker.task is not None]
        return self._resources.has_room(running, task.memory_bytes)

    def _process_message(self, worker: Worker) -> None:
        """Process a message of a worker."""
        task, message = worker.task, worker.receive()
        if task is None:
            raise AssertionError("a process that has nothing to do is heard")
        if isinstance(message, dict):
            self._runner.listener.trial_progressed(message, task.number)  # type: ignore[arg-type]
            return
        self._busy.remove(worker)
        worker.task = None
        if isinstance(message, Done):
            task.done = message
            self._idle.append(worker)
        elif isinstance(message, Failed):
            self._idle.append(worker)
            self._fail(task, message.error)
        else:
            size = data_size(task.facts.data_size_bytes)
            self._fail(task, worker.lost(f"trial {task.number} of {self._count} ({size})"))
            worker.end()

    def _fail(self, task: Task, error: BaseException) -> None:
        """Record the failure of a trial, and start no other."""
        task.error = error
        if task.attempt is not None:
            task.attempt.give_up(error)
        self._waiting.clear()
        self._error = self._error or error
        self._runner.listener.trial_failed(task.facts, task.number, self._count)

    def _finish(self) -> None:
        """Finish the complete records, in the order of the plan."""
        while self._started and self._started[0].is_final:
            self._finish_one(self._started.popleft())

    def _finish_one(self, task: Task) -> None:
        trial = task.stored
        if task.attempt is not None and task.done is not None:
            try:
                ready = task.attempt.ready(task.done.summary, task.done.engine, task.done.record)
                finish_together(self._runner.workspace, [ready])
            except BaseException as error:
                task.attempt.give_up(error)
                raise
            trial = self._runner.workspace.find(task.facts.id)
        if trial is not None:
            self._done.append(trial)
            self._runner.listener.trial_finished(trial, task.number, resumed=task.stored is not None)

    def _leave(self, error: BaseException) -> None:
        """End all processes; finish complete records if the user stopped the run, and give up the others."""
        for worker in self._busy:
            worker.end()
        for task in self._started:
            if task.is_final and isinstance(error, KeyboardInterrupt):
                with suppress(StoreError):  # the trial records its error
                    self._finish_one(task)
            elif task.attempt is not None:
                task.attempt.give_up(error)
