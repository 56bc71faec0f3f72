"""Process sandbox for unbounded work such as parsing a plan of a client, with limits of time and memory.

Each task gets a fresh process, forked from one that has loaded only the code, with limits of processor time,
address space and open files, and no right to write a file. Its result is JSON. Threads wait for the tasks, so
that other requests are not delayed.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.server.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext
    from multiprocessing.process import BaseProcess

TASKS_MODULE: Final = "fabricbench.server.workers.sandbox_tasks"
_ANSWER_BYTES_MAX: Final = 64 << 20
_WAIT_S: Final = 20
_GRACE_S: Final = 10


class SandboxError(Exception):
    """A task without a result; its text names the reason."""


class BusyError(Exception):
    """Too many tasks at once."""


class Sandbox:
    """Runs tasks of `fabricbench.server.workers.sandbox_tasks`, as many at once as runs, at least two."""

    def __init__(self, settings: Settings) -> None:
        """Prepare the fork server; `start` or the first task starts it."""
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([TASKS_MODULE])
        self._seconds = settings.check_seconds
        self._memory_bytes = settings.check_memory_bytes
        self._slots = asyncio.Semaphore(max(2, settings.workers))
        self._threads = ThreadPoolExecutor(max(2, settings.workers), "sandbox")
        self._running: set[BaseProcess] = set()

    def start(self) -> None:
        """Load the code in advance of the first task."""
        forkserver.ensure_running()

    def stop(self) -> None:
        """End every task."""
        for process in list(self._running):
            process.kill()
        self._threads.shutdown(cancel_futures=True)

    async def run(self, task: str, arguments: Mapping[str, Any], seconds: int | None = None) -> Any:
        """Run a task and return its result.

        Args:
            task: Name of the task.
            arguments: Its arguments.
            seconds: Time of one processor that it may take, in place of that of checks [s].

        Raises:
            SandboxError: The task exceeded its limits, or failed.
            UnicodeEncodeError: The result has half a surrogate pair, which YAML can write.
            BusyError: Too many other tasks are running.
        """
        try:
            async with asyncio.timeout(_WAIT_S):
                await self._slots.acquire()
        except TimeoutError as error:
            raise BusyError("too many plans are being checked at once") from error
        running = self._threads.submit(self._run, task, arguments, seconds or self._seconds)
        loop = asyncio.get_running_loop()
        running.add_done_callback(lambda _done: loop.call_soon_threadsafe(self._slots.release))
        return await asyncio.wrap_future(running)

    def _run(self, task: str, arguments: Mapping[str, Any], seconds: int) -> Any:
        ours, theirs = self._context.Pipe(duplex=False)
        limits = (seconds, self._memory_bytes)
        process = self._context.Process(
            target=_child, args=(theirs, task, dict(arguments), limits), daemon=True
        )
        process.start()
        self._running.add(process)
        theirs.close()
        try:
            return self._answer(ours, seconds)
        finally:
            ours.close()
            self._running.discard(process)
            process.kill()
            process.join()

    def _answer(self, ours: Connection, seconds: int) -> Any:
        # The process is limited in processor time; on a busy machine that takes longer in real time.
        if not ours.poll(seconds + _GRACE_S):
            raise BusyError("the machine has too much to do")
        try:
            reply = ours.recv_bytes(_ANSWER_BYTES_MAX)
        except EOFError as error:
            bounds = f"{seconds} s of processor time and {self._memory_bytes >> 20:,} MB of memory"
            raise SandboxError(f"it takes more than the server gives to a check: {bounds}") from error
        answer = json.loads(reply)
        if b"\\ud" in reply:
            _check_text(answer)
        if "refused" in answer:
            raise SandboxError(answer["refused"])
        if "bug" in answer:
            raise AssertionError(f"task failed: {answer['bug']}")
        return answer["value"]


def _check_text(value: object) -> None:
    """Raise UnicodeEncodeError for half a surrogate pair, which JSON can write and encoded text cannot."""
    json.dumps(value, ensure_ascii=False).encode()


def _child(connection: Connection, task: str, arguments: dict[str, Any], limits: tuple[int, int]) -> None:
    """Main function of the new process: set its limits, run the task, send the result."""
    from importlib import import_module

    _limit(*limits)
    try:
        value = getattr(import_module(TASKS_MODULE), task)(**arguments)
        answer = json.dumps({"value": value}, allow_nan=False)
    except RecursionError:
        answer = json.dumps({"refused": "it is nested too deeply to be read"})
    except Exception as error:  # noqa: BLE001 -- passed to the parent, which raises it
        if isinstance(error, MemoryError) or _is_exhausted(limits[1]):
            os._exit(1)
        answer = json.dumps({"bug": f"{type(error).__name__}: {error}"[:1000]})
    connection.send_bytes(answer.encode())
    connection.close()


def _is_exhausted(memory_bytes: int) -> bool:
    """Return whether this process is near its memory limit, so that any error may be due to it."""
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next((line.split()[1] for line in status if line.startswith("VmPeak:")), "0")
    return int(peak) << 10 > memory_bytes * 9 // 10


def _limit(seconds: int, memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
