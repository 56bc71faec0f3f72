"""Settings of a server: address, token and users, TLS, limits of plans, numbers of runs, hosts, cluster."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fabricbench.plan.estimates.cost import Limits
from fabricbench.runner import loading
from fabricbench.server.queue.ray_cluster import Cluster

HOST: Final = "127.0.0.1"
PORT: Final = 8989
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


def digest(token: str) -> str:
    """Return the SHA-256 of a token, hexadecimal, as a users file has it."""
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    Attributes:
        host: Address that it listens at.
        port: Its port; 0 for a free one.
        token: The server's own token; empty where only the tokens of users count.
        users: SHA-256 of the token of each user, hexadecimal, by name.
        workers: Maximum number of concurrent runs.
        worker_memory_bytes: Memory that a run may take [bytes], also if the request forces it; 0 for its
            share of the memory that is free when the server starts.
        body_bytes_max: Largest body of a request [bytes].
        bodies_bytes_max: Bodies of requests at once [bytes].
        check_seconds: Time of one processor that parsing and checking a plan may take [s].
        check_memory_bytes: Address space that it may take [bytes].
        time_limit_min: Estimated time of a trial at most [min], unless the request forces it.
        tls_certificate: File of the certificate chain, if the server speaks TLS.
        tls_key: File of its key.
        hosts: Path of each file of hosts, by its name in requests.
        authority: Folder of the authority that their agents have joined; none for that of the workspace.
        cluster: The Ray cluster that executes runs; none for this machine alone.
        token_shown: Text printed in place of a token that the user chose; empty for a generated token.
        static: Folder of the web application's built files.
    """

    host: str = HOST
    port: int = PORT
    token: str = ""
    users: Mapping[str, str] = field(default_factory=dict)
    workers: int = os.cpu_count() or 1
    worker_memory_bytes: int = 0
    body_bytes_max: int = 2 << 20
    bodies_bytes_max: int = 256 << 20
    check_seconds: int = 20
    check_memory_bytes: int = 2 << 30
    time_limit_min: int = 60
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    hosts: Mapping[str, Path] = field(default_factory=dict)
    authority: Path | None = None
    cluster: Cluster | None = None
    token_shown: str = ""
    static: Path = Path(__file__).parent / "static"

    def digest_of(self, user: str) -> str:
        """Return the SHA-256 of a user's token, hexadecimal; of the server's own if the name is empty.

        It is empty where there is no such token.
        """
        return self.users.get(user, "") if user else digest(self.token) if self.token else ""

    @property
    def limits(self) -> Limits:
        """Limits of time and memory for a trial unless the request forces it; on a cluster time only."""
        limits, worker_bytes = loading.machine_limits(self.time_limit_min), self.worker_memory_bytes
        memory_bytes = (
            min(limits.memory_bytes or worker_bytes, worker_bytes) if worker_bytes else limits.memory_bytes
        )
        return replace(limits, memory_bytes=None if self.cluster else memory_bytes)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK

    @property
    def scheme(self) -> str:
        """`https` with a certificate, `http` without."""
        return "https" if self.tls_certificate else "http"
