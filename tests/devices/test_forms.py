"""Configurations and topologies in many forms, by the files of `forms`: what is read, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.errors import PlanError

FORMS = Path(__file__).parent / "forms"


def of(name: str) -> Fragment:
    return read_device((FORMS / name).read_bytes(), name, ReadOptions())


def fields(fragment: Fragment) -> dict[str, Any]:
    return {each.field: each.value for each in fragment.values}


def test_an_excerpt_of_a_configuration_says_which_tables_it_lacks() -> None:
    fragment = of("56-sonic-config_db.json")
    assert fragment.read[:2] == ("8 ports of 200, 400 Gb/s", "rates: 2 of 200 Gb/s, 6 of 400 Gb/s")
    assert "switch: leaf-1" in fragment.read
    found = fields(fragment)
    assert found["transport.priorities.data"] == 3
    assert (found["fabric.switch.ecn.kmin"], found["fabric.switch.ecn.kmax"]) == ("1MB", "2MB")
    warnings = "\n".join(fragment.warnings)
    assert "lossless priorities: [3] at 7 ports; [] at 1 ports" in warnings
    assert "mtu of PORT: 9100 bytes at 7 ports; 1500 bytes at 1 port" in warnings
    assert "fabric.switch.ecn: nothing at Ethernet8" in warnings
    left_out = "\n".join(fragment.left_out)
    for table in ("MAP_PFC_PRIORITY_TO_QUEUE", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "SCHEDULER"):
        assert f"{table} is not in the file" in left_out
    assert "1 port with admin_status down" in left_out


def changed(**tables: Any) -> bytes:
    content = json.loads((FORMS / "56-sonic-config_db.json").read_text())
    return json.dumps({**content, **tables}).encode()


def test_a_table_that_lacks_an_entry_contradicts_what_names_it() -> None:
    with pytest.raises(PlanError, match="SCHEDULER has no entry for"):
        read_device(changed(SCHEDULER={"scheduler.7": {"type": "DWRR", "weight": "15"}}), "f", ReadOptions())
    with pytest.raises(PlanError, match="TC_TO_QUEUE_MAP has no entry for"):
        read_device(changed(TC_TO_QUEUE_MAP={"OTHER": {"3": "3"}}), "f", ReadOptions())
    with pytest.raises(PlanError, match="BUFFER_PROFILE has no entry for"):
        read_device(changed(BUFFER_PG={"Ethernet0|3": {"profile": "pg"}}), "f", ReadOptions())


def test_a_marking_profile_that_the_excerpt_lacks_is_said() -> None:
    content = json.loads((FORMS / "56-sonic-config_db.json").read_text())
    del content["WRED_PROFILE"]
    fragment = read_device(json.dumps(content).encode(), "f", ReadOptions())
    assert not any(each.startswith("fabric.switch.ecn") for each in fields(fragment))
    assert any("WRED_PROFILE is not in the file: QUEUE: wred_profile" in each for each in fragment.left_out)


def test_a_dump_of_config_db_has_ports_and_priorities() -> None:
    fragment = of("57-sonic-db-dump-configdb.json")
    assert fragment.read[0] == "3 ports of 100 Gb/s"
    assert fields(fragment)["fabric.switch.pfc.priorities"] == [3]
    assert any("[3] at 2 ports; [] at 1 ports" in each for each in fragment.warnings)
    assert any("1 port with admin_status down, as by default" in each for each in fragment.left_out)


def test_links_of_all_forms_are_read_and_those_out_of_the_lab_are_not() -> None:
    fragment = of("58-pod.clab.yaml")
    assert fragment.read[0] == "switches: 4, 5 hosts, 8 links"
    assert fragment.read[1].endswith("0 gpu1 at leaf1, 1 gpu2 at leaf1, 2 gpu3 at leaf2, 3 gpu4 at leaf2")
    links = fields(fragment)["fabric.topology.links"]
    assert [tuple(each["between"]) for each in links] == [
        ("leaf1", "spine1"),
        ("leaf1", "spine2"),
        ("leaf2", "spine1"),
        ("leaf2", "spine2"),
    ]
    assert any("8 links without a rate" in each for each in fragment.warnings)
    left_out = "\n".join(fragment.left_out)
    assert "links.8: a link out of the lab (host)" in left_out
    assert "links.9: a link out of the lab (mgmt-net)" in left_out


def test_adapters_that_gpus_do_not_use_are_no_rails() -> None:
    fragment = of("59-nccl-topo-dump.xml")
    assert fragment.read[0] == "4 GPUs, 2 adapters (mlx5_0, mlx5_2)"
    found = fields(fragment)
    assert (found["fabric.topology.rails"], found["fabric.topology.host_link"]) == (2, "400Gbps")
    warnings = "\n".join(fragment.warnings)
    assert '"eth0 (sockets)", "mlx5_1 (no GPU Direct RDMA)"' in warnings
    assert '"mlx5_2": the ports of the adapter together are one link here' in warnings


def topology(*nets: str) -> Fragment:
    """Return a host of two GPUs with adapters, each in a slot of its own."""
    slots = "".join(
        f'<pci busid="0000:{place:02x}:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">'
        f"<nic>{net}</nic></pci>"
        for place, net in enumerate(nets, 16)
    )
    gpus = "".join(
        f'<pci busid="0000:{place:02x}:00.0" class="0x030200"><gpu dev="{place}" rank="{place}"/></pci>'
        for place in range(2)
    )
    text = f'<system version="1"><cpu numaid="0" arch="x86_64">{gpus}{slots}</cpu></system>'
    return read_device(text.encode(), "topo.xml", ReadOptions())


def net(name: str, speed: int, port: int = 1, gdr: str = 'gdr="1"', guid: str = "0x1") -> str:
    return f'<net name="{name}" dev="0" speed="{speed}" port="{port}" guid="{guid}" {gdr}/>'


def test_other_hosts_with_several_kinds_of_ports() -> None:
    sockets = topology(net("eth0", 100000, 0, 'gdr="0"', "0x0"), net("eth1", 100000, 0, 'gdr="0"', "0x0"))
    assert sockets.read[0] == "2 GPUs, 2 adapters (eth0, eth1)"  # a host without RDMA uses what it has
    unsaid = topology(net("mlx5_0", 200000, gdr=""), net("mlx5_1", 200000, gdr=""))
    assert fields(unsaid)["fabric.topology.rails"] == 2
    two_ports = net("mlx5_0", 200000) + net("mlx5_0", 200000, 2)
    even = topology(two_ports, two_ports.replace("mlx5_0", "mlx5_1"))
    assert even.read[0] == "2 GPUs, 2 adapters with 4 ports (mlx5_0, mlx5_1)"
    assert fields(even)["fabric.topology.rails"] == 4
    assert any("a link and a rail for each port" in each for each in even.warnings)
    uneven = topology(two_ports, net("mlx5_1", 100000))
    assert fields(uneven)["fabric.topology.rails"] == 3
    assert any("adapters differ: 100 Gbps of 1, 200 Gbps of 2" in each for each in uneven.warnings)
