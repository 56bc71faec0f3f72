"""Runs the HTTP server (uvicorn) until a signal: checks the TLS certificate, listens, prints the URL."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final
from urllib.parse import quote

import uvicorn

from fabricbench.inputs import read_input
from fabricbench.runner import loading
from fabricbench.server.access.connections import PATIENCE, Connections, room_for_connections
from fabricbench.server.app import create_app
from fabricbench.server.queue.events import Events
from fabricbench.server.queue.ray_cluster import cluster_at
from fabricbench.server.settings import Settings
from fabricbench.store import Workspace

_COLLECTING: Final = (2_000, 10, 10)
"""Thresholds of the garbage collector (gc.set_threshold)."""


class AddressError(Exception):
    """An address that cannot be listened at; its text names the reason."""


class CertificateError(Exception):
    """A certificate or key for TLS that cannot be used; its text names the file and the reason."""


def serve(
    workspace: Workspace, settings: Settings, note: Callable[[str], None], on: str | None = None
) -> None:
    """Serve a workspace until SIGINT or SIGTERM.

    Args:
        workspace: The open workspace.
        settings: Settings of the server.
        note: Shows the user a message.
        on: The Ray cluster that executes runs, in the form of `cluster_at`; this machine alone if none.

    Raises:
        AddressError: The address is in use, or not of this machine.
        CertificateError: The certificate or its key cannot be used.
        ClusterError: The cluster cannot be used.
    """
    check_certificate(settings)
    listening = _listen(settings)
    with closing(listening), cluster_at(on) if on is not None else nullcontext() as cluster:
        _serve(workspace, replace(settings, cluster=cluster), note, listening)


def _serve(
    workspace: Workspace, settings: Settings, note: Callable[[str], None], listening: socket.socket
) -> None:
    settings = replace(
        settings, port=listening.getsockname()[1], worker_memory_bytes=_memory_of_run(settings)
    )
    greeting = _greeting(workspace, settings)
    # The program collects rarely, for short commands; a server has to free the garbage of its requests.
    gc.set_threshold(*_COLLECTING)
    app = create_app(workspace, settings)
    config = uvicorn.Config(
        app,
        log_level="error",  # malformed requests would fill the log
        access_log=False,
        loop="asyncio",
        ws="none",
        server_header=False,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=int(PATIENCE.keep_alive_s),
        h11_max_incomplete_event_size=64 << 10,
    )
    connections_max = room_for_connections(settings.workers)
    server = _Server(config, app.state.server.events, connections_max, lambda: note(greeting))
    server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """uvicorn server that accepts connections itself and, before its end, closes the event streams."""

    def __init__(
        self, config: uvicorn.Config, events: Events, connections_max: int, greet: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._greet = greet
        self._events = events
        self._connections = Connections(config, self.server_state, connections_max)
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting connections, and print the greeting."""
        await super().startup(sockets=[])
        self._accepting = [
            asyncio.create_task(self._connections.accept(listening, self.lifespan.state))
            for listening in sockets or []
        ]
        if self.started and not self.should_exit:
            self._greet()

    async def on_tick(self, counter: int) -> bool:
        """Check the deadlines of connections once a second."""
        if counter % 10 == 0:
            self._connections.check_deadlines()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and shut down."""
        for task in self._accepting:
            task.cancel()
        self._connections.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the event streams, and let uvicorn shut down."""
        self._events.close()
        super().handle_exit(sig, frame)


def _memory_of_run(settings: Settings) -> int:
    """Return the memory limit of each run [bytes]: by default an equal part of the free memory."""
    free_bytes = loading.machine_limits().memory_bytes or 0
    return settings.worker_memory_bytes or free_bytes // settings.workers


def check_certificate(settings: Settings) -> None:
    """Check the certificate and the key for TLS before anything is served.

    Raises:
        CertificateError: One cannot be read, is no PEM, needs a passphrase, or they do not belong together.
    """
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None or key is None:
        return
    blocks = {
        "--tls-cert": (certificate, b"-----BEGIN CERTIFICATE-----", "a certificate"),
        "--tls-key": (key, b"PRIVATE KEY-----", "a private key"),
    }
    for option, (file, block, name) in blocks.items():
        try:
            content = read_input(file)
        except OSError as error:
            raise CertificateError(f"{option} {file}: cannot be read: {error.strerror}") from error
        if block not in content:
            raise CertificateError(f"{option} {file}: found no {block.decode()}; expected {name} in PEM")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=_no_passphrase)
    except _PassphraseError as error:
        message = "the key is encrypted; `openssl pkey -in KEY -out FILE` writes it without a passphrase"
        raise CertificateError(f"--tls-key {key}: {message}") from error
    except (OSError, ValueError) as error:
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            message = f"--tls-key {key}: it is not the key of the certificate {certificate}"
        else:
            message = f"--tls-cert {certificate}, --tls-key {key}: one is damaged or not supported: {error}"
        raise CertificateError(message) from error
    _check_dates(certificate)


def _check_dates(certificate: Path) -> None:
    """Refuse a certificate that is not valid today.

    Raises:
        CertificateError: It has expired or is not valid yet.
    """
    from cryptography import x509

    leaf = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    valid_from, valid_until, now = leaf.not_valid_before_utc, leaf.not_valid_after_utc, datetime.now(UTC)
    if not valid_from <= now <= valid_until:
        day = (
            f"expired on {valid_until:%Y-%m-%d}"
            if now > valid_until
            else f"is valid from {valid_from:%Y-%m-%d} on"
        )
        raise CertificateError(
            f"--tls-cert {certificate}: found one that {day}; allowed: one that is valid now"
        )


class _PassphraseError(Exception):
    """A key that needs a passphrase, for which the server cannot prompt."""


def _no_passphrase() -> str:
    raise _PassphraseError


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY: connections send small packets without delay.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise AddressError(f"cannot listen at {settings.host}, port {settings.port}: {reason}") from error
    return listening


def _greeting(workspace: Workspace, settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"{settings.scheme}://{host}:{settings.port}/"
    token = settings.token_shown or quote(settings.token)
    shown = f"{address}?token={token}" if settings.token else address
    return f"serving {workspace.root}; Ctrl-C ends it\n\n    {shown}\n"
