"""A virtual machine with soft-RoCE at one end of a link, a network namespace for our endpoint at the other.

    near namespace: `near` 10.9.0.254 -- far namespace: `far`, bridge or `impair.py`, `vm` -- machine 10.9.0.1

The folder FABRICBENCH_RDMA_VM has `vm.sh TAP MAC ADDRESS/LEN [--seconds N] [--share DIR] -- COMMAND...`. It
runs a command in a Linux machine with a soft-RoCE device on its network card, behind that tap device of its
namespace. The machine sees the files of this one; the script prints the command's output and exits with its
status.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "FABRICBENCH_RDMA_VM"
NEAR, FAR, PREFIX = "10.9.0.254", "10.9.0.1", 24
MAC: Final = "52:54:00:fb:00:01"
# Room for packets of 4096 bytes with all their headers.
MTU: Final = 4500
VM_SECONDS: Final = 400
# What cuts apart on the way to the machine, and puts together what comes from there, is the kernel.
OFFLOADS: Final = ("gro", "on", "tso", "off", "tx-udp-segmentation", "off")
IMPAIR: Final = Path(__file__).with_name("impair.py")


def sh(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


class Link:
    """The two namespaces and the devices between them."""

    def __init__(self, folder: Path, impairment: Mapping[str, float] | None) -> None:
        """Make them; `impairment` has the chances that `impair.py` is told."""
        self.folder = folder
        self.impairment = impairment
        name = f"fb-interop-{secrets.token_hex(3)}"
        self.near, self.far = f"{name}-near", f"{name}-far"

    def up(self) -> None:
        for namespace in (self.near, self.far):
            sh("ip", "netns", "add", namespace)
        far = ("ip", "-n", self.far)
        sh(*far, "link", "add", "far", "type", "veth", "peer", "name", "near", "netns", self.near)
        sh(*far, "tuntap", "add", "dev", "vm", "mode", "tap")
        devices = ["far", "vm"]
        if self.impairment is None:
            sh(*far, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
            for device in devices:
                sh(*far, "link", "set", device, "master", "bridge")
            devices.append("bridge")
        for device in devices:
            sh(*far, "link", "set", device, "mtu", str(MTU), "up")
        near = ("ip", "-n", self.near)
        sh(*near, "link", "set", "near", "mtu", str(MTU), "up")
        sh(*near, "address", "add", f"{NEAR}/{PREFIX}", "dev", "near")
        sh("ip", "netns", "exec", self.near, "ethtool", "-K", "near", *OFFLOADS)

    def end(self) -> None:
        """End what runs in the namespaces."""
        for namespace in (self.near, self.far):
            found = subprocess.run(
                ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False
            )
            for process in map(int, found.stdout.split()):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def down(self) -> None:
        self.end()
        for namespace in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)

    def start(self, namespace: str, *command: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(["ip", "netns", "exec", namespace, *command], text=True, **options)


@contextmanager
def link(folder: Path, impairment: Mapping[str, float] | None = None) -> Iterator[Link]:
    """Make a link, capture what passes it into `folder`, and take it down again."""
    made = Link(folder, impairment)
    started: list[subprocess.Popen[str]] = []
    try:
        made.up()
        started.append(capture(made))
        if impairment is not None:
            chances = [f"{name}={chance}" for name, chance in impairment.items()]
            told = {"stdout": subprocess.PIPE}
            started.append(made.start(made.far, sys.executable, str(IMPAIR), "vm", "far", *chances, **told))
        yield made
    finally:
        for process in started:
            process.send_signal(signal.SIGINT)
        said = [process.communicate(timeout=20)[0] for process in started]
        made.down()
    if impairment is not None:
        (folder / "impaired.json").write_text(said[1])


def capture(made: Link) -> subprocess.Popen[str]:
    """Start a capture of all packets of RoCEv2 and wait until it has begun."""
    file = made.folder / "capture.pcap"
    options = ("-s", "0", "-B", "65536", "-Z", "root")
    command = ["tcpdump", "-i", "vm", "-w", str(file), *options, "udp", "port", "4791"]
    log = made.folder / "tcpdump.log"
    with log.open("w") as stderr:
        process = made.start(made.far, *command, stderr=stderr)
    while "listening on" not in log.read_text():
        assert process.poll() is None, log.read_text()
        time.sleep(0.01)
    return process


def run_in_machine(made: Link, *command: str) -> subprocess.Popen[str]:
    """Start a command in the virtual machine, from which the near end is at `NEAR`."""
    script = Path(os.environ[VARIABLE]) / "vm.sh"
    options = ("--seconds", str(VM_SECONDS), "--share", str(made.folder / "share"))
    place = ("vm", MAC, f"{FAR}/{PREFIX}")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return made.start(made.far, str(script), *place, *options, "--", *command, **pipes)


def run_endpoint(made: Link, program: Path, task: Mapping[str, Any]) -> subprocess.Popen[str]:
    """Start the other end, `crates/endpoint/examples/interop`, with a task."""
    given = made.folder / "task.json"
    given.write_text(json.dumps(task))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with given.open() as stdin:
        return made.start(made.near, str(program), stdin=stdin, **pipes)


def facts(
    made: Link, endpoint: subprocess.Popen[str], machine: subprocess.Popen[str]
) -> tuple[Sequence[dict[str, Any]], str]:
    """Wait for both ends and return what our end says of each case, and what the machine has printed."""
    try:
        said, errors = endpoint.communicate(timeout=VM_SECONDS)
        told, _ = machine.communicate(timeout=60 if endpoint.returncode == 0 else 5)
    except subprocess.TimeoutExpired:
        made.end()
        (said, errors), (told, _) = endpoint.communicate(), machine.communicate()
    assert (endpoint.returncode, machine.returncode) == (0, 0), f"ours: {errors}\nthe machine's: {told}"
    return [json.loads(line) for line in said.splitlines()], told
