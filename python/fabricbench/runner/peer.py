"""A process of this Python that is told over a connection what to do."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any


class Peer:
    """The process, and this end of the connection."""

    def __init__(self, module: str, stdout: int = subprocess.DEVNULL) -> None:
        """Start `main` of a module, which gets the descriptor of its end of the connection."""
        self.connection: Connection[Any, Any]
        self.connection, there = Pipe()
        # It finds modules where this process does, also those of a backend that is not of fabricbench.
        start = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main({there.fileno()})"
        # Of a session of its own, it does not get the Ctrl-C of a terminal.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", start],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            pass_fds=[there.fileno()],
            start_new_session=True,
        )
        there.close()

    def end(self, grace_s: float = 0) -> None:
        """Close the connection, and end the process if it does not end by itself within so long [s]."""
        self.connection.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(grace_s)
        self.process.kill()
        self.process.wait()

    def ending(self) -> str:
        """Wait until the process has ended, and return how it did."""
        status = self.process.wait()
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        return f"ended with exit status {status}"
