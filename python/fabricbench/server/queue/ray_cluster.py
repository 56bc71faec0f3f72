"""Connects to a Ray cluster that runs trials for the server, or starts a local one.

`local` is a cluster on this machine, in a process that lives as long as the server; concurrent runs share its
cores. Its token is known to the server and its workers only.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from fabricbench.runner.campaign.cluster import LOCAL, joined
from fabricbench.runner.messages import ClusterError

_SHUTDOWN_S: Final = 10
_STDERR_CHARS_MAX: Final = 300


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster.

    Attributes:
        address: Address for the workers of the server: `HOST:PORT`, or `ray://HOST:PORT`.
        environment: Environment variables of the workers that authenticate them to the cluster.
    """

    address: str
    environment: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def cluster_at(on: str) -> Iterator[Cluster]:
    """Connect to a cluster, or start one, until the block ends.

    Args:
        on: `local`, or the address of a cluster: `ray://HOST:PORT`, or HOST:PORT from a node of it.

    Raises:
        ClusterError: Ray is not installed, there is no such cluster, or it refuses access.
    """
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)} if on == LOCAL else {}
    pipe = subprocess.PIPE
    # A session of its own: Ctrl-C in the server's terminal reaches only the server, which ends this process.
    keeper = subprocess.Popen(
        [sys.executable, "-m", "fabricbench.server.queue.ray_cluster", on],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env={**os.environ, **token},
        start_new_session=True,
    )
    try:
        yield Cluster(_address(keeper, on), token)
    finally:
        _end(keeper)


def _address(keeper: subprocess.Popen[str], on: str) -> str:
    """Return the cluster address that a keeper process reports.

    Raises:
        ClusterError: The keeper reports an error instead, or exits.
    """
    line = keeper.stdout.readline() if keeper.stdout else ""
    if not line:
        stderr_text = keeper.communicate()[1]
        raise ClusterError(
            f"cannot use the Ray cluster at {on}: {stderr_text.strip()[-_STDERR_CHARS_MAX:]}",
            "`ray status` tells more",
        )
    values = json.loads(line)
    if "error" in values:
        raise ClusterError(values["error"], values["hint"])
    return str(values["address"])


def _end(keeper: subprocess.Popen[str]) -> None:
    with suppress(OSError, ValueError, subprocess.TimeoutExpired):
        keeper.communicate(timeout=_SHUTDOWN_S)  # it ends with its input
    keeper.kill()
    keeper.wait()


def main(on: str) -> None:
    """Print the address of a cluster as a line of JSON; keep a local cluster until the input ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of libraries must not reach the server
    try:
        ray = joined(on)
        address = str(ray.get_runtime_context().gcs_address) if on == LOCAL else on
    except ClusterError as error:
        out.write(json.dumps({"error": str(error), "hint": error.hint}) + "\n")
        return
    out.write(json.dumps({"address": address}) + "\n")
    out.flush()
    if on == LOCAL:
        sys.stdin.read()
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
