"""The port map of a plan against its captured frames, read back with tshark."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from fabricbench.cli.main import run

PLAN = """\
fabricbench: 1
name: addresses
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2}
  addresses: {subnet: 192.168.10.0/24, subnet_per: switch, mac: "02:aa:00:00:00:01", vlan: 100}
transport: {port_mtu: 2200, dscp: {data: 24, ack: 40}}
jobs:
  - {name: a, ranks: "0-3", collective: all-to-all, data_size: 64KB}
tcp:
  - {name: t, ranks: "0,2", collective: incast, rate: 1Gbps, duration: 100us, dscp: 8}
"""
WRITE_OPCODES = {"6", "7", "8", "10"}
NAMES = (
    *("eth.src", "eth.dst", "vlan.id", "vlan.priority", "ip.src", "ip.dst", "ip.dsfield.dscp"),
    *("udp.srcport", "infiniband.bth.destqp", "infiniband.bth.opcode", "tcp.srcport", "ip.checksum.status"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("addresses")
    (path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def frames(folder: Path) -> list[dict[str, str]]:
    """Frames of all queue pairs and of the TCP connection, whose number follows theirs."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    path = folder / "frames.pcapng"
    assert run(["capture", str(folder / "plan.yaml"), "--qps", "0-12", "-o", str(path)]) == 0
    fields = [argument for name in NAMES for argument in ("-e", name)]
    command = ["tshark", "-r", str(path), "-o", "ip.check_checksum:TRUE", "-T", "fields", *fields]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [dict(zip(NAMES, line.split("\t"), strict=True)) for line in lines]


@pytest.fixture
def ports(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run(["plan", "ports", str(folder / "plan.yaml"), "--format", "json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["ports"]
    return found


def test_frames_have_what_the_port_map_says(
    frames: list[dict[str, str]], ports: list[dict[str, Any]]
) -> None:
    seen: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for frame in frames:
        is_data = frame["infiniband.bth.opcode"] in WRITE_OPCODES
        kind = "tcp" if frame["tcp.srcport"] else "data" if is_data else "ack"
        for name, value in frame.items():
            seen[kind, frame["ip.src"]][name].add(value)
    assert {frame["ip.checksum.status"] for frame in frames} == {"1"}
    for row in ports:
        assert (row["prefix"], row["vlan"]) == (24, 100)
        if row["protocol"] == "tcp":
            sent = seen["tcp", row["ip"]]
            assert sent["ip.dsfield.dscp"] == {"8"} == {str(row["dscp_data"])}
            continue
        data, ack = seen["data", row["ip"]], seen["ack", row["ip"]]
        assert data["eth.src"] == ack["eth.src"] == {row["mac"]}
        assert data["vlan.id"] == ack["vlan.id"] == {str(row["vlan"])}
        assert (data["vlan.priority"], ack["vlan.priority"]) == ({str(row["priority"])}, {"6"})
        assert data["ip.dsfield.dscp"] == {str(row["dscp_data"])} == {"24"}
        assert ack["ip.dsfield.dscp"] == {str(row["dscp_ack"])} == {"40"}
        assert data["udp.srcport"] == {str(port) for port in row["source_ports"]}
        assert {int(qp, 16) for qp in data["infiniband.bth.destqp"]} == set(row["destination_qps"])


def test_frames_to_another_subnet_go_to_the_switch_port(
    frames: list[dict[str, str]], ports: list[dict[str, Any]]
) -> None:
    macs = {row["ip"]: row["mac"] for row in ports}
    ways = {(frame["ip.src"], frame["ip.dst"]): frame["eth.dst"] for frame in frames}
    for number, source in enumerate(sorted(macs)):
        for destination, mac in macs.items():
            if (source, destination) in ways:
                is_neighbour = source.rpartition(".")[0] == destination.rpartition(".")[0]
                expected = mac if is_neighbour else f"02:01:00:00:00:0{number}"
                assert ways[source, destination] == expected
    assert len(ways) == 12
