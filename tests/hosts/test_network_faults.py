"""What goes wrong on the way between hosts while a plan runs, with packets of the core through a router."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.hosts.links import Routed
from tests.hosts.processes import PROGRAM, Hosts

from fabricbench.store import Trial, Workspace

pytestmark = pytest.mark.slow
SLOW = "4Mbps"
"""A run takes four seconds."""
PATIENT = "timeout_min_ps: 200_000_000_000"
"""A queue pair gives up after 8 timeouts of 0.2 s."""


@pytest.fixture
def network() -> Routed:
    return Routed()


@pytest.fixture
def hosts(tmp_path: Path, network: Routed) -> Iterator[Hosts]:
    made = Hosts(tmp_path, 2, SLOW, network, PATIENT)
    yield made
    made.end()


def link_of_router(network: Routed, state: str) -> None:
    """The carrier of a host comes and goes."""
    network.router.ip("link", "set", "port1", state)


def link_of_host(network: Routed, state: str) -> None:
    """A host takes its interface down, and up with its route."""
    network.hosts[1].ip("link", "set", "eth0", state)
    if state == "up":
        network.hosts[1].ip("route", "add", "10.97.0.0/16", "via", "10.97.1.254")


def only_trial(folder: Path) -> Trial:
    (trial,) = Workspace.open(folder / "workspace").trials()
    return trial


def reason(trial: Trial) -> str:
    """Return why the job of a trial is incomplete."""
    assert trial.summary is not None
    (job,) = trial.summary["jobs"]
    return str(job["reason"])


def ended(controller: subprocess.Popen[str]) -> tuple[int, str, float]:
    """Wait for a controller; return its status, what it says, and how long that took."""
    began = time.monotonic()
    output, errors = controller.communicate(timeout=60)
    assert "Traceback" not in errors
    return controller.returncode, output + errors, time.monotonic() - began


@pytest.mark.parametrize("link", [link_of_router, link_of_host])
def test_a_run_outlives_a_link_that_is_down_for_a_moment(
    hosts: Hosts, network: Routed, tmp_path: Path, link: Callable[[Routed, str], None]
) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    link(network, "down")
    time.sleep(0.2)
    link(network, "up")
    status, said, _ = ended(controller)
    assert status == 0, said
    trial = only_trial(tmp_path)
    assert trial.status == "complete"
    chunks = trial.tables.table("chunks").to_pylist()
    assert sum(row["retransmits"] for row in chunks) > 0
    assert sum(row["timeouts"] for row in chunks) > 0
    unsent = sum(host["endpoint"]["unsent_calls"] for host in trial.engine["hosts"])
    assert (unsent > 0) is (link is link_of_host)


@pytest.mark.soak
@pytest.mark.parametrize("link", [link_of_router, link_of_host])
def test_a_link_that_stays_down_fails_the_run_and_is_named(
    hosts: Hosts, network: Routed, tmp_path: Path, link: Callable[[Routed, str], None]
) -> None:
    controller = hosts.begin(tmp_path / "workspace")
    link(network, "down")
    _, said, took_s = ended(controller)
    link(network, "up")
    assert took_s < 12
    trial = only_trial(tmp_path)
    assert trial.status == "incomplete"
    assert "incomplete" in said
    assert "retries exceeded" in said
    told = reason(trial)
    assert "queue pair from 10.97." in told
    assert "retries exceeded, nothing was heard for 8 timeouts of 200 ms" in told
    assert ("the host could not send" in told) or link is link_of_router
    # The hosts are free and the same as before.
    assert hosts.run(tmp_path / "workspace").returncode == 0


def test_an_interface_that_is_too_small_is_told_before_the_run(
    hosts: Hosts, network: Routed, tmp_path: Path
) -> None:
    network.hosts[1].ip("link", "set", "eth0", "mtu", "1500")
    found = subprocess.run(
        [*PROGRAM, "hosts", "check", str(hosts.file)], check=False, capture_output=True, text=True, timeout=60
    )
    assert "1500 bytes, h0 has 4500" in found.stdout
    finished = hosts.run(tmp_path / "workspace")
    assert finished.returncode == 2
    assert "4160 with headers; allowed: at most 1500 with headers, the MTU of eth0" in finished.stderr
    assert "host h1" in finished.stderr


def test_a_path_that_is_known_to_be_too_small_is_told_before_the_run(
    hosts: Hosts, network: Routed, tmp_path: Path
) -> None:
    network.hosts[0].ip("route", "replace", "10.97.0.0/16", "via", "10.97.0.254", "mtu", "2000")
    finished = hosts.run(tmp_path / "workspace")
    assert finished.returncode == 2
    assert "packets of 4160 bytes, headers included" in finished.stderr
    assert "from 10.97.0.1 to 10.97.1.1 has an MTU of 2000" in finished.stderr
    assert hosts.sent_datagrams() == 0


def test_a_path_of_which_a_router_says_that_it_is_too_small_fails_the_run(
    hosts: Hosts, network: Routed, tmp_path: Path
) -> None:
    network.router.ip("link", "set", "port1", "mtu", "1600")
    hosts.run(tmp_path / "workspace")
    trial = only_trial(tmp_path)
    assert trial.status == "incomplete"
    told = "packets of 4140 bytes do not fit: the path from 10.97.0.1 to 10.97.1.1 has an MTU of 1600"
    assert told in reason(trial)


def test_a_path_that_swallows_large_packets_fails_the_run_with_what_to_try(
    hosts: Hosts, network: Routed, tmp_path: Path
) -> None:
    # Longer frames are dropped as they come in, without a word.
    network.router.ip("link", "set", "port0", "mtu", "1600")
    network.router.ip("link", "set", "port1", "mtu", "1600")
    network.router.drop_icmp()
    hosts.run(tmp_path / "workspace")
    told = reason(only_trial(tmp_path))
    assert "do packets of 4160 bytes pass? `ping -M do -s 4132 10.97." in told
