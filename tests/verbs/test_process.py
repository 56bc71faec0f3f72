"""Driver `verbs` without an adapter: on one of a process, and where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.endpoint.test_host_run import JOB, halves, spec_of_jobs
from tests.support.hosts import Agents
from tests.verbs.conftest import Ask


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("job", "transport", "settings"),
    [
        ({}, {}, {}),
        ({"data_size": "6MB"}, {}, {"send_queue_depth": 2}),
        ({"repeat": 20, "barrier": True, "warm_up_rounds": 1}, {}, {"signal_every": 8}),
        ({"repeat": 3}, {"mtu": 1024, "message_size": "5000B"}, {"send_queue_depth": 3}),
        ({"rendezvous": {"threshold": "1KB"}, "repeat": 2}, {"qp_mode": "per_pair"}, {}),
        ({"ranks": "0-3", "processes_per_host": 2}, {"qps_per_rank_pair": 2}, {}),
        ({}, {}, {"rate_limit_bps": 100_000_000}),
    ],
)
def test_each_way_to_run_a_job_gives_the_rows_of_the_simulator(
    ask: Ask, job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any], verify: bool
) -> None:
    for told in ask("carry_out", job, transport, settings | {"verify": verify})["counters"]:
        assert told["wrong_bytes"] == told["unknown_chunks"] == told["failed_queue_pairs"] == 0, told
        assert told["writes"] > 0


UC: dict[str, Any] = {"connection": "uc", "rate_control": "line-rate"}


@pytest.mark.parametrize(
    ("job", "transport", "settings"),
    [
        ({}, {}, {}),
        ({"data_size": "6MB"}, {}, {"send_queue_depth": 2}),
        ({"repeat": 20, "barrier": True, "warm_up_rounds": 1}, {}, {"signal_every": 8}),
        ({"repeat": 3}, {"mtu": 1024, "message_size": "5000B"}, {"send_queue_depth": 3}),
        ({"rendezvous": {"threshold": "1KB"}, "repeat": 2}, {"qp_mode": "per_pair"}, {}),
        ({}, {}, {"rate_limit_bps": 100_000_000}),
    ],
)
def test_without_loss_unreliable_connections_give_the_rows_of_the_simulator(
    ask: Ask, job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any]
) -> None:
    for told in ask("carry_out", job, UC | transport, settings | {"verify": False})["counters"]:
        assert told["unknown_chunks"] == told["failed_queue_pairs"] == 0, told
        assert told["writes"] > 0


def test_a_chunk_with_a_lost_message_never_completes(ask: Ask) -> None:
    # Chunks of 64 messages, of which each hundredth is lost; rounds do not wait for each other.
    job = {"collective": "incast", "algorithm": "parallel", "data_size": "256KB", "repeat": 10}
    told = ask("lose", job, UC | {"message_size": "4KB"}, {"verify": False}, LOSE_EVERY="100")
    sent, received = told["messages"]
    assert (sent, received) == (3 * 10 * 64, 3 * 10 * 64 - 19)
    lost = [row for row in told["rows"] if row["status"] != "complete"]
    assert 10 <= len(lost) <= 19
    assert all((row["status"], row["completed_ps"]) == ("unfinished", None) for row in lost)
    assert len(told["rows"]) == 30
    for counters in told["counters"]:
        assert counters["failed_chunks"] == counters["failed_queue_pairs"] == counters["unknown_chunks"] == 0


def test_bytes_of_unreliable_connections_of_an_adapter_are_not_verified(ask: Ask) -> None:
    refused = ask("refuse", {}, UC, {"verify": True})["refused"]
    assert "verify needs reliable connections with driver verbs" in refused


def test_of_the_writes_of_a_chunk_the_adapter_tells_of_one(ask: Ask) -> None:
    for told in ask("carry_out", {"data_size": "6MB"}, {}, {"verify": False})["counters"]:
        assert (told["writes"], told["completions"]) == (72, 12)


def test_a_queue_pair_that_fails_names_itself_and_why(ask: Ask) -> None:
    told = ask("fail", {"repeat": 3, "barrier": True}, {"timeout": "1ms"}, {"verify": False}, FAIL_AFTER="20")
    failed = [each["reason"] for each in told["progress"] if each["state"] == "failed"]
    assert failed, told
    for reason in failed:
        assert " chunks failed: sending on queue pair " in reason
        assert "at 127.0.0.1: transport retry counter exceeded (status 12, vendor's 0x81)" in reason


@pytest.mark.parametrize(
    ("environment", "settings", "refused"),
    [
        ({"NO_DEVICE": "1"}, {}, "this host has no RDMA device"),
        ({"PORT_DOWN": "1"}, {}, "port 1 of fake0 is DOWN; to be active"),
        ({"MTU_1024": "1"}, {}, "transport.mtu_bytes: 4096; at most 1024 at fake0"),
        ({"NO_MEMORY": "1"}, {}, "bytes at fake0: Cannot allocate memory (os error 12)"),
        ({}, {"address": "127.0.0.9"}, "no port of fake0 has a RoCE v2 GID with address 127.0.0.9"),
        ({}, {"device": "mlx5_0"}, 'no RDMA device "mlx5_0"; allowed: fake0'),
        ({}, {"gid_index": 0}, "with address 127.0.0.1 at index 0; found: 127.0.0.1 (index 1 of fake0)"),
        ({}, {"allowed_peers": ["10.0.0.0/8"]}, "is at 127.0.0.1; allowed peers: 10.0.0.0/8"),
        ({}, {"port": 4791}, "driver verbs has no setting port"),
        ({}, {"loss_one_in": 9}, "driver verbs has no setting loss_one_in"),
        ({}, {"send_queue_depth": 1}, "send_queue_depth is 1; 2 to 32768 are allowed"),
    ],
)
def test_what_there_is_not_is_refused_by_name(
    ask: Ask, environment: dict[str, str], settings: dict[str, Any], refused: str
) -> None:
    assert refused in ask("refuse", {}, {}, settings, **environment)["refused"]


def test_a_check_says_what_a_run_would(ask: Ask) -> None:
    assert ask("check", "127.0.0.1")["drivers"] == ["", ""]
    usable, elsewhere = ask("check", "127.0.0.9")["drivers"]
    assert usable == ""
    assert elsewhere == ask("refuse", {}, {}, {"address": "127.0.0.9"})["refused"]


@pytest.mark.parametrize("driver", ["roce", "tcp"])
def test_other_drivers_have_none_of_its_settings(driver: str) -> None:
    for settings in (
        {"device": "rxe0"},
        {"gid_index": 1},
        {"send_queue_depth": 64},
        {"signal_every": 2},
        {"completion_time_stamps": False},
    ):
        with pytest.raises(ValueError, match=f"driver {driver} has no setting {next(iter(settings))}"):
            Agents(spec_of_jobs(JOB, hosts=4), halves(4), driver, settings=settings).prepare()
