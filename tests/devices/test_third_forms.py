"""Configurations and topologies of `forms/third`, and other inputs of the kinds that are read there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device

THIRD = Path(__file__).parent / "forms" / "third"


def form(name: str) -> Fragment:
    return read_device((THIRD / name).read_bytes(), name, ReadOptions())


def fields(fragment: Fragment) -> dict[str, Any]:
    return {each.field: each.value for each in fragment.values}


def test_ports_that_differ_and_their_neighbors_are_said() -> None:
    name = "55-config_db.json"
    fragment = form(name)
    assert "rates: 1 of 200 Gb/s, 1 of 400 Gb/s" in fragment.read
    assert "neighbors: spine-1 at Ethernet0, spine-2 at Ethernet8" in fragment.read
    assert fields(fragment)["fabric.switch.pfc.priorities"] == [3]
    assert any("pfc_enable: priority 4 at Ethernet0, which" in each for each in fragment.left_out)
    content = json.loads((THIRD / name).read_text())
    content["PORT_QOS_MAP"]["Ethernet8"]["pfc_enable"] = "3,4,5"
    del content["DEVICE_NEIGHBOR"]["Ethernet0"]
    fragment = read_device(json.dumps(content).encode(), name, ReadOptions())
    assert "neighbors: spine-2 at Ethernet8" in fragment.read
    told = [each for each in fragment.left_out if "pfc_enable: priority" in each]
    assert [each.split(": ", 2)[2].split(",")[0] for each in told] == [
        "priority 4",
        "priority 5 at Ethernet8",
    ]
    del content["DEVICE_NEIGHBOR"]
    fragment = read_device(json.dumps(content).encode(), name, ReadOptions())
    assert not any("neighbors" in each for each in fragment.read)


def test_links_and_adapters() -> None:
    lab = form("56-fabric.clab.yaml")
    assert lab.read[0] == "switches: 4, 2 hosts, 7 links"
    assert any("a link out of the lab (host)" in each for each in lab.left_out)
    topology = form("57-nccl-topo.xml")
    assert topology.read[0] == "4 GPUs, 3 adapters (mlx5_0, mlx5_1, mlx5_2)"
    assert fields(topology)["fabric.topology.rails"] == 3
