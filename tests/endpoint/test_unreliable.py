"""Unreliable connections of endpoints: what arrives, and what the records say of the rest."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.endpoint.test_host_run import JOB, check, halves, run, spec_of_jobs
from tests.support.hosts import Agents

UC: dict[str, Any] = {"connection": "uc", "mtu": 1024, "rate_control": {"fixed": {"rate": "200Mbps"}}}
LOST_ONE_IN = 20


def messages(agents: Agents) -> tuple[int, int]:
    """Return the messages sent and received by all jobs."""
    streams = [[run.sent() for run in agents.runs], [run.received() for run in agents.runs]]
    sent, received = (
        sum(sum(pa.ipc.open_stream(each).read_all()["messages"].to_pylist()) for each in end)
        for end in streams
    )
    return sent, received


def run_with_loss(job: dict[str, Any], **transport: Any) -> tuple[Agents, pa.Table]:
    """Run a job that never ends, until all agents wait, and return its rows."""
    spec_json = spec_of_jobs(JOB | job, hosts=4, **UC | transport)
    agents = Agents(spec_json, halves(4), settings={"loss_one_in": LOST_ONE_IN})
    agents.prepare()
    agents.start()
    agents.keep_alive_until(lambda: all(run.progress()["is_idle"] for run in agents.runs))
    for each in agents.runs:
        each.stop("messages are missing")
        assert each.wait(10)
    rows = agents.rows()
    for each in agents.runs:
        counters = each.counters()
        assert counters["dropped_on_purpose"] > 0
        assert counters["failed_chunks"] == counters["unknown_chunks"] == counters["wrong_bytes"] == 0
    return agents, rows


@pytest.mark.parametrize(
    ("job", "transport"),
    [
        ({}, {}),
        ({"data_size": "1KB"}, {}),
        ({"collective": "all-reduce", "algorithm": "ring", "repeat": 3}, {}),
        ({"repeat": 5, "barrier": True, "warm_up_rounds": 1}, {"qp_mode": "per_pair"}),
        ({"collective": "gather", "algorithm": "tree"}, {"qps_per_rank_pair": 2}),
        ({"rendezvous": {"threshold": "1KB"}, "repeat": 2}, {"qp_mode": "per_pair"}),
    ],
)
def test_without_loss_rows_and_bytes_are_those_of_reliable_connections(
    job: dict[str, Any], transport: dict[str, Any]
) -> None:
    unreliable, _ = run(spec_of_jobs(JOB | job, hosts=4, **UC | transport), hosts=4)
    reliable, _ = run(spec_of_jobs(JOB | job, hosts=4, mtu=1024, **transport), hosts=4)
    order = [(name, "ascending") for name in ("transfer", "part", "round")]
    counts = ("qp", "payload_bytes", "tx_frames", "tx_bytes", "rx_frames", "rx_bytes", "frames_delta")
    one, other = (rows.sort_by(order).select(counts).to_pylist() for rows in (unreliable, reliable))
    assert one == other
    assert sum(unreliable["retransmits"].to_pylist()) == 0


def test_many_small_messages_arrive_without_loss() -> None:
    spec_json = spec_of_jobs(JOB | {"data_size": "4MB"}, hosts=4, **UC | {"message_size": "1KB"})
    agents = Agents(spec_json, halves(4))
    agents.prepare()
    agents.drain()
    check(agents)
    assert messages(agents) == (12 * 1024, 12 * 1024)


def test_packets_of_a_port_with_a_rate_arrive_whole() -> None:
    transport = UC | {"rate_control": "line-rate", "message_size": "4KB"}
    run(spec_of_jobs(JOB | {"data_size": "1MB"}, hosts=4, **transport), hosts=4, port_rate_bps=200_000_000)


def test_the_fraction_of_messages_that_arrive_is_that_of_the_closed_form() -> None:
    agents, rows = run_with_loss({"data_size": "16MB"}, message_size="4KB")
    sent, received = messages(agents)
    assert sent == 12 * 1024
    survive = (1 - 1 / LOST_ONE_IN) ** 4
    deviation = (survive * (1 - survive) / sent) ** 0.5
    assert received / sent == pytest.approx(survive, abs=4 * deviation)
    assert set(rows["status"].to_pylist()) == {"unfinished"}
    # Frames of dropped messages are frames received; all others were dropped on purpose.
    lost = sum(rows["tx_frames"].to_pylist()) - sum(rows["rx_frames"].to_pylist())
    assert lost == sum(run.counters()["dropped_on_purpose"] for run in agents.runs)
    assert sum(rows["out_of_order"].to_pylist()) > 0


def test_a_chunk_arrives_if_and_only_if_each_of_its_messages_does() -> None:
    # Chunks of one message of one packet, in rounds that do not wait for each other: each is lost by itself.
    job = {"collective": "incast", "algorithm": "parallel", "data_size": "1KB", "repeat": 400}
    agents, rows = run_with_loss(job)
    complete = [row for row in rows.to_pylist() if row["status"] == "complete"]
    sent, received = messages(agents)
    assert (sent, received) == (rows.num_rows, len(complete)) == (3 * 400, len(complete))
    assert all(row["rx_frames"] == row["tx_frames"] == 1 for row in complete)
    assert all(row["completed_ps"] >= row["delivered_ps"] >= row["start_ps"] for row in complete)
    lost = [row for row in rows.to_pylist() if row["status"] != "complete"]
    assert {(row["status"], row["delivered_ps"], row["rx_frames"]) for row in lost} == {
        ("unfinished", None, 0)
    }


def test_a_run_that_is_stopped_counts_what_was_sent_of_its_chunks() -> None:
    agents = Agents(
        spec_of_jobs(JOB | {"data_size": "64MB"}, hosts=4, **UC | {"message_size": "4KB"}), halves(4)
    )
    agents.prepare()
    agents.start()
    agents.keep_alive_until(lambda: all(run.progress()["elapsed_ps"] > 5 * 10**10 for run in agents.runs))
    for each in agents.runs:
        each.stop("enough")
        assert each.wait(10)
    rows = agents.rows()
    assert set(rows["status"].to_pylist()) == {"unfinished"}
    sent, received = messages(agents)
    assert 0 < received <= sent
    assert 0 < sum(rows["rx_frames"].to_pylist()) <= sum(rows["tx_frames"].to_pylist())
