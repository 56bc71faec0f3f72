"""In a machine with a soft-RoCE adapter: two agents of one process, over that adapter."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

import pytest
from tests.endpoint.test_host_run import JOB, halves, planned, spec_of, spec_of_jobs
from tests.support.hosts import Agents, simulated

from fabricbench import _core

LIMIT_BPS: Final = 100_000_000
# The machine is slow: nothing is to be taken for lost.
SETTINGS: Final = {"allowed_peers": ["10.9.0.0/24"], "timeout_min_ps": 500_000_000_000}
WAYS: Final[list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]] = [
    ({}, {}, {}),
    ({"data_size": "6MB"}, {}, {}),
    ({"data_size": "6MB"}, {}, {"verify": False}),
    ({"data_size": "6MB"}, {}, {"verify": False, "send_queue_depth": 2}),
    ({"data_size": "2MB"}, {}, {"rate_limit_bps": LIMIT_BPS}),
    ({"collective": "incast", "algorithm": "parallel"}, {}, {}),
    ({"collective": "gather", "algorithm": "tree"}, {"qps_per_rank_pair": 2}, {}),
    ({"repeat": 40, "barrier": True, "warm_up_rounds": 1}, {}, {"verify": False, "signal_every": 8}),
    ({"repeat": 3}, {"mtu": 1024, "message_size": "5000B"}, {"send_queue_depth": 3}),
    ({"rendezvous": {"threshold": "1KB"}, "repeat": 2}, {"qp_mode": "per_pair"}, {}),
    ({"ranks": "0-3", "processes_per_host": 2}, {}, {}),
]

UC: Final = {"connection": "uc", "rate_control": "line-rate"}
UNRELIABLE: Final[list[tuple[dict[str, Any], dict[str, Any]]]] = [
    ({}, {}),
    ({"data_size": "2MB"}, {"mtu": 1024, "message_size": "5000B"}),
    ({"repeat": 10, "barrier": True}, {"qp_mode": "per_pair"}),
]


def carry_out(address: str, spec_json: str, hosts: int, settings: dict[str, Any]) -> list[dict[str, int]]:
    """Run a spec, and compare its rows with those of the simulator."""
    own = {"address": address} | SETTINGS | settings
    agents = Agents(spec_json, halves(hosts), "verbs", settings=own)
    agents.prepare()
    counters = agents.drain()
    table = agents.rows()
    assert planned(table, "verbs") == planned(simulated(spec_json), "verbs")
    for row in table.to_pylist():
        assert row["status"] == "complete", row
        # The adapter acknowledges whether or not its host has looked.
        assert row["start_ps"] < min(row["delivered_ps"], row["completed_ps"]), row
    for told in counters:
        assert told["wrong_bytes"] == told["unknown_chunks"] == told["failed_queue_pairs"] == 0, told
    if limit := settings.get("rate_limit_bps"):
        sent = sum(row["payload_bytes"] for row in table.to_pylist() if row["src_host"] < hosts // 2)
        span_s = max(table["delivered_ps"].to_pylist()) / 1e12
        # A burst of a millisecond comes on top.
        assert sent * 8 <= limit * (span_s + 0.002), (sent, span_s)
    return counters


def main(address: str) -> None:
    assert _core.drivers()["verbs"] == _core.drivers(address)["verbs"] == ""
    found = _core.drivers("10.9.0.77")["verbs"]
    assert f"no port of rxe0 has a RoCE v2 GID with address 10.9.0.77; found: {address}" in found, found
    for job, transport, settings in WAYS:
        counters = carry_out(address, spec_of_jobs(JOB | job, hosts=4, **transport), 4, settings)
        tell(job, transport, settings, counters[0])
        if settings == {"verify": False}:
            # Of 12 writes of a chunk the adapter tells of one, and its peer of one receive.
            assert [told["writes"] for told in counters] == [72, 72], counters
            assert [told["completions"] for told in counters] == [12, 12], counters
    for job, transport in UNRELIABLE:
        settings = {"verify": False, "rate_limit_bps": LIMIT_BPS}
        counters = carry_out(address, spec_of_jobs(JOB | job, hosts=4, **UC | transport), 4, settings)
        tell(job, UC | transport, counters[0])
    for plan in ("jct-alltoall", "jct-allreduce-ring", "jct-halving-doubling"):
        carry_out(address, spec_of(plan, "sweep.data_size=[1MB]"), 8, {})
        tell(plan)
    refusals(address)


def tell(*what: object) -> None:
    """Tell how far it is, for whoever looks why it failed."""
    sys.stdout.write(" ".join(map(str, what)) + "\n")
    sys.stdout.flush()


def refusals(address: str) -> None:
    """Ask for what there is not."""
    spec_json = spec_of_jobs(JOB, hosts=4)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"device": "mlx5_0"}, 'no RDMA device "mlx5_0"; allowed: rxe0'),
        ({"gid_index": 99}, f"no port of rxe0 has a RoCE v2 GID with address {address} at index 99"),
        ({"address": "10.9.0.77"}, "no port of rxe0 has a RoCE v2 GID with address 10.9.0.77"),
        ({"port": 4791}, "driver verbs has no setting port"),
    ]
    for settings, told in refused:
        own = {"address": address} | SETTINGS | settings
        with pytest.raises(ValueError, match=re.escape(told)):
            Agents(spec_json, halves(4), "verbs", settings=own).prepare()


if __name__ == "__main__":
    main(sys.argv[1])
