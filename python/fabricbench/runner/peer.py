"""A child process of this Python interpreter that receives its work over a connection."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any


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
