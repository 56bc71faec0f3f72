"""Runs on servers with GPUs: packets and flows agree, no bandwidth is above the ideal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import jobs_of, run_plan

from fabricbench.analysis.summary.bandwidth import busbw_limit, ideal_goodput_gb_per_s
from fabricbench.report.terminal.run import run_table
from fabricbench.results.job_reports import JobReport

PLAN = """\
fabricbench: 1
name: servers
fabric:
  topology: {kind: rail-optimised, servers: 2, rails: 8, spines: 4, host_link: 400Gbps, fabric_link: 400Gbps}
  switch: {pfc: on}
jobs:
  - {name: training, collective: all-reduce}
sweep: {data_size: [64MB]}
"""


def ran(root: Path, *overrides: str) -> list[JobReport]:
    root.mkdir(exist_ok=True)
    (root / "plan.yaml").write_text(PLAN, encoding="utf-8")
    return jobs_of(run_plan(root / "workspace", root / "plan.yaml", *overrides))


def busbw(root: Path, *overrides: str) -> float:
    (job,) = ran(root, *overrides)
    ideal = job.summary.value("ideal_percent")
    assert ideal is not None
    assert ideal <= 100
    value = job.summary.value("busbw_gb_per_s")
    assert value is not None
    return value


@pytest.mark.parametrize(
    "override",
    [
        "jobs.0.algorithm=ring",
        "jobs.0.collective=reduce-scatter",
        "jobs.0.collective=all-gather",
        "jobs.0.collective=send-receive",
    ],
)
def test_packets_and_flows_agree(tmp_path: Path, override: str) -> None:
    packets = busbw(tmp_path / "packets", override)
    flows = busbw(tmp_path / "flows", override, "backend=flow")
    assert flows == pytest.approx(packets, rel=0.03)


@pytest.mark.parametrize("size", ["8B", "64KB"])
def test_packets_and_flows_agree_on_small_trees(tmp_path: Path, size: str) -> None:
    packets = busbw(tmp_path / "packets", f"sweep.data_size=[{size}]")
    assert busbw(tmp_path / "flows", f"sweep.data_size=[{size}]", "backend=flow") == pytest.approx(
        packets, rel=0.03
    )


@pytest.mark.parametrize(
    "collective", ["all-reduce", "all-gather", "all-to-all", "send-receive", "broadcast"]
)
@pytest.mark.parametrize("size", ["64KB", "16MB"])
def test_packets_and_flows_agree_on_one_server(tmp_path: Path, collective: str, size: str) -> None:
    overrides = ("jobs.0.ranks=0-7", f"jobs.0.collective={collective}", f"sweep.data_size=[{size}]")
    packets = busbw(tmp_path / "packets", *overrides)
    assert busbw(tmp_path / "flows", *overrides, "backend=flow") == pytest.approx(packets)


ON_THE_WIRE = 4096 / (4096 + 82)
"""Payload of a full frame, compared with the bytes that it occupies a link for."""


@pytest.mark.parametrize("backend", ["sim", "flow"])
def test_rings_of_one_gpu_on_each_server_fill_the_adapters(tmp_path: Path, backend: str) -> None:
    found = busbw(
        tmp_path,
        f"backend={backend}",
        "fabric.topology={kind: single-switch, hosts: 4, host_link: 200Gbps}",
        "fabric.server={gpus: 1, nics: 1}",
        "transport.mtu=4096",
        "jobs.0.library={nccl: {env: {NCCL_ALGO: ring, NCCL_PROTO: Simple}}}",
    )
    assert found == pytest.approx(25 * ON_THE_WIRE, rel=0.04)


@pytest.mark.parametrize(("backend", "overhead"), [("flow", 0.003), ("sim", 0.04)])
def test_an_all_to_all_with_pxn_takes_the_time_of_a_rail(
    tmp_path: Path, backend: str, overhead: float
) -> None:
    found = busbw(
        tmp_path,
        f"backend={backend}",
        "fabric.topology={kind: rail-optimised, servers: 2, rails: 4, spines: 4, host_link: 100Gbps}",
        "fabric.server={gpus: 4, nics: 4}",
        "fabric.switch.ecn=sonic",
        "transport={mtu: 4096, rate_control: dcqcn}",
        "jobs.0.collective=all-to-all",
        "sweep.data_size=[100MiB]",
    )
    # Each of 8 ranks sends 4/8 of the data by its rail; busbw counts 7/8.
    limit = 12.5 * ON_THE_WIRE * (7 / 8) / (4 / 8)
    assert limit / (1 + overhead) <= found <= limit


def test_a_flat_ring_is_slower_by_far(tmp_path: Path) -> None:
    assert busbw(tmp_path / "flat", "jobs.0.library=flat-ring") < busbw(tmp_path / "nccl") / 10


def test_the_table_has_the_choices_of_nccl(tmp_path: Path) -> None:
    text = run_table(ran(tmp_path / "sizes", "sweep.data_size=[1KB, 64MB]"), colour=False)
    assert "tree LL 1" in text
    assert "nvls-tree Simple 16" in text


GOODPUT = 400 / 8 * 4096 / (4096 + 82)


def limit(collective: str, servers: int, gpus: int, algorithm: str = "ring", ranks: int | None = None) -> Any:
    members = list(range(servers * gpus))[:ranks]
    run_spec = {
        "fabric": {
            "topology": {"kind": "rail-optimised", "host_link": {"rate_bps": 400_000_000_000}},
            "link_layer": {"kind": "ethernet"},
            "server": {"adapters": 8, "adapters_of_gpu": [[nic] for nic in range(8)]},
            "shared_memory": {"rate_bps": 3_600_000_000_000},
        },
        "transport": {"mtu_bytes": 4096},
    }
    pattern = {"collective": collective, "algorithm": algorithm, "data_bytes": 1}
    job = {
        "hosts": [rank // gpus for rank in members],
        "gpus": [rank % gpus for rank in members],
        "work": {"kind": "collective", "pattern": pattern},
    }
    return busbw_limit(run_spec, job, ideal_goodput_gb_per_s(run_spec))


@pytest.mark.parametrize(
    ("collective", "servers", "gpus", "algorithm", "expected"),
    [
        ("all-reduce", 64, 8, "ring", 8 * GOODPUT * (511 / 512) / (63 / 64)),
        ("all-gather", 2, 8, "ring", 450.0 * 8 / 7),
        ("all-reduce", 2, 8, "nvls-tree", 8 * GOODPUT * (15 / 16) / (1 / 2)),
        ("all-reduce", 1, 8, "ring", 450.0),
        ("all-reduce", 1, 8, "nvls", 450.0 * 2 * 7 / 9),
        ("all-gather", 1, 8, "nvls", 450.0),
        ("all-reduce", 16, 1, "ring", GOODPUT),
        ("all-to-all", 4, 8, "peers", GOODPUT * 31 / 24),
        ("send-receive", 4, 8, "peers", 450.0),
        ("send-receive", 4, 3, "peers", 3 * GOODPUT),
        ("send-receive", 4, 1, "peers", GOODPUT),
        ("broadcast", 4, 8, "ring", 8 * GOODPUT),
        ("gather", 4, 8, "peers", GOODPUT * 31 / 24),
        ("permutation", 4, 8, "parallel", None),
        ("incast", 4, 1, "parallel", GOODPUT),
    ],
)
def test_the_ideal_is_that_of_all_adapters_and_of_the_scale_up_domain(
    collective: str, servers: int, gpus: int, algorithm: str, expected: float | None
) -> None:
    assert limit(collective, servers, gpus, algorithm) == pytest.approx(expected)


def test_servers_with_different_numbers_of_ranks_have_no_ideal() -> None:
    assert limit("all-reduce", 4, 8, ranks=28) is None
