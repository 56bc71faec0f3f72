"""The jobs of plans, carried out by endpoints of this machine."""

from __future__ import annotations

import json
import time
from typing import Any

import pyarrow as pa
import pytest
from tests.support.hosts import Agents, simulated

from fabricbench import _core
from fabricbench.plan.load import load_fields, load_plan
from fabricbench.store.record.schema import conform

# What names a chunk, and what of it the plan decides.
PLANNED = (
    *("job", "transfer", "part", "round", "qp", "udp_source_port", "src_rank", "dst_rank"),
    *("src_host", "dst_host", "step", "channel", "block", "payload_bytes", "status"),
)


def spec_of(plan: str, *overrides: str) -> str:
    return load_plan(plan, overrides).trials[0].spec_json


def spec_of_jobs(*jobs: dict[str, Any], hosts: int, **transport: Any) -> str:
    named = [{"name": f"job{index}", "step_overhead": "0s"} | job for index, job in enumerate(jobs)]
    topology = {"kind": "single-switch", "hosts": hosts, "host_link": "100Gbps"}
    fields = {
        "fabricbench": 1,
        "name": "endpoints",
        "fabric": {"topology": topology},
        "transport": transport,
        "jobs": named,
    }
    return load_fields(fields).trials[0].spec_json


def planned(table: pa.Table, driver: str) -> list[dict[str, Any]]:
    order = [(name, "ascending") for name in ("job", "transfer", "part", "round")]
    names = [name for name in PLANNED if name not in _core.unmeasured(driver)]
    rows: list[dict[str, Any]] = table.select(names).sort_by(order).to_pylist()
    return rows


def check(agents: Agents) -> pa.Table:
    """Check the rows of a drained run: those of the simulator, within one clock."""
    table = agents.rows()
    for batch in table.to_batches():
        conform("chunks", batch, _core.unmeasured(agents.driver))
    expected = simulated(agents.spec_json)
    assert planned(table, agents.driver) == planned(expected, agents.driver)
    for row in table.to_pylist():
        assert row["status"] == "complete"
        assert row["start_ps"] <= row["delivered_ps"] <= row["completed_ps"], row
        assert row["fct_ps"] == row["completed_ps"] - row["start_ps"]
    return table


