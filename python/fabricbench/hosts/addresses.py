"""Parses listen addresses of agents and controllers: `HOST:PORT`, `[IPv6]:PORT` or `unix:/PATH`."""

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
    """Listen address of an agent or a controller.

    Attributes:
        host: Name or IP address; empty for a Unix socket.
        port: TCP port; 0 for a Unix socket.
        path: Path of a Unix socket; empty otherwise.
    """

    host: str
    port: int
    path: str = ""

    @property
    def target(self) -> str:
        """The address in the syntax of gRPC."""
        return str(self) if self.path else f"ipv6:{self}" if ":" in self.host else str(self)

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it: a Unix socket or a loopback address."""
        return bool(self.path) or _is_loopback(self.host)

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # the resolver decides about names, even `localhost`


def parse_address(text: str, default_port: int | None = None, field: str = "") -> Address:
    """Parse an address.

    Args:
        text: The text to parse.
        default_port: Port for an address without one; by default, a port is required.
        field: Field name for errors.

    Raises:
        RefusedError: The text is not an address.
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
    """Split into host and port; an IPv6 address is in brackets."""
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
