"""The jobs of plans over plain TCP connections."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.endpoint.test_host_run import JOB, check, halves, run, spec_of, spec_of_jobs
from tests.support.hosts import Agents

UNMEASURED = ("tx_frames", "rx_bytes", "retransmits", "ecn_ce_rx", "cnp_rx", "udp_source_port")
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@pytest.mark.parametrize("plan", ["jct-alltoall", "jct-allreduce-ring", "jct-halving-doubling"])
def test_shipped_plans_give_chunks_without_what_the_kernel_does(plan: str) -> None:
    table, counters = run(spec_of(plan, "sweep.data_size=[1MB]"), hosts=8, driver="tcp")
    for column in UNMEASURED:
        assert table[column].null_count == table.num_rows
    for told in counters:
        assert told["connections"] > 0 < told["tcp_segments_sent"]
        assert told["tcp_rtt_us_min"] <= told["tcp_rtt_us_max"]
        assert told["failed_connections"] == told["refused_streams"] == told["refused_connections"] == 0


def test_chunks_longer_than_their_memory_are_verified_as_well() -> None:
    run(spec_of_jobs(JOB | {"data_size": "48MB"}, hosts=4), hosts=4, driver="tcp", dscp=10)


def test_several_connections_carry_parts_of_a_transfer() -> None:
    spec_json = spec_of_jobs(JOB | {"data_size": "1MB"}, hosts=4, qps_per_rank_pair=4)
    _, (one, other) = run(spec_json, hosts=4, driver="tcp", socket_buffer_bytes=65_536)
    # Of the twelve pairs of ranks ten begin or end at the two hosts of an agent, and two of those do both.
    assert one["connections"] == other["connections"] == 4 * 12


@pytest.mark.parametrize("name", CONTROLS.read_text().split() if CONTROLS.exists() else [])
def test_each_congestion_control_of_the_host_can_be_had(name: str) -> None:
    run(spec_of_jobs(JOB, hosts=4), hosts=4, driver="tcp", congestion=name)


def test_the_transport_of_the_plan_does_not_matter() -> None:
    run(spec_of_jobs(JOB, hosts=4, recovery="none"), hosts=4, driver="tcp")


def test_agents_that_play_all_hosts_connect_to_themselves() -> None:
    agents = Agents(spec_of_jobs(JOB, hosts=4), [range(4)], "tcp")
    agents.prepare()
    agents.drain()
    check(agents)


def test_a_peer_that_is_gone_fails_what_is_under_way() -> None:
    slow = {"rate_limit_bps": 200_000_000, "peer_timeout_ps": 10**12}
    agents = Agents(spec_of_jobs(JOB | {"data_size": "512MB"}, hosts=4), halves(4), "tcp", slow)
    agents.prepare()
    agents.start()
    agents.keep_alive_until(lambda: all(each.progress()["elapsed_ps"] > 10**11 for each in agents.runs))
    gone = agents.runs.pop()
    gone.stop("gone")
    assert gone.wait(10)
    del gone
    (left,) = agents.runs
    agents.keep_alive_until(lambda: left.progress()["state"] != "running")
    assert "chunks failed" in left.progress()["reason"]
    assert left.counters()["failed_connections"] > 0
    agents.hosts = agents.hosts[:1]
    assert "failed" in agents.rows()["status"].to_pylist()
