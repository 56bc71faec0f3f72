"""Driver `verbs` on soft-RoCE adapters of virtual machines (`make verbs-lab`)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts import simulated
from tests.verbs.machines import CONTROLLER, NETWORK, REPOSITORY, Machines, address, python

from fabricbench.plan.load import load_plan
from fabricbench.results.hosts import hosts_of
from fabricbench.store import Workspace

PATIENCE_S = 240.0
PROGRAM = [sys.executable, "-m", "fabricbench"]
# An agent until a file says so: a machine has no other way to be told.
AGENT = 'python=$1; shift; "$python" -B -m fabricbench agent "$@" & agent=$!\n' + (
    "until [ -e /share/stop ] || ! kill -0 $agent; do sleep 0.5; done; kill $agent; wait $agent; true"
)


def test_one_machine_gives_the_rows_of_the_simulator(machines: Machines) -> None:
    printed = machines.run(1, python("-m", "tests.verbs.one_machine", address(1)), seconds=400)
    assert "jct-halving-doubling" in printed


class Fabric:
    """Agents in two machines, four ranks each, and a controller beside them."""

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.machines, self.folder = machines, folder
        self.hosts = folder / "hosts.yaml"
        lines = ["version: 1", "defaults:", "  driver: verbs"]
        lines += ["  settings: {verify: true, timeout_min_ps: 500000000000}", "hosts:"]
        for number in (1, 2):
            plays = list(range(4 * number - 4, 4 * number))
            lines.append(f"  - {{name: m{number}, agent: '{address(number)}:7470', plays: {plays},")
            lines.append(f"     address: {address(number)}}}")
        self.hosts.write_text("\n".join(lines))

    def start(self) -> None:
        """Let both machines join."""
        command = self._here("hosts", "token", "m1", "m2", "--address", CONTROLLER)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.folder) as joining:
            assert joining.stdout
            tokens = [joining.stdout.readline().split()[-1] for _ in (1, 2)]
            for number, token in zip((1, 2), tokens, strict=True):
                options = ["--join", token, "--allow", NETWORK, "--folder", "/tmp/agent"]
                shell = ["bash", "-c", AGENT, "agent", sys.executable, *options]
                self.machines.start(number, shell, seconds=580)
            try:
                assert joining.wait(PATIENCE_S) == 0, [self.machines.printed(number) for number in (1, 2)]
            finally:
                joining.kill()
        self.wait_for(lambda: self.run("hosts", "check", str(self.hosts), fails=True).returncode == 0)

    def _here(self, *arguments: str) -> list[str]:
        own = ["env", f"PYTHONPATH={REPOSITORY / 'python'}", f"FABRICBENCH_AUTHORITY={self.folder / 'own'}"]
        return [*self.machines.enter, *own, *PROGRAM, *arguments]

    def run(self, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        """Run fabricbench beside the machines."""
        command = self._here(*arguments)
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.folder)
        assert fails or done.returncode == 0, done.stdout + done.stderr
        return done

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not is_so():
            printed = [self.machines.printed(number) for number in (1, 2)]
            assert time.monotonic() < until, printed

    def end(self) -> None:
        for number in (1, 2):
            (self.machines.share(number) / "stop").touch()
        for machine in self.machines.running:
            machine.wait(60)


@pytest.fixture(scope="module")
def fabric(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Any:
    found = Fabric(machines, tmp_path_factory.mktemp("controller"))
    found.start()
    yield found
    found.end()


@contextmanager
def captured(machines: Machines, file: Path) -> Iterator[None]:
    """Capture RoCE v2 between the machines into a file."""
    command = [
        *machines.enter,
        "tcpdump",
        "-i",
        "br0",
        "-U",
        "--immediate-mode",
        "-s",
        "128",
        "-w",
        str(file),
        "udp port 4791",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as capture:
        assert capture.stderr
        assert any("listening on br0" in line for line in capture.stderr)
        yield
        capture.terminate()


def test_packets_have_the_source_ports_and_the_traffic_class_of_the_plan(
    fabric: Fabric, tmp_path: Path
) -> None:
    where = ["--hosts", str(fabric.hosts), "--workspace", str(tmp_path / "workspace")]
    override = "sweep.data_size=[64KB]"
    with captured(fabric.machines, tmp_path / "capture.pcap"):
        fabric.run("run", "jct-alltoall", "--backend", "hosts", *where, "-s", override)
    shown = ["tcpdump", "-nn", "-v", "-r", str(tmp_path / "capture.pcap")]
    told = subprocess.run(shown, check=True, capture_output=True, text=True).stdout
    # DSCP 26 and ECT(0).
    assert set(re.findall(r"\(tos (0x[0-9a-f]+)", told)) == {"0x6a"}
    chunks = simulated(load_plan("jct-alltoall", (override,)).trials[0].spec_json).to_pylist()
    between = [row for row in chunks if (row["src_host"] < 4) != (row["dst_host"] < 4)]
    ports = set(map(int, re.findall(r"10\.9\.0\.\d\.(\d+) > ", told)))
    # Soft-RoCE follows Linux' rule for the flow label, for data as for acknowledgements.
    assert ports == {row["udp_source_port"] for row in between}


def test_check_lists_the_driver(fabric: Fabric) -> None:
    told = json.loads(fabric.run("hosts", "check", str(fabric.hosts), "--format", "json").stdout)
    for host in told["hosts"]:
        checks = {each["check"]: each for each in host["checks"]}
        assert (checks["driver verbs"]["state"], checks["driver verbs"]["found"]) == ("ok", "can be used")
        assert host["facts"]["rdma_devices"] == "rxe0"


@pytest.mark.parametrize("plan", ["jct-alltoall", "jct-allreduce-ring"])
def test_eight_ranks_on_two_machines_verify_every_byte(fabric: Fabric, plan: str, tmp_path: Path) -> None:
    where = ["--hosts", str(fabric.hosts), "--workspace", str(tmp_path / "workspace")]
    fabric.run("run", plan, "--backend", "hosts", *where, "-s", "sweep.data_size=[4MB]")
    (trial,) = Workspace.open(tmp_path / "workspace").trials()
    assert trial.status == "complete"
    hosts = hosts_of(trial)
    assert [host["host"] for host in hosts] == ["m1", "m2"]
    for host in hosts:
        endpoint = host["endpoint"]
        assert endpoint["writes"] > 0 == endpoint["wrong_bytes"] == endpoint["failed_queue_pairs"], endpoint
        changed = {each["counter"]: each["after"] - each["before"] for each in host["counters"]}
        # Half of an all-to-all, and two of eight steps of a ring, go to the other machine.
        assert changed["roce_tx_packets"] > 100 < changed["roce_rx_packets"], changed
        assert changed["receives_completed"] > 0, changed
