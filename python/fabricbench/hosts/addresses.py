"""Addresses at which agents and controllers listen: `HOST:PORT`, `[IPv6]:PORT` or `unix:/PATH`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from fabricbench.hosts.protocol import RefusedError

_ALLOWED: Final = "HOST:PORT with a port from 1 to 65535, [IPv6]:PORT, or unix:/PATH"
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252})")
_PATH_LENGTH_MAX: Final = 107
"""Longest path of a Unix socket (unix(7), sun_path)."""


@dataclass(frozen=True)
class Address:
    """Where something listens.

    Attributes:
        host: Name or IP address; empty of a Unix socket.
        port: TCP port; 0 of a Unix socket.
        path: Path of a Unix socket; empty of any other.
    """

    host: str
    port: int
    path: str = ""

    @property
    def target(self) -> str:
        """The address as gRPC wants it."""
        return str(self) if self.path else f"ipv6:{self}" if ":" in self.host else str(self)

    @property
    def is_private(self) -> bool:
        """Whether nobody outside of this machine reaches it: a Unix socket, or a loopback address."""
        return bool(self.path) or _is_loopback(self.host)

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # a name, even `localhost`, is what somebody's resolver makes of it


def parse_address(text: str, default_port: int | None = None, field: str = "") -> Address:
    """Read an address.

    Args:
        text: What was written.
        default_port: The port of an address without one; it must have one by default.
        field: What an error names.

    Raises:
        RefusedError: It is none.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path.startswith("/") or len(path.encode()) > _PATH_LENGTH_MAX or "\0" in path:
            allowed = f"an absolute path of at most {_PATH_LENGTH_MAX} bytes after unix:"
            raise RefusedError(field, f'"{text}"', allowed)
        return Address("", 0, path)
    host, port = _split(text, default_port)
    if not _is_host(host) or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise RefusedError(field, f'"{text}"', _ALLOWED)
    return Address(host, int(port))


def _split(text: str, default_port: int | None) -> tuple[str, str]:
    """Return host and port; an IPv6 address stands in brackets."""
    if match := re.fullmatch(r"\[(.*)\](?::(.*))?", text):
        host, port = match[1], match[2]
    else:
        host, colon, port = text.partition(":")
        port = port if colon else None
    if port is None:
        port = "" if default_port is None else str(default_port)
    return host, port


def _is_host(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return _NAME.fullmatch(host) is not None
    return True
