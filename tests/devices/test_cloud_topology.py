"""Topologies that clouds give for NCCL_TOPO_FILE: GPUs and adapters by their class of PCI."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.errors import PlanError

CLOUD = (Path(__file__).parent / "samples" / "cloud.xml").read_text()


def read(text: str) -> Fragment:
    return read_device(text.encode(), "topo.xml", ReadOptions("nccl"))


def topology(text: str) -> dict[str, object]:
    return {each.field.removeprefix("fabric.topology."): each.value for each in read(text).values}


def bridge(*slots: str) -> str:
    inside = "".join(slots)
    pci = 'class="0x060400" link_speed="8 GT/s" link_width="16"'
    return (
        f'<system version="1"><cpu numaid="0"><pci busid="0000:10:00.0" {pci}>{inside}</pci></cpu></system>'
    )


def slot(bus: str, kind: str, inside: str = "", speed: str = "16.0 GT/s PCIe") -> str:
    return f'<pci busid="{bus}" class="{kind}" link_speed="{speed}" link_width="16">{inside}</pci>'


def test_devices_go_by_their_class_and_the_rate_is_asked_for() -> None:
    found = read(CLOUD)
    assert topology(CLOUD)["rails"] == 4
    assert "host_link" not in topology(CLOUD)
    assert found.read[0].startswith("4 GPUs, 4 adapters (0101:00:00.0, ")
    told = "\n".join(found.warnings)
    assert "the rate of adapters is not in the file: give `fabric.topology.host_link`" in told
    # 16 GT/s, 16 lanes, 128 of 130 bits.
    assert "PCIe carries 252 Gbps at the most" in told


@pytest.mark.parametrize(
    ("slots", "gpus", "rails"),
    [
        # Ethernet adapters of a cloud, PCIe Gen3.
        ((slot("0:1", "0x030200"), slot("0:2", "0x030200"), slot("0:3", "0x020000")), 2, 1),
        # Adapters of InfiniBand beside one of Ethernet for management.
        (
            (
                *(slot(f"0:{each}", "0x030200") for each in range(2)),
                *(slot(f"1:{each}", "0x020700") for each in range(2)),
                slot("2:0", "0x020000"),
            ),
            2,
            2,
        ),
        # Accelerators, and classes of six digits in capitals.
        ((slot("0:1", "0x120000"), slot("0:2", "0X020700")), 1, 1),
        # A bridge of NVSwitch and a VGA adapter are no GPUs.
        (
            (
                slot("0:1", "0x030200"),
                slot("0:2", "0x068000"),
                slot("0:4", "0x030000"),
                slot("0:3", "0x020700"),
            ),
            1,
            1,
        ),
    ],
)
def test_classes_of_pci(slots: tuple[str, ...], gpus: int, rails: int) -> None:
    found = read(bridge(*slots))
    assert found.read[0].startswith(f"{gpus} GPU{'s' if gpus > 1 else ''}, {rails} adapter")


def test_what_is_an_element_of_its_own_is_not_counted_by_its_class_again() -> None:
    net = '<nic><net name="mlx5_0" dev="0" speed="400000" port="1"/></nic>'
    mixed = bridge(slot("0:1", "0x030200"), slot("0:2", "0x020700", net), slot("0:3", "0x020700"))
    assert topology(mixed)["host_link"] == "400Gbps"
    assert read(mixed).read[0] == "1 GPU, 1 adapter (mlx5_0)"
    both = bridge(slot("0:1", "0x030200", '<gpu dev="0" sm="90"/>'), slot("0:2", "0x020700", "<nic/>"))
    assert read(both).read[0].startswith("1 GPU, 1 adapter")
    assert "host_link" not in topology(both)


def test_a_slot_that_is_slower_is_told_against_a_known_rate() -> None:
    net = '<nic><net name="efa_0" dev="0" speed="200000"/></nic>'
    found = read(bridge(slot("0:1", "0x030200"), slot("0:2", "0x020000", net, "8 GT/s")))
    assert "efa_0: PCIe carries 126 Gbps of 200 Gbps" in "\n".join(found.warnings)


@pytest.mark.parametrize("slots", [(slot("0:1", "0x030200"),), (slot("0:2", "0x020700"),), ()])
def test_a_host_without_one_of_both_is_refused(slots: tuple[str, ...]) -> None:
    with pytest.raises(PlanError, match=r"no adapter|no GPU"):
        read(bridge(*slots))
