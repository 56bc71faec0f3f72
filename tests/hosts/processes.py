"""Agents and controllers as processes on loopback addresses, with the data plane of the core."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

PROGRAM = [sys.executable, "-m", "fabricbench"]
PLAN = "jct-alltoall"
SIZE_BYTES = 4 << 20
UP_S = 20.0


class Namespace:
    """A network namespace of which only the agents make use: nobody else sends there.

    Agents listen at Unix sockets, which are reached from everywhere.

    Args:
        options: More of unshare(1), such as a time namespace.
        seconds: It is removed after so long, if it was left behind.
    """

    def __init__(self, *options: str, seconds: float = 600) -> None:
        script = f"ip link set lo up && echo up && exec sleep {seconds}"
        command = ["unshare", "--net", *options, "sh", "-c", script]
        try:
            self._holder = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except FileNotFoundError:
            pytest.skip("needs the program unshare")
        if self._line() != "up":
            self._holder.communicate()
            pytest.skip("needs root, for a network namespace")

    def _line(self) -> str:
        return self._holder.stdout.readline().strip() if self._holder.stdout else ""

    @property
    def pid(self) -> int:
        """A process in it."""
        return self._holder.pid

    def enter(self, number: int) -> list[str]:  # noqa: ARG002 -- all agents are in one
        """What comes before the command of an agent."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", f"--time=/proc/{self.pid}/ns/time_for_children"]

    def address(self, number: int) -> str:
        """The data address of an agent."""
        return f"127.0.1.{number + 1}"

    def run(self, *command: str) -> None:
        """Run a program in it."""
        subprocess.run([*self.enter(0), *command], check=True)

    def ip(self, *arguments: str) -> None:
        """Run `ip` in it."""
        self.run("ip", *arguments)

    def drop_icmp(self) -> None:
        """Have it send no ICMP any more."""
        if shutil.which("nft") is None:
            pytest.skip("needs the program nft")
        chain = "chain out {\ntype filter hook output priority 0\nip protocol icmp drop\n}"
        self.run("nft", f"table ip silent {{\n{chain}\n}}")

    def sent_datagrams(self) -> int:
        """Return how many UDP datagrams were sent in it (proc(5), net/snmp)."""
        lines = Path(f"/proc/{self.pid}/net/snmp").read_text().splitlines()
        names, values = (line.split() for line in lines if line.startswith("Udp:"))
        return int(values[names.index("OutDatagrams")])

    def end(self) -> None:
        self._holder.kill()
        self._holder.communicate()


class Network(Protocol):
    """Where agents run."""

    def enter(self, number: int) -> list[str]:
        """What comes before the command of an agent."""

    def address(self, number: int) -> str:
        """The data address of an agent."""

    def sent_datagrams(self) -> int:
        """Return how many UDP datagrams were sent in it."""

    def end(self) -> None:
        """Remove it."""


class Hosts:
    """Agents of this machine at Unix sockets of a folder, and the file of hosts that names them."""

    def __init__(
        self,
        folder: Path,
        count: int,
        rate_limit: str,
        network: Network | None = None,
        settings: str = "timeout_min_ps: 500_000_000_000",
    ) -> None:
        self.folder = folder
        self.network: Network = network or Namespace()
        self.agents: list[subprocess.Popen[str]] = []
        lines = ["version: 1", "defaults:", "  tls: false", f"  rate_limit: {rate_limit}"]
        # By default queue pairs outlive a pause of a second.
        lines += [f"  settings: {{{settings}}}", "hosts:"]
        for number in range(count):
            where = f"unix:{folder}/h{number}.sock"
            lines += [
                f"  - name: h{number}",
                f"    agent: {where}",
                f"    address: {self.network.address(number)}",
            ]
            self.agents.append(self.start(number))
        self.file = folder / "hosts.yaml"
        self.file.write_text("\n".join(lines) + "\n")
        for number in range(count):
            self.await_up(number)

    def start(self, number: int) -> subprocess.Popen[str]:
        command = [*PROGRAM, "agent", "--no-tls", "--listen", f"unix:{self.folder}/h{number}.sock"]
        command += ["--allow", "10.97.0.0/16"]
        return subprocess.Popen([*self.network.enter(number), *command], stderr=subprocess.PIPE, text=True)

    def sent_datagrams(self) -> int:
        """Return how many UDP datagrams the agents have sent (proc(5), net/snmp)."""
        return self.network.sent_datagrams()

    def await_up(self, number: int) -> None:
        """Wait until an agent listens."""
        until = time.monotonic() + UP_S
        path = self.folder / f"h{number}.sock"
        while time.monotonic() < until:
            with socket.socket(socket.AF_UNIX) as probe:
                if path.exists() and probe.connect_ex(os.fspath(path)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"agent {number} does not listen")

    def command(self, workspace: Path, *more: str) -> list[str]:
        ranks = ["-s", f'jobs.0.ranks="0-{len(self.agents) - 1}"', "-s", f"sweep.data_size=[{SIZE_BYTES}B]"]
        plan = [*ranks, "-s", "criteria=[]"]
        options = ["--backend", "hosts", "--hosts", str(self.file), "--workspace", str(workspace)]
        return [*PROGRAM, "run", PLAN, *plan, *options, *more]

    def run(self, workspace: Path, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(workspace, *more), check=False, capture_output=True, text=True, timeout=120
        )

    def begin(
        self, workspace: Path, environment: Mapping[str, str] | None = None, more: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """Start a controller, and return it once data flows."""
        before = self.sent_datagrams()
        started = subprocess.Popen(
            self.command(workspace, *more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        until = time.monotonic() + UP_S
        while time.monotonic() < until and started.poll() is None:
            if self.sent_datagrams() > before + 50:
                return started
            time.sleep(0.02)
        raise AssertionError(f"no data flows: {started.communicate()}")

    def end(self) -> None:
        for agent in self.agents:
            if agent.poll() is None:
                agent.send_signal(signal.SIGCONT)
                agent.terminate()
        for agent in self.agents:
            agent.communicate(timeout=20)
        self.network.end()
