"""Starts, lists and stops processes in a lab: one in each host's network namespace, ended with the lab.

A process has the network of its host, but the files of the machine. So an agent, the program that sends and
receives, is best reached by a Unix socket in the lab's folder, which does not use the measured network.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from fabricbench.lab.blueprint import Node
from fabricbench.lab.errors import LabError
from fabricbench.lab.state import Lab, process_start

_FILE: Final = "agents.json"
_ENDING_S: Final = 3.0
"""Time limit for an agent to end after SIGTERM."""
_LOG_TAIL_BYTES: Final = 2_000
_WEIGHT_MAX: Final = 8
"""All agents together get as much processor time as this number of processes."""
_WEIGHT_OF_A_STEP: Final = 1.25
"""Factor by which each step of niceness changes the weight (sched(7))."""
_NICE_MAX: Final = 19


@dataclass(frozen=True)
class Agent:
    """A process in a host's namespace.

    Attributes:
        host: Name of the host.
        pid: Process ID; the process leads a group and a session of its own.
        start: Start time, in clock ticks since boot.
        log: File of its output.
    """

    host: str
    pid: int
    start: int
    log: str

    @property
    def is_running(self) -> bool:
        """Whether its process ID still belongs to this process, and it has not ended."""
        return process_start(self.pid) == self.start and not _is_zombie(self.pid)


def entering(node: Node, command: Sequence[str]) -> list[str]:
    """Return the command that runs another one in the namespace of a node.

    `ip netns exec` also mounts that namespace's `/sys/class/net` for the process.

    Raises:
        LabError: The program `ip` is missing.
    """
    program = shutil.which("ip")
    if program is None:
        raise LabError("the program ip is not installed", "install the package iproute2")
    return [program, "netns", "exec", node.namespace, *command]


def start(lab: Lab, command: Callable[[Node], Sequence[str]]) -> list[Agent]:
    """Start a command in the namespace of each host; its output is in `HOST.log` of the lab's folder.

    Args:
        lab: The lab.
        command: Returns the command for a host.

    Returns:
        The processes, in the order of hosts.

    Raises:
        LabError: A command cannot be started, or this lab already has running agents. None is left running.
    """
    if any(agent.is_running for agent in running(lab)):
        raise LabError(
            f"agents run in lab {lab.name} already", f"`fabricbench lab down {lab.name}` ends them"
        )
    started: list[Agent] = []
    try:
        for node in lab.blueprint.hosts:
            started.append(_start(lab, node, command(node)))
            _lower_priority(started[-1].pid, len(lab.blueprint.hosts))
            _save(lab, started)
    except BaseException:
        stop(lab)
        raise
    return started


def _start(lab: Lab, node: Node, command: Sequence[str]) -> Agent:
    log = lab.folder / f"{node.name}.log"
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                entering(node, command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise LabError(f"{command[0]} cannot be started: {error.strerror}", "look at its path") from error
    _children[process.pid] = process
    return Agent(node.name, process.pid, process_start(process.pid) or 0, str(log))


def _lower_priority(pid: int, agents: int) -> None:
    """Reduce the weight of an agent, so that those of a large lab together get no more than a small one's.

    Linux divides processors among sessions (sched(7), autogroup), and each agent is one: with many of them,
    their controller would be too slow to send heartbeats.
    """
    nice = math.ceil(math.log(max(agents / _WEIGHT_MAX, 1), _WEIGHT_OF_A_STEP))
    with suppress(OSError):  # the kernel has no autogroups, or the agent has ended
        Path(f"/proc/{pid}/autogroup").write_text(str(min(nice, _NICE_MAX)))


_children: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""The child processes of this process, which has to wait for them."""


def running(lab: Lab) -> list[Agent]:
    """Return the processes that were started in a lab, including those that have ended."""
    try:
        rows = json.loads((lab.folder / _FILE).read_text())
    except (OSError, ValueError):
        return []
    return [Agent(**row) for row in rows]


def ended(lab: Lab) -> list[tuple[Agent, str]]:
    """Return the processes that have ended, with the tail of their output."""
    return [(agent, _tail(Path(agent.log))) for agent in running(lab) if not agent.is_running]


def stop(lab: Lab) -> int:
    """End the processes of a lab and their children, and return how many were still running."""
    alive = [agent for agent in running(lab) if agent.is_running]
    _signal(alive, signal.SIGTERM)
    deadline = time.monotonic() + _ENDING_S
    while any(agent.is_running for agent in alive) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal(alive, signal.SIGKILL)  # children of an agent may outlive it
    for agent in running(lab):
        child = _children.pop(agent.pid, None)
        if child is not None:
            child.wait()
    with suppress(FileNotFoundError):
        (lab.folder / _FILE).unlink()
    return len(alive)


def _signal(agents: Sequence[Agent], number: signal.Signals) -> None:
    for agent in agents:
        with suppress(ProcessLookupError):
            os.killpg(agent.pid, number)


def _save(lab: Lab, agents: Sequence[Agent]) -> None:
    part = lab.folder / f"{_FILE}.part"
    part.write_text(json.dumps([asdict(agent) for agent in agents]))
    part.replace(lab.folder / _FILE)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
