"""Two virtual machines with soft-RoCE adapters, and a network of their own between them and this machine.

Needs the folder of a lab, which the environment variable FABRICBENCH_RDMA_VM names. Its `vm.sh TAP MAC
ADDRESS/LENGTH --seconds N --share DIR -- COMMAND...` runs a command in a machine that sees the file system of
this one and has the adapter rxe0 at that address; what the command prints is in DIR/.out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
NETWORK = "10.9.0.0/24"
CONTROLLER = "10.9.0.254"


def address(number: int) -> str:
    """Return the address of a machine, 1 or 2."""
    return f"10.9.0.{number}"


class Machines:
    """The network and the machines in it."""

    def __init__(self, folder: Path) -> None:
        lab = os.environ.get("FABRICBENCH_RDMA_VM")
        if not lab:
            pytest.skip("FABRICBENCH_RDMA_VM names no lab of virtual machines")
        self.script = Path(lab) / "vm.sh"
        assert self.script.exists(), f"{lab} has no vm.sh"
        self.folder = folder
        self.namespace = f"fb-verbs-{os.getpid()}"
        self.running: list[subprocess.Popen[bytes]] = []
        _ip("netns", "add", self.namespace)
        try:
            self._connect()
        except BaseException:
            self.end()
            raise

    def _connect(self) -> None:
        inside = ("-n", self.namespace)
        _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "link", "add", "br0", "type", "bridge")
        _ip(*inside, "addr", "add", f"{CONTROLLER}/24", "dev", "br0")
        for tap in ("tap1", "tap2"):
            _ip(*inside, "tuntap", "add", "dev", tap, "mode", "tap")
            _ip(*inside, "link", "set", tap, "mtu", "4500", "master", "br0", "up")
        _ip(*inside, "link", "set", "br0", "mtu", "4500", "up")

    @property
    def enter(self) -> list[str]:
        """What comes before a command that runs beside the machines."""
        return ["ip", "netns", "exec", self.namespace]

    def share(self, number: int) -> Path:
        """Return the folder that is /share in a machine."""
        share = self.folder / f"machine{number}"
        share.mkdir(exist_ok=True)
        return share

    def start(self, number: int, command: Sequence[str], seconds: int) -> subprocess.Popen[bytes]:
        """Run a command in a machine; it prints to the file `.out` of the shared folder."""
        place = [f"tap{number}", f"52:54:00:00:00:0{number}", f"{address(number)}/24"]
        limits = ["--seconds", str(seconds), "--share", str(self.share(number))]
        inside = ["env", f"PYTHONPATH={REPOSITORY / 'python'}:{REPOSITORY}", *command]
        machine = subprocess.Popen(
            [*self.enter, str(self.script), *place, *limits, "--", *inside],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.running.append(machine)
        return machine

    def run(self, number: int, command: Sequence[str], seconds: int = 300) -> str:
        """Run a command in a machine to its end, and return what it has printed."""
        status = self.start(number, command, seconds).wait()
        printed = self.printed(number)
        assert status == 0, (status, printed)
        return printed

    def printed(self, number: int) -> str:
        """Return what a machine has printed so far."""
        file = self.share(number) / ".out"
        return file.read_text(errors="replace") if file.exists() else ""

    def end(self) -> None:
        """Stop all machines, and take the network down."""
        for pid in _ip("netns", "pids", self.namespace).split():
            subprocess.run(["kill", pid], check=False)
        for machine in self.running:
            machine.wait()
        _ip("netns", "del", self.namespace)


def python(*arguments: str) -> list[str]:
    """Return the command of a Python program of this repository."""
    return [sys.executable, "-B", *arguments]


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout
