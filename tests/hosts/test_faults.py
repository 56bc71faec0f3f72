"""What goes wrong while a plan runs on hosts: each a clear result, and no traffic without a controller."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.hosts.processes import Hosts
from tests.support.small_disk import NoMountError, small_disk

from fabricbench.results.hosts import hosts_of
from fabricbench.store import Workspace

pytestmark = pytest.mark.slow
SLOW = "4Mbps"
"""A run takes four seconds."""
RSS_KIB_MAX = 100 << 10


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path, 2, SLOW)
    yield made
    made.end()


def told(controller: subprocess.Popen[str]) -> str:
    """Wait for a controller that ends with the status of what a user can mend, and return what it says."""
    _, errors = controller.communicate(timeout=60)
    assert controller.returncode == 2, errors
    assert "Traceback" not in errors
    return errors


def quiet(hosts: Hosts) -> bool:
    """Tell whether nothing is sent any more."""
    before = hosts.sent_datagrams()
    time.sleep(0.5)
    return hosts.sent_datagrams() == before


def test_a_plan_runs_and_is_resumed(hosts: Hosts, tmp_path: Path) -> None:
    finished = hosts.run(tmp_path / "workspace")
    assert finished.returncode == 0, finished.stderr
    assert "note: 2 ranks on h0, h1, driver roce" in finished.stderr
    (trial,) = Workspace.open(tmp_path / "workspace").trials()
    assert (trial.status, trial.facts.backend) == ("complete", "hosts")
    first, second = hosts_of(trial)
    assert {"kernel", "interface", "mtu_bytes"} <= first["facts"].keys()
    assert abs(second["clock_offset_ns"]) <= second["clock_error_ns"]
    assert {each["counter"] for each in first["counters"]} >= {"rx_bytes", "tx_bytes"}
    assert all("counters" not in host for host in trial.engine["hosts"])
    counted = trial.tables.table("counters").to_pylist()
    assert {(row["host"], row["source"]) for row in counted} >= {
        (host, source) for host in ("h0", "h1") for source in ("link", "nstat", "endpoint")
    }
    for agent in hosts.agents:
        status = Path(f"/proc/{agent.pid}/status").read_text().splitlines()
        (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        assert peak < RSS_KIB_MAX
    began = time.monotonic()
    resumed = hosts.run(tmp_path / "workspace", "--resume")
    assert resumed.stdout == finished.stdout
    assert time.monotonic() - began < 4


def test_an_agent_that_is_killed_ends_the_run_everywhere(hosts: Hosts, tmp_path: Path) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    hosts.agents[1].kill()
    hosts.agents[1].communicate()
    errors = told(controller)
    assert "host h1: found its agent lost while it ran" in errors
    assert quiet(hosts)
    hosts.agents[1] = hosts.start(1)
    time.sleep(2)
    assert hosts.run(tmp_path / "workspace", "--resume").returncode == 0


def test_no_traffic_two_seconds_after_the_controller_was_killed(hosts: Hosts, tmp_path: Path) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    controller.kill()
    controller.communicate()
    time.sleep(2.2)
    assert quiet(hosts)
    assert all(agent.poll() is None for agent in hosts.agents)


def test_a_run_outlives_an_agent_that_is_paused_for_a_second(hosts: Hosts, tmp_path: Path) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    hosts.agents[1].send_signal(signal.SIGSTOP)
    time.sleep(1)
    hosts.agents[1].send_signal(signal.SIGCONT)
    _, errors = controller.communicate(timeout=60)
    assert controller.returncode == 0, errors
    (trial,) = Workspace.open(tmp_path / "workspace").trials()
    assert trial.status == "complete"


@pytest.mark.soak
def test_an_agent_that_is_paused_for_ten_seconds_ends_the_run(hosts: Hosts, tmp_path: Path) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    hosts.agents[1].send_signal(signal.SIGSTOP)
    began = time.monotonic()
    errors = told(controller)
    assert "host h1: found its agent silent for 3 s" in errors
    assert "is the host paused" in errors
    time.sleep(max(10 - (time.monotonic() - began), 0))
    hosts.agents[1].send_signal(signal.SIGCONT)
    time.sleep(1)
    assert quiet(hosts)
    assert hosts.run(tmp_path / "workspace").returncode == 0


def test_a_second_controller_is_told_who_holds_the_hosts(hosts: Hosts, tmp_path: Path) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    second = hosts.run(tmp_path / "other")
    assert second.returncode == 2
    assert f"process {controller.pid}, since 20" in second.stderr
    assert "one run at a time" in second.stderr
    assert controller.wait(60) == 0
    controller.communicate()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_traffic_first(
    hosts: Hosts, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    controller.send_signal(number)
    _, errors = controller.communicate(timeout=20)
    assert controller.returncode == status
    assert "interrupted: 0 of 1 trial" in errors
    assert quiet(hosts)
    assert hosts.run(tmp_path / "workspace", "--resume").returncode == 0


def test_an_agent_that_ends_says_so(hosts: Hosts, tmp_path: Path) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    hosts.agents[0].terminate()
    assert "host h0: found its traffic stopped: the agent was ended by SIGTERM" in told(controller)
    assert hosts.agents[0].wait(10) == 143
    assert quiet(hosts)


def test_a_full_disk_at_the_controller_ends_the_run_and_frees_the_hosts(hosts: Hosts, tmp_path: Path) -> None:
    try:
        with small_disk(tmp_path / "disk", 4 << 20) as disk:
            controller = hosts.begin(disk / "workspace")
            with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                while True:
                    filler.write(b"x" * 4096)
            errors = told(controller)
    except NoMountError as reason:
        pytest.skip(f"cannot mount a tmpfs here: {reason}")
    assert "No space left on device" in errors
    assert quiet(hosts)
    assert hosts.run(tmp_path / "workspace").returncode == 0