def halves(count: int) -> list[list[int]]:
    return [list(range(count // 2)), list(range(count // 2, count))]


JOB = {"collective": "all-to-all", "algorithm": "parallel", "ranks": "0-3", "data_size": "64KB"}


def run(
    spec_json: str, hosts: int, driver: str = "roce", **settings: Any
) -> tuple[pa.Table, list[dict[str, int]]]:
    agents = Agents(spec_json, halves(hosts), driver, settings=settings)
    agents.prepare()
    counters = agents.drain()
    table = check(agents)
    assert all(told["wrong_bytes"] == told["unknown_chunks"] == 0 for told in counters)
    return table, counters


@pytest.mark.parametrize("plan", ["jct-alltoall", "jct-allreduce-ring", "jct-halving-doubling"])
def test_shipped_plans_give_the_rows_of_the_simulator(plan: str) -> None:
    table, _ = run(spec_of(plan, "sweep.data_size=[1MB]"), hosts=8)
    for row in table.to_pylist():
        assert row["tx_frames"] >= max(1, row["payload_bytes"] // 4096)
        assert row["tx_bytes"] > row["payload_bytes"]
    assert sum(table["rx_bytes"].to_pylist()) > sum(table["payload_bytes"].to_pylist())


@pytest.mark.parametrize("driver", ["roce", "tcp"])
@pytest.mark.parametrize(
    ("job", "transport"),
    [
        ({"collective": "incast", "algorithm": "parallel"}, {}),
        ({"collective": "gather", "algorithm": "parallel"}, {"qp_mode": "per_pair"}),
        ({"collective": "gather", "algorithm": "tree"}, {"qps_per_rank_pair": 2}),
        ({"repeat": 3, "barrier": True, "warm_up_rounds": 1}, {}),
        ({"collective": "broadcast", "algorithm": "tree", "repeat": 5, "barrier": True}, {}),
        ({"data_size": "6MB"}, {"recovery": "selective"}),
        ({"rendezvous": {"threshold": "1KB"}, "repeat": 2}, {"qp_mode": "per_pair"}),
        ({"ranks": "0-3", "processes_per_host": 2}, {}),
    ],
)
def test_each_way_to_run_a_job_gives_the_rows_of_the_simulator(
    job: dict[str, Any], transport: dict[str, Any], driver: str
) -> None:
    run(spec_of_jobs(JOB | job, hosts=4, **transport), hosts=4, driver=driver)


def test_several_jobs_run_side_by_side() -> None:
    other = {"ranks": "4-7", "collective": "all-reduce", "algorithm": "ring", "start": "10ms"}
    table, _ = run(spec_of_jobs(JOB, JOB | other, hosts=8), hosts=8)
    begun = {row["job"]: row["start_ps"] for row in reversed(table.sort_by("start_ps").to_pylist())}
    assert begun["job1"] >= 10**10 > 0 <= begun["job0"]


@pytest.mark.parametrize("driver", ["roce", "tcp"])
def test_jobs_on_the_same_hosts_give_the_rows_of_the_simulator(driver: str) -> None:
    ring = {"collective": "all-reduce", "algorithm": "ring", "repeat": 3, "barrier": True}
    tree = {"collective": "broadcast", "algorithm": "tree", "ranks": [3, 1, 0], "processes_per_host": 2}
    table, _ = run(spec_of_jobs(JOB, JOB | ring, JOB | tree, hosts=4), hosts=4, driver=driver)
    assert set(table["job"].to_pylist()) == {"job0", "job1", "job2"}


def test_lost_packets_are_sent_again() -> None:
    table, counters = run(spec_of_jobs(JOB | {"data_size": "2MB"}, hosts=4), hosts=4, loss_one_in=50)
    assert sum(told["dropped_on_purpose"] for told in counters) > 0
    assert sum(table["retransmits"].to_pylist()) > 0
    assert sum(table["frames_delta"].to_pylist()) > 0


@pytest.mark.parametrize("driver", ["roce", "tcp"])
def test_a_limit_of_the_rate_holds(driver: str) -> None:
    spec_json = spec_of_jobs(JOB | {"data_size": "2MB"}, hosts=4)
    table, _ = run(spec_json, hosts=4, driver=driver, rate_limit_bps=200_000_000)
    bits = sum(table["payload_bytes"].to_pylist()) * 8 // 2
    burst_bits = 200_000_000 // 1000 + 12_500 * 8
    assert max(table["completed_ps"].to_pylist()) >= (bits - burst_bits) * 10**12 // 200_000_000


def test_packets_leave_when_a_port_of_that_rate_would_have_transmitted_them() -> None:
    # Chunks of one packet: 4,178 bytes on the link are 33.4 ms at 1 Mb/s. Each agent sends six.
    spec_json = spec_of_jobs(JOB | {"data_size": "16KB"}, hosts=4, mtu=4096)
    table, _ = run(spec_json, hosts=4, port_rate_bps=1_000_000)
    delivered_ms = [delivered_ps / 1e9 for delivered_ps in table["delivered_ps"].to_pylist()]
    assert min(delivered_ms) >= 33.4, "no burst passes at once"
    assert max(delivered_ms) >= 6 * 33.4
    assert max(delivered_ms) < 12 * 33.4


def test_windows_of_many_queue_pairs_find_room_together() -> None:
    job = JOB | {"collective": "incast", "data_size": "64MB"}
    _, counters = run(spec_of_jobs(job, hosts=4, qps_per_rank_pair=64, window=512), hosts=4)
    assert sum(told["socket_drops"] for told in counters) == 0
    assert all(
        told["window_packets_min"] < 512 for told in counters if told["window_packets_min"] != 2**32 - 1
    )


def test_where_everything_is_lost_the_run_fails_and_says_so() -> None:
    spec = spec_of_jobs(JOB, hosts=4, timeout="1ms", retry_count=1)
    agents = Agents(spec, halves(4), settings={"loss_one_in": 1, "timeout_min_ps": 10**9})
    agents.prepare()
    agents.start()
    agents.keep_alive_until(lambda: all(run.progress()["state"] == "failed" for run in agents.runs))
    assert "chunks failed" in agents.runs[0].progress()["reason"]
    rows = agents.rows().to_pylist()
    assert {row["status"] for row in rows} == {"failed"}
    assert {(row["delivered_ps"], row["completed_ps"]) for row in rows} == {(None, None)}
    assert all(row["timeouts"] == 2 for row in rows)


@pytest.mark.parametrize("driver", ["roce", "tcp"])
def test_a_run_that_is_stopped_has_unfinished_chunks(driver: str) -> None:
    agents = Agents(spec_of_jobs(JOB | {"data_size": "64MB"}, hosts=4), halves(4), driver)
    agents.prepare()
    agents.runs[0].start(time.monotonic_ns())
    with pytest.raises(RuntimeError, match="stop it first"):
        agents.runs[0].sent()
    agents.runs[0].stop("enough")
    assert agents.runs[0].wait(10)
    told = agents.runs[0].progress()
    assert (told["state"], told["reason"]) == ("stopped", "enough")
    assert {row["status"] for row in agents.rows().to_pylist()} == {"unfinished"}


def test_nobody_kept_alive_stops_by_itself() -> None:
    spec = spec_of_jobs(JOB, hosts=4, timeout="1s")
    agents = Agents(spec, halves(4), settings={"loss_one_in": 1})
    agents.prepare()
    agents.start()
    assert all(run.wait(30) for run in agents.runs)
    told = agents.runs[0].progress()
    assert (told["state"], told["reason"][:20]) == ("stopped", "no sign of the contr")


@pytest.mark.parametrize("driver", ["roce", "tcp"])
def test_a_peer_outside_the_allowed_networks_is_refused(driver: str) -> None:
    settings = {"allowed_peers": ["10.0.0.0/8"]}
    agents = Agents(spec_of_jobs(JOB, hosts=4), halves(4), driver, settings)
    with pytest.raises(ValueError, match=r"host \d is at 127.0.0.\d; allowed peers: 10.0.0.0/8"):
        agents.prepare()


@pytest.mark.parametrize(
    ("hosts", "driver", "settings", "message"),
    [
        ([0, 9], "roce", {}, "host 9: the topology has 4"),
        ([0, 0], "roce", {}, "host 0: it is named twice"),
        ([0], "carrier-pigeon", {}, 'driver "carrier-pigeon"; allowed: roce, tcp'),
        ([0], "roce", {"speed": 1}, "settings: unknown field `speed`"),
        ([0], "roce", {"dscp": 64}, "settings: dscp is 64; 0 to 63 are allowed"),
        ([0], "roce", {"port_rate_bps": 0}, "settings: port_rate_bps is 0; 1 and more are allowed"),
        ([0], "tcp", {"port_rate_bps": 1}, "settings: driver tcp has no setting port_rate_bps"),
        ([0], "roce", {"congestion": "reno"}, "settings: driver roce has no setting congestion"),
        ([0], "tcp", {"loss_one_in": 9}, "settings: driver tcp has no setting loss_one_in"),
        ([0], "tcp", {"peer_timeout_ps": 1}, "settings: peer_timeout_ps is 1; "),
        ([0], "tcp", {"congestion": "haste"}, 'settings: congestion is "haste" .* allowed here: .*reno'),
    ],
)
def test_what_cannot_be_had_says_why(
    hosts: list[int], driver: str, settings: dict[str, Any], message: str
) -> None:
    given = json.dumps({"address": "127.0.0.1", "allowed_peers": []} | settings)
    with pytest.raises(ValueError, match=message):
        _core.HostRun(spec_of_jobs(JOB, hosts=4), hosts=hosts, driver=driver, settings_json=given)


def test_a_spec_that_endpoints_cannot_carry_out_is_refused() -> None:
    agents = Agents(spec_of_jobs(JOB, hosts=4, recovery="none"), halves(4))
    with pytest.raises(_core.SpecError) as refused:
        agents.prepare()
    assert refused.value.field == "transport.recovery"


def test_a_run_whose_rows_do_not_fit_into_memory_is_refused_with_figures() -> None:
    spec = json.loads(spec_of("jct-alltoall", "sweep.data_size=[1MB]"))
    spec["jobs"][0]["repeat"] = {"kind": "rounds", "rounds": 2**32 - 1}
    settings = json.dumps({"address": "127.0.0.1", "allowed_peers": ["127.0.0.0/8"]})
    with pytest.raises(ValueError, match=r"MB of memory for 14 ends of queue pairs and .* MB can be had"):
        _core.HostRun(json.dumps(spec), hosts=[0], driver="roce", settings_json=settings)
