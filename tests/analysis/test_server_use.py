"""Use of adapters and scale-up domains, by closed forms."""

from __future__ import annotations

from typing import Any

import pytest
from tests.analysis.memory_tables import MemoryTables, job_summary, run_summary

from fabricbench.analysis.summary.nccl_channels import channel_results
from fabricbench.analysis.summary.server_use import COLUMNS, use_metrics

GPUS = 2
TIME_PS = 1_000_000_000
"""A millisecond."""
PAYLOAD_BYTES = 50e9 * 4096 / (4096 + 82) * 1e-3
"""Payload of an adapter in this time."""
SCALE_UP_BYTES = 450e9 * 1e-3
"""Bytes of a GPU inside its server in this time."""


def run_spec(hosts: list[int]) -> dict[str, Any]:
    job = {"name": "test", "hosts": hosts, "gpus": [rank % GPUS for rank in range(len(hosts))]}
    return {
        "fabric": {
            "topology": {"kind": "rail-optimised", "host_link": {"rate_bps": 400_000_000_000}},
            "link_layer": {"kind": "ethernet"},
            "server": {"adapters": GPUS, "adapters_of_gpu": [[nic] for nic in range(GPUS)]},
            "shared_memory": {"rate_bps": 3_600_000_000_000},
        },
        "transport": {"mtu_bytes": 4096},
        "jobs": [job],
    }


def row(host: int, nic: int | None, **sent: int | None) -> dict[str, Any]:
    return {
        "job": "test",
        "algorithm": "ring",
        "protocol": "Simple",
        "channel": nic or 0,
        "host": host,
        "gpu": nic,
        "send_nic": nic,
        "receive_nic": nic,
        "network_bytes": 0,
        "scale_up_bytes": 0,
        "start_ps": 0,
        "completed_ps": TIME_PS,
    } | sent


def uses(hosts: list[int], rows: list[dict[str, Any]], **outcome: Any) -> dict[str, float]:
    summary = run_summary(job_summary(end_ps=TIME_PS, **outcome))
    tables = MemoryTables(channels=rows)
    return use_metrics(run_spec(hosts), summary, tables.batches("channels", COLUMNS)).get("test", {})


def test_the_use_of_adapters_counts_those_that_send_nothing() -> None:
    # Both channels of server 0 share an adapter; the second adapter of each server is idle.
    half = int(PAYLOAD_BYTES / 2)
    rows = [row(0, 0, network_bytes=half), row(0, 0, network_bytes=half), row(1, 0, network_bytes=half)]
    found = uses([0, 0, 1, 1], rows)
    expected = {"min": 0, "median": 25, "max": 100}
    assert {name: found[f"adapter_use_percent_{name}"] for name in expected} == pytest.approx(expected)


def test_the_use_of_a_scale_up_domain_is_that_of_all_gpus_of_a_server() -> None:
    rows = [
        row(0, 0, scale_up_bytes=int(SCALE_UP_BYTES)),
        row(1, None, scale_up_bytes=int(SCALE_UP_BYTES / 2)),
    ]
    found = uses([0, 0, 1, 1], rows)
    assert found["scale_up_use_percent_max"] == pytest.approx(50)
    assert found["scale_up_use_percent_min"] == pytest.approx(25)


def test_one_server_has_no_use_of_adapters() -> None:
    found = uses([0, 0], [row(0, None, scale_up_bytes=int(SCALE_UP_BYTES))])
    assert found.keys() == {f"scale_up_use_percent_{name}" for name in ("min", "median", "max")}


def test_jobs_without_channels_and_incomplete_ones_have_none() -> None:
    assert not uses([0, 0, 1, 1], [])
    assert not uses([0, 0, 1, 1], [row(0, 0, network_bytes=1)], status="incomplete")


def test_a_channel_is_that_of_all_servers() -> None:
    rows = [
        row(0, 0, network_bytes=6_000_000, completed_ps=None),
        row(1, 0, network_bytes=2_000_000, start_ps=1000),
        row(1, 1),
    ]
    first, second = channel_results(MemoryTables(channels=rows).batches("channels"))
    assert (first.servers, first.network_bytes, first.last_host) == (2, 8_000_000, 1)
    assert (first.start_ps, first.completed_ps) == (0, TIME_PS)
    assert first.server_gb_per_s == pytest.approx(4.0)
    assert (second.channel, second.servers) == (1, 1)
