"""Driver `verbs` on soft-RoCE adapters of virtual machines (FABRICBENCH_RDMA_VM)."""

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
from fabricbench.report.documents.diagnosis import insight_of
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


@contextmanager
def losing(machines: Machines, one_in: int) -> Iterator[None]:
    """Lose RoCE v2 packets between the machines at random."""
    chain = "chain between { type filter hook forward priority 0; "
    chain += f"udp dport 4791 numgen random mod {one_in} 0 counter drop; }};"
    nft = [*machines.enter, "nft"]
    subprocess.run([*nft, f"table bridge losing {{ {chain} }}"], check=True)
    yield
    subprocess.run([*nft, "delete table bridge losing"], check=True)


def test_messages_that_are_lost_on_the_way_are_counted(fabric: Fabric, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text(fabric.hosts.read_text().replace("verify: true", "verify: false") + "\n")
    hosts.write_text(hosts.read_text().replace("driver: verbs", "driver: verbs\n  rate_limit: 20Mbps"))
    where = ["--hosts", str(hosts), "--workspace", str(tmp_path / "workspace")]
    # Messages of one packet: rxe drops every message after one that lost its end (Linux 6.1,
    # do_class_d1e_error: without a receive of its own the state of a WRITE is not reset).
    transport = "transport={connection: uc, mtu: 1024, message_size: 1KB}"
    with losing(fabric.machines, 50):
        fields = ["-s", transport, "-s", "sweep.data_size=[1MB]", "-s", "criteria=[]"]
        fabric.run("run", "jct-alltoall", "--backend", "hosts", *where, *fields)
    (trial,) = Workspace.open(tmp_path / "workspace").trials()
    assert trial.status == "incomplete"
    (job,) = (trial.summary or {})["jobs"]
    sent, received = job["messages"]["sent"], job["messages"]["received"]
    assert sent == 8 * 7 * 128
    # To the other machine.
    between, survive = 8 * 4 * 128, 1 - 1 / 50
    deviation = (survive * (1 - survive) / between) ** 0.5
    assert 1 - (sent - received) / between == pytest.approx(survive, abs=4 * deviation)
    assert job["chunks_failed"] == 0 < job["chunks_complete"]
    assert job["reason"].startswith(f"{sent - received} of {sent} messages lost; ")
    insight = insight_of(trial)
    assert insight is not None
    assert [each.cause for each in insight.findings] == ["loss-without-recovery"]
