"""Configurations and topologies of `forms/more`, and other inputs of the kinds that are read there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device

MORE = Path(__file__).parent / "forms" / "more"


def of(data: bytes, name: str) -> Fragment:
    return read_device(data, name, ReadOptions())


def form(name: str) -> Fragment:
    return of((MORE / name).read_bytes(), name)


def fields(fragment: Fragment) -> dict[str, Any]:
    return {each.field: each.value for each in fragment.values}


def test_headroom_of_a_port_that_does_not_pause_is_said() -> None:
    fragment = form("54-config-db-dump.json")
    assert "rates: 1 of 100 Gb/s, 2 of 400 Gb/s" in fragment.read
    assert "switch: leaf-7" in fragment.read
    found = fields(fragment)
    assert (found["fabric.switch.ecn.kmin"], found["fabric.switch.ecn.kmax"]) == ("1MB", "2MB")
    idle = [each for each in fragment.left_out if "headroom of priority group" in each]
    assert idle == ["BUFFER_PG: headroom of priority group 4 at Ethernet8, where PFC is not enabled for it"]
    content = json.loads((MORE / "54-config-db-dump.json").read_text())
    content["PORT_QOS_MAP|Ethernet8"]["value"]["pfc_enable"] = "3,4"
    fragment = of(json.dumps(content).encode(), "f.json")
    assert not any("headroom of priority group" in each for each in fragment.left_out)
    for key in content:
        if key.startswith("PORT_QOS_MAP|"):
            content[key]["value"]["pfc_enable"] = "3"
    fragment = of(json.dumps(content).encode(), "f.json")
    assert any("group 4, which PFC is not enabled for" in each for each in fragment.left_out)


def test_bridges_of_the_host_are_no_switches() -> None:
    name = "55-two-tier.clab.yaml"
    fragment = form(name)
    assert fragment.read[0] == "switches: 3, 3 hosts, 4 links"
    assert any("nodes.br-oob: a bridge" in each for each in fragment.left_out)
    assert any("links.4: a link out of the lab (br-oob)" in each for each in fragment.left_out)
    text = (MORE / name).read_text()
    ovs = of(text.replace("kind: bridge", "kind: ovs-bridge").encode(), name)
    assert fields(ovs) == fields(fragment)
    named = text.replace("kind: bridge", "{kind: bridge, group: switch}").replace(
        "br-oob:\n      {kind", "br-oob: {kind"
    )
    assert of(named.encode(), name).read[0] == "switches: 4, 3 hosts, 5 links"


def test_adapters_by_their_class() -> None:
    fragment = form("56-cloud-topo-classes.xml")
    assert fragment.read[0].startswith("8 GPUs, 8 adapters")
    assert fields(fragment)["fabric.topology.rails"] == 8
