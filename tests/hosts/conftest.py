from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from tests.hosts.planes import PlainPlane

from fabricbench.hosts.addresses import parse_address
from fabricbench.hosts.agent.program import Agent, AgentSettings
from fabricbench.hosts.agent.session import Policy
from fabricbench.hosts.control.hosts_file import Hosts, load_hosts

SPEC = '{"transport": {"mtu_bytes": 4096}}'
LOOPBACK = [ip_network("127.0.0.0/8")]


class Lab:
    """Agents in this process, at Unix sockets of a folder, and the file of hosts that names them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.agents: list[Agent] = []
        self.planes: list[PlainPlane] = []

    def add(self, count: int = 50, policy: Policy | None = None, plane: PlainPlane | None = None) -> Agent:
        """Start an agent whose runs send so many datagrams to each peer."""
        number = len(self.agents)
        plane = plane or PlainPlane(count)
        where = parse_address(f"unix:{self.folder}/h{number}.sock")
        settings = AgentSettings(where, self.folder, False, policy or Policy(f"h{number}", LOOPBACK))
        self.agents.append(Agent(settings, plane, "1.2.3"))
        self.planes.append(plane)
        return self.agents[-1]

    def hosts(self, more: str = "") -> Hosts:
        """Write and load the file of hosts."""
        lines = ["version: 1", "defaults:", "  tls: false", more, "hosts:"]
        for number in range(len(self.agents)):
            lines += [f"  - name: h{number}", f"    agent: unix:{self.folder}/h{number}.sock"]
            lines += [f"    address: 127.0.0.{number + 1}"]
        path = self.folder / "hosts.yaml"
        path.write_text("\n".join(line for line in lines if line) + "\n")
        return load_hosts(path)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    for agent in made.agents:
        agent.end("the test ended")
    for plane in made.planes:
        for run in plane.runs:
            run.close()


@pytest.fixture
def two(lab: Lab) -> Callable[..., Hosts]:
    """Two hosts with agents."""

    def make(count: int = 50, more: str = "") -> Hosts:
        lab.add(count)
        lab.add(count)
        return lab.hosts(more)

    return make
