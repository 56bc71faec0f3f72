"""Table `channels` of jobs that NCCL runs: bytes by closed forms, equal in packets and flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import run_plan

PLAN = """\
fabricbench: 1
name: channels
fabric:
  topology: {kind: rail-optimised, servers: 4, rails: 8, spines: 4, host_link: 400Gbps, fabric_link: 400Gbps}
  switch: {pfc: on}
jobs:
  - {name: training, collective: all-reduce}
sweep: {data_size: [32MiB]}
"""
SIZE = 32 << 20
RANKS = 32
TIMES = {"start_ps", "completed_ps"}


def channels(root: Path, *overrides: str, table: str = "channels") -> list[dict[str, Any]]:
    root.mkdir(exist_ok=True)
    (root / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (trial,) = run_plan(root / "workspace", root / "plan.yaml", *overrides)
    rows: list[dict[str, Any]] = trial.tables.table(table).to_pylist()
    return rows


def total(rows: list[dict[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)


@pytest.mark.parametrize(
    "overrides",
    [
        ("jobs.0.algorithm=ring",),
        ("jobs.0.algorithm=double-binary-tree",),
        ("sweep.data_size=[4KB]",),
        ("jobs.0.collective=broadcast",),
        ("jobs.0.collective=all-to-all",),
        ("jobs.0.ranks=0-7",),
    ],
)
def test_packets_and_flows_have_the_same_channels(tmp_path: Path, overrides: tuple[str, ...]) -> None:
    packets = channels(tmp_path / "packets", *overrides)
    flows = channels(tmp_path / "flows", *overrides, "backend=flow")
    assert packets
    for packet, flow in zip(packets, flows, strict=True):
        assert {name: packet[name] for name in packet.keys() - TIMES} == {
            name: flow[name] for name in flow.keys() - TIMES
        }
        for name in TIMES:
            assert (packet[name] is None) == (flow[name] is None)


def test_a_ring_sends_the_bytes_of_its_closed_form(tmp_path: Path) -> None:
    library = '{nccl: {version: "2.30", env: {NCCL_ALGO: Ring, NCCL_PROTO: Simple}}}'
    rows = channels(tmp_path, f"jobs.0.library={library}")
    assert {row["algorithm"] for row in rows} == {"ring"}
    assert {row["protocol"] for row in rows} == {"Simple"}
    assert {(row["gpu"], row["send_nic"]) for row in rows} == {(rail, rail) for rail in range(8)}
    sent = SIZE * 2 * (RANKS - 1) // RANKS
    by_server = [total([row for row in rows if row["host"] == host], "network_bytes") for host in range(4)]
    assert by_server == pytest.approx([sent] * 4, rel=1e-4)
    assert total(rows, "scale_up_bytes") == 7 * total(rows, "network_bytes")


def test_channels_have_the_payload_of_all_chunks(tmp_path: Path) -> None:
    for collective in ("all-reduce", "all-to-all"):
        override = f"jobs.0.collective={collective}"
        chunks = channels(tmp_path / collective, override, "observe.chunks=all", table="chunks")
        rows = channels(tmp_path / collective, override, "observe.chunks=all")
        between = [chunk for chunk in chunks if chunk["src_host"] != chunk["dst_host"]]
        assert total(rows, "network_bytes") == total(between, "payload_bytes")
        assert max(row["completed_ps"] or 0 for row in rows) == max(row["completed_ps"] for row in chunks)


def test_jobs_without_nccl_have_no_channels(tmp_path: Path) -> None:
    assert not channels(tmp_path, "jobs.0.library=none", "sweep.data_size=[1MB]")
