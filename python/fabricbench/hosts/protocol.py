"""What both ends of the agents' protocol hold to: its version, its bounds, and the words of a refusal."""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = "1"
"""Version of the protocol; one more whenever an older end could misunderstand a newer one."""

PROTOCOL_KEY: Final = "fabricbench-protocol"
"""Metadata of every call: the version."""
REFUSAL_KEY: Final = "fabricbench-refusal-bin"
"""Trailing metadata of a refused call: a Refusal."""

MESSAGE_BYTES_MAX: Final = 16 << 20
"""Largest message; a RunSpec of the largest plan has some 5 MB."""
PIECE_BYTES: Final = 1 << 20
"""Largest piece of rows."""
TEXT_BYTES_MAX: Final = 2_000
"""Longest text of a refusal, in characters: it travels in the headers of HTTP/2, which are bounded."""
HOSTS_MAX: Final = 65_536
"""Most hosts of a run."""

LEASE_S: Final = 2.0
"""An agent whose controller is silent for so long stops its traffic."""
HEARTBEAT_S: Final = 0.1
"""A controller speaks so often to an agent of a few."""
HEARTBEAT_PER_HOST_S: Final = 0.005
HEARTBEAT_MAX_S: Final = 0.5
"""With many hosts it has so much time for each, but speaks to each four times in a lease."""
SILENCE_S: Final = 3.0
"""An agent that is silent for so long is taken for lost: longer than a lease, so that both agree."""
RELEASE_S: Final = 10.0
"""After so long without its controller an agent is free for another one."""

DEFAULT_PORT: Final = 7470
"""TCP port of agents; not assigned by IANA to anything else."""
JOIN_PORT: Final = 7471
"""TCP port at which a controller lets hosts join."""

OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_metadata_size", 16 << 10),
    ("grpc.enable_http_proxy", 0),
    ("grpc.so_reuseport", 0),
)
"""Of every channel and server. Agents are in one's own network: a proxy of the environment is never meant."""


class RefusedError(Exception):
    """Something that an agent or the controller refuses, and a user can mend.

    Attributes:
        field: What it is about: a field of the RunSpec or of the file of hosts; may be empty.
        found: What was found.
        allowed: What may be there; may be empty.
        hint: What to do; may be empty.
    """

    def __init__(self, field: str, found: str, allowed: str = "", hint: str = "") -> None:
        parts = ([field] if field else []) + [f"found {found}" + (f"; allowed: {allowed}" if allowed else "")]
        super().__init__(": ".join(parts))
        self.field, self.found, self.allowed, self.hint = field, found, allowed, hint
