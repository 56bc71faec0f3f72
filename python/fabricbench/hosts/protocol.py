"""Protocol between controller and agents: version, limits and timeouts; error of a refused call."""

from __future__ import annotations

from typing import Final

from fabricbench.errors import UserError

PROTOCOL: Final = "1"
"""Version of the protocol; incremented whenever an older end could misunderstand a newer one."""

PROTOCOL_KEY: Final = "fabricbench-protocol"
"""Metadata of every call: the version."""
REFUSAL_KEY: Final = "fabricbench-refusal-bin"
"""Trailing metadata of a refused call: a Refusal."""

MESSAGE_BYTES_MAX: Final = 16 << 20
"""Largest message; a RunSpec of the largest plan has some 5 MB."""
PIECE_BYTES: Final = 1 << 20
"""Largest part of a stream of rows."""
TEXT_BYTES_MAX: Final = 2_000
"""Longest text of a refusal, in characters: it is sent in HTTP/2 headers, which are limited."""
HOSTS_MAX: Final = 65_536
"""Most hosts of a run."""

LEASE_S: Final = 2.0
"""An agent whose controller is silent for this long stops its traffic."""
HEARTBEAT_S: Final = 0.1
"""Interval of heartbeats to an agent, in runs with few hosts."""
HEARTBEAT_PER_HOST_S: Final = 0.005
HEARTBEAT_MAX_S: Final = 0.5
"""Longest interval of heartbeats: it grows with the number of hosts, but four of them fit in a lease."""
SILENCE_S: Final = 3.0
"""An agent that is silent for this long is considered lost: longer than a lease, so that both ends agree."""
RELEASE_S: Final = 10.0
"""An agent without its controller for this long is free for another one."""

DEFAULT_PORT: Final = 7470
"""TCP port of agents; IANA has not assigned it."""
JOIN_PORT: Final = 7471
"""TCP port at which a controller lets hosts join."""

OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_metadata_size", 16 << 10),
    ("grpc.enable_http_proxy", 0),
    ("grpc.so_reuseport", 0),
)
"""Options of every channel and server. Agents are in a local network: proxy variables are ignored."""


class RefusedError(UserError):
    """A refusal by an agent or the controller that a user can fix.

    Attributes:
        field: Field of the RunSpec or of the hosts file; may be empty.
        found: The refused value or state.
        allowed: The allowed values; may be empty.
        hint: How to fix it; may be empty.
    """

    def __init__(self, field: str, found: str, allowed: str = "", hint: str = "") -> None:
        parts = ([field] if field else []) + [f"found {found}" + (f"; allowed: {allowed}" if allowed else "")]
        super().__init__(": ".join(parts))
        self.field, self.found, self.allowed, self.hint = field, found, allowed, hint
