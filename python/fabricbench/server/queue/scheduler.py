"""Scheduler of queued runs: starts a worker process per run, up to a number of slots, and reads its events.

A slot is one concurrent trial. Slots without a waiting run go to the running ones.

The queue is in the catalog: a new server continues it after a crash. Workers notice the end of their server
by the end of their input; runs of workers that have ended are marked as interrupted here.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event as Signal, Lock, Thread
from typing import Final

from fabricbench.server.queue.events import Events
from fabricbench.server.queue.hosts_files import HostsFiles
from fabricbench.server.settings import Settings
from fabricbench.store import StoreError, Workspace
from fabricbench.store.catalog.schema import FAILED, INTERRUPTED
from fabricbench.store.runs import CANCELLED, RunQueue

_log = logging.getLogger("fabricbench.server")
_PERIOD_S: Final = 0.5
_RECOVER_S: Final = 10
_RETRY_S: Final = 3
_SHUTDOWN_S: Final = 15
_STDERR_LINES_MAX: Final = 12
_NO_MEMORY: Final = ("out of memory", "MemoryError", "bad_alloc", "memory allocation of")
"""Parts of the messages of the core, Python, Arrow and Polars when an allocation fails."""


class WorkerProcess:
    """A worker process, the id of its run and the last lines of its error output."""

    def __init__(
        self,
        root: str,
        hosts_files: HostsFiles,
        settings: Settings,
        on_event: Callable[[str, dict[str, object]], None],
        on_end: Callable[[], None],
    ) -> None:
        """Start the process.

        Args:
            root: Folder of the workspace.
            hosts_files: The hosts that its run can use.
            settings: Settings of the server.
            on_event: Called with the id of the run and the event, by a thread of this object.
            on_end: Called at the end of the output.
        """
        cluster, self._memory_bytes = settings.cluster, settings.worker_memory_bytes
        limits = (settings.time_limit_min, settings.worker_memory_bytes)
        arguments = (root, hosts_files.as_json(), *map(str, limits), *([cluster.address] if cluster else ()))
        command = [sys.executable, "-m", "fabricbench.server.workers.run_worker", *arguments]
        pipe = subprocess.PIPE
        # A session of its own: Ctrl-C in the server's terminal reaches only the server, which ends workers.
        self.process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env={**os.environ, **(cluster.environment if cluster else {})},
            start_new_session=True,
        )
        self.run_id: str | None = None
        self.has_claimed = False
        self._slots = 0
        self._on_event, self._on_end = on_event, on_end
        self._stderr_lines: deque[str] = deque(maxlen=_STDERR_LINES_MAX)
        self._threads = [Thread(target=read, daemon=True) for read in (self._read_events, self._read_stderr)]
        for thread in self._threads:
            thread.start()

    def _read_events(self) -> None:
        for line in self.process.stdout or ():
            with suppress(ValueError):
                content = json.loads(line)
                kind = content.pop("event")
                if kind == "claimed":
                    self.run_id, self.has_claimed = content["id"], True
                if self.run_id is not None:
                    self._on_event(self.run_id, {"event": kind, **content})
        self._on_end()

    def _read_stderr(self) -> None:
        for line in self.process.stderr or ():
            self._stderr_lines.append(line.rstrip())

    def cancel(self) -> None:
        """Cancel the run."""
        self._send("cancel\n")

    def set_slots(self, slots: int) -> None:
        """Set the number of concurrent trials of the run."""
        if slots != self._slots:
            self._slots = slots
            self._send(f"places {slots}\n")

    def end(self) -> None:
        """Interrupt the run, at the end of the server."""
        with suppress(OSError, ValueError):
            if self.process.stdin:
                self.process.stdin.close()

    def _send(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the process may have ended
            if self.process.stdin:
                self.process.stdin.write(text)
                self.process.stdin.flush()

    def has_ended(self) -> bool:
        """Return whether the process has ended and all its events have been read."""
        if self._threads[0].is_alive() and self.process.poll() is None:
            return False
        try:
            self.process.wait(timeout=1)  # it closed its output, its last action
        except subprocess.TimeoutExpired:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Close the pipes of a process that has ended."""
        for thread in self._threads:
            thread.join(timeout=5)
        self.end()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def ending(self) -> tuple[str, str]:
        """Return the state and the message of a run whose worker ended without recording them."""
        status, stderr_text = self.process.returncode, "\n".join(self._stderr_lines)
        if any(sign in stderr_text for sign in _NO_MEMORY):
            return (
                FAILED,
                f"it needs more than the {self._memory_bytes >> 20:,} MB of memory that a run has",
            )
        if status < 0:
            return INTERRUPTED, f"its worker was ended by {signal.Signals(-status).name}"
        return FAILED, stderr_text[-2000:] or f"its worker ended with exit status {status}"


