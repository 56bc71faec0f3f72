"""Connection limits of the HTTP server: number of open connections, and deadlines for their clients.

At any time either the server is at work for a connection, or its client owes something: the headers of its
first request (with TLS, the handshake before them), the rest of a body, the next request, or to receive the
response. A client that exceeds the deadline is disconnected. So is one that sends bytes too slowly: headers
have one time limit, and the deadline of a body is extended by each byte. At the maximum number of
connections, a new connection replaces the oldest of those whose client owes something; authenticated ones
are replaced last.

The server accepts connections itself (`Connections.accept`), because a TLS handshake counts as a connection.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fabricbench.server.errors import answer

if TYPE_CHECKING:
    from uvicorn import Config
    from uvicorn.server import ServerState


@dataclass(frozen=True)
class Patience:
    """Time limits for clients.

    Attributes:
        headers_s: Time from the opening of a connection, or from the first byte of a later request, to the
            end of the headers [s].
        body_s: Time limit for the rest of a body [s], extended by `body_bytes_per_s`.
        body_bytes_per_s: Bytes that extend the limit by a second: the slowest rate of a body [bytes/s].
        answer_s: Time limit in which a client must receive part of a pending response [s].
        keep_alive_s: Time an idle connection stays open after a response [s]. Clients (httpx 5 s) and
            proxies (nginx 60 s) close it earlier, so that none sends a request into a connection that is
            being closed here.
    """

    headers_s: float = 10
    body_s: float = 20
    body_bytes_per_s: int = 10_000
    answer_s: float = 30
    keep_alive_s: float = 75


PATIENCE = Patience()
CONNECTIONS_MAX: Final = 1024
_NO_LINGER: Final = struct.pack("ii", 1, 0)
_FILES_OF_WORKER: Final = 4
_OTHER_FILES: Final = 256


class _Awaited(Enum):
    """Next action that the server waits for from a client."""

    HEADERS = auto()
    BODY = auto()
    NEXT_REQUEST = auto()
    TO_LEAVE = auto()
    NOTHING = auto()

    def limit_s(self) -> float:
        """Return the time limit [s]; infinite for receiving a response, which `Connection.look` checks."""
        limits = {
            _Awaited.HEADERS: PATIENCE.headers_s,
            _Awaited.BODY: PATIENCE.body_s,
            _Awaited.NEXT_REQUEST: PATIENCE.keep_alive_s,
        }
        return limits.get(self, float("inf"))


class Connection(H11Protocol):
    """One connection with the state and the deadline of its client."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        on_lost: Callable[[Connection], None],
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._on_lost = on_lost
        now = self.loop.time()
        self.is_made = self._has_asked = False
        self._owes = _Awaited.HEADERS
        self._has_begun = True  # the limit for the first request includes the wait for its first byte
        self._due = now + PATIENCE.headers_s
        self._unsent_bytes = 0
        self._taken_at = now
        self.opening: asyncio.Task[None] | None = None

    @property
    def is_known(self) -> bool:
        """Whether its last request showed a token or a login."""
        return self._has_asked and bool(self.scope["state"].get("is_known"))

    @property
    def owes(self) -> bool:
        """Whether the server waits for the client, and not the client for the server."""
        return self._owes is not _Awaited.NOTHING or self._unsent_bytes > 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Attach the transport, after the handshake if there is one."""
        self.is_made = True
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the open ones."""
        super().connection_lost(exc)
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the protocol, and update the deadline."""
        self._has_begun = True
        super().data_received(data)
        self._note(len(data))

    def on_response_complete(self) -> None:
        """Start the time limit for the next request."""
        super().on_response_complete()
        # Its first bytes may have been received together with the request before.
        self._has_begun = self.conn.trailing_data[0] != b""
        self._note()

    def resume_writing(self) -> None:
        """Resume a response after the client has received some of it."""
        self._taken_at = self.loop.time()
        super().resume_writing()

    def look(self, now: float) -> None:
        """Disconnect the client if it exceeded its deadline."""
        if not self.is_made:
            return  # the handshake has a time limit of its own
        self._note()
        unsent = self.transport.get_write_buffer_size()
        is_waiting = unsent > 0 or self._owes is _Awaited.TO_LEAVE
        if not is_waiting or unsent < self._unsent_bytes:
            self._taken_at = now
        self._unsent_bytes = unsent
        if now > self._taken_at + PATIENCE.answer_s:
            self.abort()
        elif now > self._due:
            self._give_up()

    def _note(self, received_bytes: int = 0) -> None:
        """Update the state of the client and its deadline."""
        now, owes = self.loop.time(), self._owed()
        self._has_asked = self._has_asked or owes in (_Awaited.BODY, _Awaited.NOTHING)
        if owes is not self._owes:
            self._owes = owes
            self._due = now + owes.limit_s()
        elif owes is _Awaited.BODY:
            self._due = min(self._due + received_bytes / PATIENCE.body_bytes_per_s, now + PATIENCE.body_s)

    def _owed(self) -> _Awaited:
        if self.transport.is_closing():
            return _Awaited.TO_LEAVE
        if self.conn.their_state is h11.SEND_BODY:
            return _Awaited.BODY
        if self.conn.their_state is h11.IDLE:
            return _Awaited.HEADERS if self._has_begun else _Awaited.NEXT_REQUEST
        return _Awaited.NOTHING

    def _give_up(self) -> None:
        """Disconnect, after a response 408 if the request can still be answered."""
        may_answer = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if self._owes is _Awaited.NEXT_REQUEST or not may_answer:
            self.abort()
            return
        if self._owes is _Awaited.BODY:
            self.cycle.disconnected = True  # for the application the client has disconnected
            self.cycle.message_event.set()
        response = answer(
            408, "the request came too slowly", f"{PATIENCE.body_bytes_per_s:,} bytes a second will do"
        )
        headers = [*response.raw_headers, (b"connection", b"close")]
        events = (
            h11.Response(status_code=408, headers=headers, reason=b"Request Timeout"),
            h11.Data(data=bytes(response.body)),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()

    def abort(self) -> None:
        """Disconnect at once with a TCP reset, so that the kernel discards unsent bytes as well."""
        if self.is_made:
            tcp_socket: socket.socket = self.transport.get_extra_info("socket")
            tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class Connections:
    """The open connections of a server, the oldest first."""

    def __init__(self, config: Config, server_state: ServerState, count_max: int) -> None:
        """Take the maximum number of connections; `accept` opens them."""
        self._config = config
        self._server_state = server_state
        self._count_max = count_max
        self._open: dict[Connection, None] = {}  # in order of opening

    async def accept(self, listening: socket.socket, app_state: dict[str, Any]) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError:  # the client disconnected, or this process has too many open files
                await asyncio.sleep(0.1)
                continue
            if len(self._open) >= self._count_max and not self._make_room():
                accepted.close()
            else:
                connection = Connection(self._config, self._server_state, app_state, self._forget)
                self._open[connection] = None
                connection.opening = loop.create_task(self._opened(connection, accepted))
            await asyncio.sleep(0)

    async def _opened(self, connection: Connection, accepted: socket.socket) -> None:
        """Attach a connection to its protocol, after the handshake if there is one."""
        tls = self._config.ssl
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=tls,
                ssl_handshake_timeout=PATIENCE.headers_s if tls else None,
            )
        except (OSError, asyncio.CancelledError):  # handshake failed, or replaced by a newer one
            accepted.close()
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection, None)

    def _make_room(self) -> bool:
        """Disconnect one connection whose client owes something; return whether there was one."""
        connection = next(self._owing(is_known=False), None) or next(self._owing(is_known=True), None)
        if connection is None:
            return False
        connection.abort()
        self._forget(connection)
        return True

    def _owing(self, *, is_known: bool) -> Iterator[Connection]:
        return (
            connection for connection in self._open if connection.owes and connection.is_known == is_known
        )

    def look(self) -> None:
        """Disconnect clients that exceeded their deadline."""
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            connection.look(now)

    def close(self) -> None:
        """Disconnect those still in their handshake; uvicorn ends the others."""
        for connection in [candidate for candidate in self._open if not candidate.is_made]:
            connection.abort()


def room_for_connections(workers: int) -> int:
    """Raise the limit of open files, and return how many connections it allows next to the files of runs.

    Args:
        workers: Maximum number of concurrent runs.
    """
    other_files = _OTHER_FILES + _FILES_OF_WORKER * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < CONNECTIONS_MAX + other_files:
        soft = min(CONNECTIONS_MAX + other_files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(CONNECTIONS_MAX, max(soft - other_files, 64))
