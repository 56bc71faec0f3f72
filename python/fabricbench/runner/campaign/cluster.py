"""Starts Ray on this machine or joins a Ray cluster: token, settings, and errors within seconds."""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fabricbench.runner.messages import ClusterError
from fabricbench.words import install_hint

LOCAL: Final = "local"
"""Address of the cores of this machine, without a cluster."""
_CLIENT_SCHEME: Final = "ray://"
_CONNECT_TIMEOUT_S: Final = 5
"""Timeout of the TCP connection to a cluster's address [s]."""
_SETTINGS: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # By default Ray retries for 20 s and its client for 30 s, whatever the error.
    "RAY_NUM_REDIS_GET_RETRIES": "3",
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "2",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "2",
    # Without this, Ray would start a local cluster if the joined one has disappeared.
    "RAY_ENABLE_AUTO_CONNECT": "0",
}
"""Default settings of Ray; the environment overrides them. Ray reads them when it is imported."""
_REASON_MAX: Final = 300
_FORK_ERROR: Final = "Starting Ray client server failed"
"""Error of a head whose process for this client hung when it was forked; a retry may succeed."""
_RESUME_HINT: Final = (
    "finished trials have their record; the same command, or resuming the run, goes on with the rest"
)
_AUTH_MODE_VARIABLE: Final = "RAY_AUTH_MODE"
_CLUSTER_HINT: Final = "`--on local` uses this machine; `ray status` tells whether a cluster is up"
_JOIN_HINT: Final = (
    "RAY_AUTH_TOKEN or ~/.ray/auth_token must hold the token of the cluster; its Python and its version of "
    "Ray must be those here; HOST:PORT is for a node of it, ray://HOST:PORT for any other machine"
)


def joined(on: str) -> Any:
    """Start Ray on this machine, or join a cluster, and return the `ray` module.

    Args:
        on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.

    Raises:
        ClusterError: Ray is not installed, there is no such cluster, or it denies access.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if on != LOCAL:
        _require_listener(on)
        _use_token()
    with _signals_restored():
        ray = _library()
        _join(ray, on)
    return ray


@contextmanager
def _signals_restored() -> Iterator[None]:
    """Restore the signal handlers: Ray installs one that ends this process on SIGTERM at any point."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in zip(numbers, handlers, strict=True):
                signal.signal(number, handler)


def _join(ray: Any, on: str) -> None:
    try:
        _connect(ray, on)
    except Exception as error:  # Ray raises many types of errors here
        reason = " ".join(str(error).split())[:_REASON_MAX] or type(error).__name__
        raise ClusterError(f"cannot use the Ray cluster at {on}: {reason}", _JOIN_HINT) from error


def _connect(ray: Any, on: str) -> None:
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    options |= {"address": "local", "include_dashboard": False} if on == LOCAL else {"address": on}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray.init(**options)
        except ConnectionError as error:
            if _FORK_ERROR not in str(error):
                raise
            ray.init(**options)


def _require_listener(on: str) -> None:
    """Check that the address of a cluster accepts TCP connections."""
    host, _, port = on.removeprefix(_CLIENT_SCHEME).rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        hint = "write local, ray://HOST:PORT, or HOST:PORT"
        raise ClusterError(f"{on} is no address of a Ray cluster", hint)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster at {on}: {error.strerror or error}", _CLUSTER_HINT) from error


def head_of(ray: Any, on: str) -> tuple[str, int] | None:
    """Return host and port of a joined cluster's head; None for `ray://`, where Ray's client monitors it."""
    if on.startswith(_CLIENT_SCHEME):
        return None
    host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
    return host.strip("[]"), int(port)


def cluster_lost(on: str, reason: str) -> ClusterError:
    """Return the error for a joined cluster that has disappeared."""
    cluster = "Ray on this machine" if on == LOCAL else f"the Ray cluster at {on}"
    return ClusterError(f"{cluster} is gone: {reason}", _RESUME_HINT)


def listens(at: tuple[str, int], within_s: float) -> bool:
    """Return whether an address accepts a TCP connection within a timeout [s]."""
    try:
        socket.create_connection(at, timeout=within_s).close()
    except OSError:
        return False
    return True


def _use_token() -> None:
    """Make Ray send the user's token, if there is one.

    `ray start --head` requires the token if there is one, but a client sends it only in this mode. A cluster
    without tokens ignores it.
    """
    token_paths = (os.environ.get("RAY_AUTH_TOKEN_PATH"), Path.home() / ".ray" / "auth_token")
    if os.environ.get("RAY_AUTH_TOKEN") or any(path and Path(path).is_file() for path in token_paths):
        os.environ.setdefault(_AUTH_MODE_VARIABLE, "token")


def _library() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ClusterError(
            "clusters are those of Ray, which is not installed", install_hint("ray")
        ) from error
    return ray