class Scheduler:
    """Thread that starts a worker for each queued run while slots are free, until it is stopped."""

    def __init__(self, workspace: Workspace, settings: Settings, events: Events) -> None:
        """Take the workspace with the queue, the settings and the events; `start` starts the thread."""
        self.queue = RunQueue(workspace)
        self.hosts_files = HostsFiles.of(settings, workspace.root)
        self._workspace = workspace
        self._settings = settings
        self._events = events
        self._workers: list[WorkerProcess] = []
        self._wake, self._stop = Signal(), Signal()
        self._thread = Thread(target=self._work, name="scheduler", daemon=True)
        self._lock = Lock()
        self._recovered_at = 0.0
        self._on_change: Callable[[str], None] = lambda _run_id: None

    def start(self, on_change: Callable[[str], None]) -> None:
        """Start the thread; `on_change` is called with the id of a run whose state has changed."""
        self._on_change = on_change
        self._thread.start()

    def wake(self) -> None:
        """Poll the queue now."""
        self._wake.set()

    @property
    def busy(self) -> int:
        """Number of worker processes."""
        with self._lock:
            return len(self._workers)

    def stop(self) -> None:
        """End the workers and wait until their runs are marked as interrupted."""
        self._stop.set()
        self._wake.set()
        self._thread.join()
        for worker in self._workers:
            worker.end()
        deadline = time.monotonic() + _SHUTDOWN_S
        for worker in self._workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.1, deadline - time.monotonic()))
            worker.process.kill()
            worker.process.wait()
            worker.close()
        for worker in self._workers:
            with suppress(StoreError):
                self._record_end(worker)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._step()
                pause = _PERIOD_S
            except StoreError as error:
                _log.error("the queue cannot be reached: %s", error)
                pause = _RETRY_S
            except Exception:  # noqa: BLE001 -- logged, and tried again
                # Such as a failure to fork. Without this thread no run would ever start or end again.
                _log.exception("the queue cannot be worked off")
                pause = _RETRY_S
            self._wake.wait(pause)
            self._wake.clear()

    def _step(self) -> None:
        self._reap()
        if time.monotonic() - self._recovered_at > _RECOVER_S:
            self._recover()
        running = {worker.run_id: worker for worker in self._workers if worker.run_id}
        for run_id in self.queue.cancelled(list(running)) if running else ():
            running[run_id].cancel()
        self._fill()
        self._divide_slots()

    def _fill(self) -> None:
        """Start a worker for each run that can start, while slots are free."""
        free = self._settings.workers - len(self._workers)
        if free <= 0:
            return
        starting = sum(1 for worker in self._workers if not worker.has_claimed)
        obstacles = self.queue.obstacles(self.hosts_files.offered())
        ready = sum(1 for run_id in self.queue.waiting() if run_id not in obstacles)
        for _ in range(min(free, ready - starting)):
            root = str(self._workspace.root.resolve())
            worker = WorkerProcess(root, self.hosts_files, self._settings, self._handle_event, self.wake)
            with self._lock:
                self._workers.append(worker)

    def _divide_slots(self) -> None:
        """Divide the slots equally among the runs, for their concurrent trials."""
        for worker in self._workers:
            worker.set_slots(self._settings.workers // len(self._workers))

    def _handle_event(self, run_id: str, content: dict[str, object]) -> None:
        kind = str(content.pop("event"))
        if kind == "claimed":
            self._events.forget_progress(run_id)
            # Event streams poll the catalog as well; the events of the worker must be read in any case.
            with suppress(StoreError):
                self._on_change(run_id)
        else:
            self._events.add(run_id, kind, content)

    def _reap(self) -> None:
        for worker in [candidate for candidate in self._workers if candidate.has_ended()]:
            self._record_end(worker)
            with self._lock:
                self._workers.remove(worker)

    def _record_end(self, worker: WorkerProcess) -> None:
        """Record the end of the run of a worker that has ended."""
        if worker.process.returncode:
            self._workspace.recover()
            if worker.run_id is None:
                _log.error("a worker failed: %s", worker.ending()[1])
                time.sleep(_PERIOD_S)
        if worker.run_id is not None:
            state, message = worker.ending()
            if self.queue.cancelled([worker.run_id]):
                state, message = CANCELLED, "cancelled"
            self.queue.end(worker.run_id, state, message, pid=worker.process.pid)
            self._on_change(worker.run_id)

    def _recover(self) -> None:
        """Mark runs and trials of dead processes as interrupted, those of other servers included."""
        self._recovered_at = time.monotonic()
        self._workspace.recover()
        for run_id in self.queue.recover():
            self._on_change(run_id)
