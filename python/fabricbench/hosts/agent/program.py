"""Main program of an agent: listens, supervises its run, and ends on a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabricbench.hosts.addresses import Address
from fabricbench.hosts.agent.data_plane import DataPlane
from fabricbench.hosts.agent.session import Policy, Session
from fabricbench.hosts.certificates import AgentFolder, Identity
from fabricbench.hosts.channels import bind, server_credentials
from fabricbench.hosts.protocol import OPTIONS, RefusedError

if TYPE_CHECKING:
    from types import FrameType

    import grpc


_WORKERS: Final = 8
_CALLS_MAX: Final = 32
_GRACE_S: Final = 1.0
"""Time for the controller to be notified after a signal."""
_STOP_S: Final = 5.0
"""An agent that is ending waits at most this long for open calls."""


@dataclass(frozen=True)
class AgentSettings:
    """Settings of an agent.

    Attributes:
        listen: Address to listen at.
        folder: Folder of its key and certificates.
        has_tls: Whether callers must present a certificate; may be false at private addresses only.
        policy: Limits for controllers.
    """

    listen: Address
    folder: Path
    has_tls: bool
    policy: Policy


class Agent:
    """A serving agent."""

    def __init__(self, settings: AgentSettings, data_plane: DataPlane, version: str) -> None:
        """Listen and serve.

        Raises:
            RefusedError: The agent has not joined, its certificate is not valid, or it cannot listen there.
        """
        import grpc

        from fabricbench.hosts.agent.service import AgentService
        from fabricbench.hosts.proto import agent_pb2_grpc

        identity = _identity(settings)
        policy = settings.policy
        if identity is not None:
            policy = replace(policy, name=identity.name.partition(".")[0])
        self.session: Session = Session(policy, data_plane)
        self._ending = threading.Event()
        self._server: grpc.Server = grpc.server(
            ThreadPoolExecutor(_WORKERS), options=OPTIONS, maximum_concurrent_rpcs=_CALLS_MAX
        )
        service = AgentService(self.session, version, has_tls=identity is not None)
        agent_pb2_grpc.add_AgentServicer_to_server(service, self._server)
        bind(self._server, settings.listen, server_credentials(identity) if identity else None)
        self._server.start()
        self._guard = threading.Thread(target=self.session.watch_over, args=(self._ending,), daemon=True)
        self._guard.start()

    def end(self, reason: str) -> None:
        """Stop traffic, report the reason to the controller, and stop serving."""
        self.session.end(reason)
        # Without a grace period, gRPC itself would wait, and forever if it has lost track of a call.
        self._server.stop(_GRACE_S if self.session.held_by else 0).wait(_STOP_S)
        self._ending.set()
        self._guard.join()

    def serve(self, ready: Callable[[], None]) -> signal.Signals:
        """Serve until Ctrl-C or SIGTERM, and return the signal.

        Args:
            ready: Called after the signal handlers are installed.
        """
        received: list[signal.Signals] = []
        woken = threading.Event()

        def note(number: int, _frame: FrameType | None) -> None:
            received.append(signal.Signals(number))
            woken.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, note)
        ready()
        while not woken.is_set():
            with suppress(InterruptedError):
                woken.wait(1.0)  # an unbounded wait would keep the signal from Python
        self.end(f"the agent was ended by {received[0].name}")
        return received[0]


def _identity(settings: AgentSettings) -> Identity | None:
    """Return the agent's identity, or `None` without TLS.

    Raises:
        RefusedError: The agent has not joined, or may not run without TLS.
    """
    if not settings.has_tls:
        if not settings.listen.is_private:
            hint = "leave --no-tls out, and join with a token of the controller"
            allowed = "a loopback address or a Unix socket"
            raise RefusedError("--no-tls", f"to listen at {settings.listen}", allowed, hint)
        return None
    identity = AgentFolder(settings.folder).identity()
    if identity is None:
        hint = (
            "at the controller `fabricbench hosts token NAME` prints a token, here `fabricbench agent --join "
            "TOKEN@HOST:PORT` uses it"
        )
        raise RefusedError(
            "", f"no certificate in {settings.folder}", "one of a controller's authority", hint
        )
    return identity
