"""A Ray cluster of several nodes on this machine, each at a loopback address and in namespaces of its own.

A node is a tree of processes that dies as a whole, as a machine does. One that sees nothing of a folder is
like a machine that does not share it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

TOKEN = "0123456789abcdef" * 4
_NAMESPACES = (
    *("--user", "--map-root-user", "--mount", "--uts", "--pid", "--fork"),
    *("--kill-child", "--mount-proc"),
)
_UP_S = 60


def can_make_namespaces() -> bool:
    """Tell whether this user may make namespaces."""
    try:
        made = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return made.returncode == 0


class Cluster:
    """A cluster whose first node is the head, with a core on each node.

    Attributes:
        address: For a driver on the head.
        client: For a driver anywhere.
        environment: What a driver needs to be let in.
    """

    def __init__(self, folder: Path, hidden: Sequence[Path | None]) -> None:
        self._folder = folder
        port, client = _free_ports(2)
        self.address = f"{_host(0)}:{port}"
        self.client = f"ray://{_host(0)}:{client}"
        self.environment = {"RAY_AUTH_TOKEN": TOKEN}
        head = ["--head", f"--port={port}", f"--ray-client-server-port={client}", "--include-dashboard=false"]
        self.nodes = [self._start(0, head, hidden=None)]
        _wait_for(_host(0), port)
        _wait_for(_host(0), client)
        for each in hidden:
            self.add(each)
        self._wait_for_nodes(1 + len(hidden))

    def _start(self, number: int, more: Sequence[str], *, hidden: Path | None) -> subprocess.Popen[bytes]:
        folder = self._folder / str(number)
        folder.mkdir()
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
        ray += [f"--node-ip-address={_host(number)}", f"--temp-dir={folder}", *more]
        begin = f"hostname {name_of(number)} && "
        begin += f"mount -t tmpfs none '{hidden}' && " if hidden else ""
        environment = {**os.environ, **self.environment, "RAY_AUTH_MODE": "token"}
        with (folder / "log").open("wb") as log:
            return subprocess.Popen(
                ["unshare", *_NAMESPACES, "sh", "-c", f'{begin}exec "$@"', "sh", *ray],
                # Without gRPC's handlers of forks, no process of the head gets stuck as it is forked.
                env=environment | {"RAY_USAGE_STATS_ENABLED": "0", "GRPC_ENABLE_FORK_SUPPORT": "0"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def add(self, hidden: Path | None = None) -> None:
        """Start another node, which joins before long."""
        self.nodes.append(self._start(len(self.nodes), [f"--address={self.address}"], hidden=hidden))

    def _wait_for_nodes(self, count: int) -> None:
        count_nodes = (
            "import ray; ray.init(address='auto', logging_level='ERROR', log_to_driver=False); "
            "print(sum(node['Alive'] for node in ray.nodes()))"
        )
        environment = {
            **os.environ,
            **self.environment,
            "RAY_AUTH_MODE": "token",
            "RAY_ADDRESS": self.address,
        }
        until = time.monotonic() + _UP_S
        while True:
            told = subprocess.run(
                [sys.executable, "-c", count_nodes], env=environment, capture_output=True, check=False
            )
            if told.stdout.decode().strip() == str(count):
                return
            assert time.monotonic() < until, told.stderr.decode() + self.logs()
            time.sleep(0.2)

    def logs(self) -> str:
        """Return what the nodes have said."""
        return "\n".join(log.read_text(errors="replace") for log in sorted(self._folder.glob("*/log")))

    def _processes(self, number: int) -> list[Path]:
        """Return the processes of a node, in /proc."""
        found, left = [], [self.nodes[number].pid]
        while left:
            process = Path("/proc") / str(left.pop())
            with suppress(OSError):
                left += map(int, (process / f"task/{process.name}/children").read_text().split())
                found.append(process)
        return found[1:]

    def seen_by(self, number: int, folder: Path) -> list[str]:
        """Return what a node sees in a folder."""
        there = self._processes(number)[0] / "root" / folder.relative_to("/")
        return sorted(path.name for path in there.iterdir())

    def is_busy(self, number: int) -> bool:
        """Tell whether a node carries out a trial."""
        return any(_carries_out(process) for process in self._processes(number))

    def kill(self, number: int) -> None:
        """Kill every process of a node at once."""
        self.nodes[number].kill()
        self.nodes[number].wait()

    def close(self) -> None:
        """Kill every node."""
        for number in range(len(self.nodes)):
            self.kill(number)


@contextmanager
def cluster(hidden: Sequence[Path | None]) -> Iterator[Cluster]:
    """Start a cluster: a head, and a node for each folder that it is not to see."""
    # The paths of Ray's sockets must be short.
    folder = Path(tempfile.mkdtemp(prefix="fb-ray-", dir="/tmp"))
    running: Cluster | None = None
    try:
        running = Cluster(folder, hidden)
        yield running
    finally:
        if running is not None:
            running.close()
        shutil.rmtree(folder, ignore_errors=True)


def _carries_out(process: Path) -> bool:
    with suppress(OSError):
        return (process / "cmdline").read_bytes().startswith(b"ray::run_orders")
    return False


def name_of(number: int) -> str:
    """Return the name that a node has as a machine."""
    return f"node-{number}"


def _host(number: int) -> str:
    return f"127.0.0.{number + 2}"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.2", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for(host: str, port: int) -> None:
    until = time.monotonic() + _UP_S
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until, f"nothing listens at {host}:{port}"
            time.sleep(0.1)
        else:
            return
