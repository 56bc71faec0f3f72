"""Agents in a lab: programs that listen at sockets, and are gone with it. Root only."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ruamel.yaml import YAML
from tests.lab.conftest import Made, plan_of_lab

from fabricbench.lab import agents, endpoints, state
from fabricbench.lab.errors import LabError
from fabricbench.lab.kernel import namespaces

LISTENING = """
import socket, sys
path = sys.argv[sys.argv.index("--listen") + 1].removeprefix("unix:")
with socket.socket(socket.AF_UNIX) as server:
    server.bind(path)
    server.listen()
    while True:
        client, _ = server.accept()
        with client:
            client.sendall(" ".join(name for _, name in socket.if_nameindex()).encode())
"""
"""A program in the place of fabricbench: it answers with the names of the interfaces it sees."""


@pytest.fixture(autouse=True)
def _short_folder(make: Made, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a run folder whose sockets have short names: 107 bytes is the most that the kernel takes."""
    del make
    with TemporaryDirectory(prefix="fbl-") as folder:
        monkeypatch.setenv(state.RUN_VARIABLE, folder)
        yield


def program(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "program.py"
    path.write_text(text)
    return (sys.executable, str(path))


def test_a_controller_reaches_each_agent_in_its_host(tmp_path: Path) -> None:
    wanted = plan_of_lab()
    with endpoints.measuring(wanted, {"driver": "tcp"}, program=program(tmp_path, LISTENING)) as lab:
        written = YAML(typ="safe").load(endpoints.hosts_file(lab))
        assert written["defaults"] == {"tls": False, "driver": "tcp"}
        assert [host["address"] for host in written["hosts"]] == [f"10.0.0.{each}" for each in range(1, 9)]
        for host in written["hosts"]:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(5)
                client.connect(host["agent"].removeprefix("unix:"))
                assert client.recv(100) == b"lo port0"
        started = agents.running(lab)
        assert len(started) == 8
    assert not any(agent.is_running for agent in started)
    assert namespaces.existing(f"fb-{wanted.name}-") == []
    assert state.names() == []


def test_hosts_batch_packets_as_the_lab_forwards_them(tmp_path: Path) -> None:
    wanted = plan_of_lab()
    settings = {"settings": {"verify": True}}
    with endpoints.measuring(wanted, settings, program=program(tmp_path, LISTENING)) as lab:
        written = YAML(typ="safe").load(endpoints.hosts_file(lab))
        rates = [host["settings"]["port_rate_bps"] for host in written["hosts"]]
        assert rates == [host.ports[0].rate_bps for host in wanted.hosts]
        assert written["defaults"]["settings"] == {
            "port": 4791,
            "batch_packets_max": wanted.batch_packets,
            "in_flight_packets_max": wanted.in_flight_packets,
            "verify": True,
        }


def test_an_agent_that_does_not_start_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    wanted = plan_of_lab()
    failing = program(tmp_path, 'raise SystemExit("no such driver")')
    with (
        pytest.raises(LabError, match=r"the agent of host\d has ended: no such driver"),
        endpoints.measuring(wanted, {}, program=failing),
    ):
        raise AssertionError("it must not come this far")
    assert namespaces.existing(f"fb-{wanted.name}-") == []
    assert state.names() == []


def test_ctrl_c_while_it_is_measured_leaves_nothing(tmp_path: Path) -> None:
    wanted = plan_of_lab()
    started: list[agents.Agent] = []

    def measure() -> None:
        with endpoints.measuring(wanted, {}, program=program(tmp_path, LISTENING)) as lab:
            started.extend(agents.running(lab))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure()
    assert len(started) == 8
    assert not any(agent.is_running for agent in started)
    assert namespaces.existing(f"fb-{wanted.name}-") == []


def test_a_lab_that_stands_is_not_taken_over(tmp_path: Path) -> None:
    wanted = plan_of_lab()
    command = program(tmp_path, LISTENING)
    with endpoints.measuring(wanted, {}, program=command) as lab:
        with pytest.raises(LabError, match="already"), endpoints.measuring(wanted, {}, program=command):
            raise AssertionError("it must not come this far")
        assert all(agent.is_running for agent in agents.running(lab))
