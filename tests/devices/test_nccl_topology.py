"""NCCL's topology of a host: GPUs, adapters, rails, and what an XML file may not do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_fields

SAMPLE = Path(__file__).parent / "samples" / "dgx.xml"
TEXT = SAMPLE.read_text()


def of(text: str, servers: int | None = None) -> Fragment:
    return read_device(text.encode(), "topo.xml", ReadOptions("nccl", servers=servers))


def refused(text: str) -> str:
    with pytest.raises(PlanError) as error:
        of(text)
    return str(error.value)


def test_a_host_is_a_server_with_a_rail_for_each_adapter() -> None:
    fragment = of(TEXT, 16)
    assert fragment.plan["fabric"]["topology"] == {
        "kind": "rail-optimised",
        "servers": 16,
        "rails": 2,
        "spines": 8,
        "links_per_spine": 2,
        "host_link": "200Gbps",
        # 12 links of 20 GB/s
        "scale_up_link": "1.92Tbps",
    }
    assert fragment.read[0] == "2 GPUs, 2 adapters (mlx5_0, mlx5_1)"
    told = "\n".join(fragment.warnings)
    # 16 lanes of 8 GT/s with 128b/130b
    assert "mlx5_1: PCIe carries 126 Gbps of 200 Gbps" in told
    assert "mlx5_0" not in told
    jobs = [{"collective": "all-reduce"}]
    load_fields(
        {"fabricbench": 1, "name": "host", **fragment.plan, "jobs": jobs, "sweep": {"data_size": "64KB"}}
    )


def test_gpus_that_share_adapters_are_told() -> None:
    more = TEXT.replace("</gpu>", '</gpu><gpu dev="7" sm="80" rank="7"/>')
    told = "\n".join(of(more).warnings)
    assert "4 GPUs share 2 adapters: `processes_per_host: 2` of each job" in told
    assert "2 servers here, or as many as `--servers` says" in told


def test_one_adapter_is_one_switch() -> None:
    inside = '<pci><gpu dev="0" sm="90"/></pci><nic><net name="a" speed="400000"/></nic>'
    text = f'<system version="1"><cpu>{inside}</cpu></system>'
    assert of(text).plan["fabric"]["topology"] == {
        "kind": "single-switch",
        "hosts": 2,
        "host_link": "400Gbps",
    }


def test_adapters_of_several_speeds_are_told() -> None:
    fragment = of(TEXT.replace('speed="200000"', 'speed="100000"', 1))
    assert any(each.startswith("adapters differ: 100 Gbps of 1, 200 Gbps of 1") for each in fragment.warnings)


def test_ports_of_an_adapter_share_its_slot() -> None:
    nets = "".join(f'<net name="p{port}" speed="200000"/>' for port in range(2))
    slot = f'<pci link_speed="16.0 GT/s PCIe" link_width="16"><nic>{nets}</nic></pci>'
    told = of(f"<system><cpu><pci><gpu/></pci>{slot}</cpu></system>").warnings
    # 16 lanes of 16 GT/s with 128b/130b carry one port, not two
    assert any(each.startswith("p0 and p1: PCIe carries 252 Gbps of 400 Gbps") for each in told)


@pytest.mark.parametrize("link", ['<xgmi count="1"/>', '<nvlink count="4"/>'])
def test_scale_up_links_of_no_known_rate_are_told(link: str) -> None:
    fragment = of(f'<system><cpu><pci><gpu>{link}</gpu></pci><net name="a" speed="1"/></cpu></system>')
    assert any(each.startswith("nvlink, xgmi: the scale-up network") for each in fragment.left_out)


def test_a_file_of_several_hosts_is_refused() -> None:
    cpus = "".join(f'<cpu host_hash="0x{host}"><gpu/><net name="a" speed="1"/></cpu>' for host in (1, 1, 2))
    told = refused(f"<system>{cpus}</system>")
    assert "system.cpu: found 2 hosts by their host_hash; allowed: one host" in told


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + level)} "{f"&{chr(97 + level)};" * 10}">' for level in range(9)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "found text that is no XML"),
        ("<system>", "topo.xml:1: found text that is no XML"),
        ("<system><a></b></system>", "found text that is no XML: mismatched tag"),
        ("<host/>", 'host: found the element "host"; allowed: system'),
        (BOMB + "]><system>&j;</system>", "found a document type, which may hold entities"),
        ('<!DOCTYPE s SYSTEM "file:///etc/passwd"><system/>', "found a document type"),
        ("<a>" * 100 + "</a>" * 100, "found more elements than a host has"),
        ("<system>" + "<gpu/>" * 30_000 + "</system>", "found more elements than a host has"),
        ('<system><net name="a" speed="1000"/></system>', "system.gpu: found no GPU"),
        ("<system><gpu/></system>", "system.net: found no adapter"),
        (TEXT.replace('speed="200000"', 'speed="fast"', 1), 'topo.xml:12: net.speed: found "fast"'),
        (TEXT.replace('speed="200000"', "", 1), "net.speed: found nothing"),
        (TEXT.replace("8.0 GT/s PCIe", "8 lightyears"), 'pci.link_speed: found "8 lightyears"'),
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused_at_once(text: str, told: str) -> None:
    start = time.process_time()
    assert told in refused(text)
    assert time.process_time() - start < 2
