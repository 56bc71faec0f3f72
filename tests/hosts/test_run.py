"""One run over hosts: what agents and controller do to each other, with a data plane of plain datagrams."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.hosts.conftest import LOOPBACK, SPEC, Lab

from fabricbench.hosts.agent.session import Policy
from fabricbench.hosts.control import run as control
from fabricbench.hosts.control.agent_client import RemoteAgent
from fabricbench.hosts.control.hosts_file import Hosts, load_hosts
from fabricbench.hosts.control.run import HostsRun, Step
from fabricbench.hosts.protocol import RELEASE_S, RefusedError

Two = Callable[..., Hosts]


def ignore(step: Step) -> None:
    pass


def test_a_run_delivers_what_every_host_measured(lab: Lab, two: Two) -> None:
    steps: list[Step] = []
    results = HostsRun(two().hosts, None).carry_out(SPEC, steps.append)
    assert [result.host.name for result in results] == ["h0", "h1"]
    assert [len(result.collected.sent) for result in results] == [2_400_000] * 2
    assert results[0].collected.received == b"received"
    assert results[0].collected.counters.endpoint["datagrams"] == 50
    names = {counter.name for counter in results[0].collected.counters.devices}
    assert {"rx_bytes", "tx_packets"} <= names
    assert steps[-1].delivered_bytes == steps[-1].total_bytes == 10_000
    assert [agent.session.held_by for agent in lab.agents] == ["", ""]


def test_clocks_of_one_machine_differ_by_less_than_the_stated_error(two: Two) -> None:
    for result in HostsRun(two().hosts, None).carry_out(SPEC, ignore):
        assert abs(result.clock.offset_ns) <= result.clock.error_ns < 50_000_000


def test_hosts_start_together(lab: Lab, two: Two) -> None:
    HostsRun(two().hosts, None).carry_out(SPEC, ignore)
    first, second = (plane.runs[0].started_ns for plane in lab.planes)
    assert abs(first - second) < 50_000_000


@pytest.mark.parametrize(("start_ps", "said"), [(0, "nothing was delivered"), (60 * 10**12, "")])
def test_nothing_has_to_be_delivered_before_the_last_job_starts(
    two: Two, monkeypatch: pytest.MonkeyPatch, start_ps: int, said: str
) -> None:
    monkeypatch.setattr(control, "PATIENCE_S", -1.0)
    spec = json.dumps({"transport": {"mtu_bytes": 4096}, "jobs": [{"start_ps": 0}, {"start_ps": start_ps}]})
    run = HostsRun(two().hosts, None)
    run.carry_out(spec, ignore)
    assert run.ended_early.startswith(said)
    assert bool(run.ended_early) == bool(said)


def test_a_second_controller_is_told_who_runs_what(two: Two) -> None:
    hosts = two(1000).hosts
    started, refused = threading.Event(), []

    def second(_step: Step) -> None:
        if not started.is_set():
            started.set()
            with pytest.raises(RefusedError) as info:
                HostsRun(hosts, None).carry_out(SPEC, ignore)
            refused.append(info.value)
        else:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HostsRun(hosts, None).carry_out(SPEC, second)
    assert "another run here, of " in refused[0].found
    assert "process " in refused[0].found
    assert "since 20" in refused[0].found


def test_ctrl_c_stops_the_traffic_of_all_hosts_and_frees_them(lab: Lab, two: Two) -> None:
    def interrupt(step: Step) -> None:
        if step.delivered_bytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HostsRun(two(10_000).hosts, None).carry_out(SPEC, interrupt)
    runs = [plane.runs[0] for plane in lab.planes]
    assert [(run.state, run.reason) for run in runs] == [("stopped", "the user stopped the run")] * 2
    assert [agent.session.held_by for agent in lab.agents] == ["", ""]


def test_an_agent_that_ends_ends_the_run_everywhere(lab: Lab, two: Two) -> None:
    hosts = two(10_000).hosts
    ended: list[Any] = []

    def end(step: Step) -> None:
        if step.delivered_bytes and not ended:
            ended.append(threading.Thread(target=lab.agents[1].end, args=("the agent was ended by SIGTERM",)))
            ended[0].start()

    with pytest.raises(RefusedError, match="ended by SIGTERM") as info:
        HostsRun(hosts, None).carry_out(SPEC, end)
    ended[0].join()
    assert info.value.field == "host h1"
    assert lab.planes[0].runs[0].state == "stopped"


def test_an_agent_stops_and_frees_itself_when_its_controller_is_silent(lab: Lab, two: Two) -> None:
    host = two(10_000).hosts[0]
    with RemoteAgent(host, None, b"r" * 16) as agent:
        agent.prepare(SPEC, "somebody", ["127.0.0.1"])
        agent.connect({})
        agent.arm()
        agent.start(time.monotonic_ns() + 50_000_000)
    time.sleep(1.5)
    run = lab.planes[0].runs[0]
    assert run.state == "running"
    time.sleep(1.0)
    assert (run.state, run.reason) == ("stopped", "its controller was silent for 2 s")
    assert lab.agents[0].session.held_by
    time.sleep(RELEASE_S - 2)
    assert not lab.agents[0].session.held_by


@pytest.mark.parametrize(
    ("more", "field", "found"),
    [
        ("  driver: verbs", "hosts.driver", "libibverbs.so.1 is missing"),
        ("  driver: rdma", "hosts.driver", '"rdma"'),
        ("  settings: {unknown: 1}", "settings.unknown", "an unknown setting"),
    ],
)
def test_a_host_says_what_it_refuses(lab: Lab, two: Two, more: str, field: str, found: str) -> None:
    with pytest.raises(RefusedError) as info:
        HostsRun(two(more=more).hosts, None).carry_out(SPEC, ignore)
    assert info.value.field == f"host h0: {field}"
    assert found in info.value.found
    assert [agent.session.held_by for agent in lab.agents] == ["", ""]


def test_packets_that_do_not_fit_the_interface_are_refused(two: Two) -> None:
    spec = SPEC.replace("4096", "70000")
    with pytest.raises(RefusedError, match="70064 with headers; allowed: at most 65536"):
        HostsRun(two().hosts, None).carry_out(spec, ignore)


def test_a_peer_outside_of_the_allowed_networks_is_refused(lab: Lab) -> None:
    lab.add(policy=Policy("h0", LOOPBACK))
    text = lab.hosts().path.read_text().replace("127.0.0.1", "192.0.2.7")
    (lab.folder / "hosts.yaml").write_text(text)
    with pytest.raises(RefusedError, match=r'found "192.0.2.7"; allowed: 127.0.0.0/8') as info:
        HostsRun(load_hosts(lab.folder / "hosts.yaml").hosts, None).carry_out(SPEC, ignore)
    assert "--allow" in info.value.hint


def test_the_agent_limits_the_rate(lab: Lab) -> None:
    agent = lab.add(policy=Policy("h0", LOOPBACK, rate_limit_bps=1000))
    limited = agent.session._limited
    assert limited({"rate_limit_bps": 5000})["rate_limit_bps"] == 1000
    assert limited({"rate_limit_bps": 500})["rate_limit_bps"] == 500
    assert limited({"allowed_peers": ["0.0.0.0/0"]}) == {
        "allowed_peers": ["127.0.0.0/8"],
        "rate_limit_bps": 1000,
    }
