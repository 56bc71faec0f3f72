"""Graphs from NCCL's topology of a host: dumps, clouds' files with a server's values, pairs of switches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.devices.nccl_hardware import hardware_of
from fabricbench.plan.errors import PlanError
from fabricbench.plan.nccl import Question, graph_rows
from fabricbench.plan.server import load_server

TESTS = Path(__file__).parent
DGX = TESTS / "samples" / "dgx.xml"
CLOUD = TESTS / "samples" / "cloud.xml"
DUMP = TESTS / "forms" / "59-nccl-topo-dump.xml"


def host(*cpus: str) -> str:
    return f"<system version='1'>{''.join(cpus)}</system>"


def cpu(inside: str, values: str = "arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='143'") -> str:
    return f"<cpu numaid='0' {values}>{inside}</cpu>"


def slot(inside: str, values: str = "", speed: str = "32.0 GT/s PCIe") -> str:
    return f"<pci link_speed='{speed}' link_width='16' {values}>{inside}</pci>"


def gpu(number: int, inside: str = "") -> str:
    return slot(f"<gpu dev='{number}' sm='90' rank='{number}' gdr='1'>{inside}</gpu>", f"busid='gpu{number}'")


def nic(number: int) -> str:
    return slot(f"<nic><net name='mlx5_{number}' speed='400000' port='1' guid='{number + 1}' gdr='1'/></nic>")


def graphs(topology: Path, servers: int, server: str | None = None, **more: Any) -> list[dict[str, Any]]:
    return graph_rows(Question(server, topology, servers, sizes="8", **more).answer())


def described(graph: dict[str, Any]) -> str:
    speeds = f"{graph['channels']}x{graph['intra_gb_per_s']:g}/{graph['inter_gb_per_s']:g}"
    return f"P{graph['pattern']} x{graph['cross_nic']} {speeds} {graph['type_intra']}/{graph['type_inter']}"


def test_a_dump_has_all_values() -> None:
    parts = hardware_of(DGX.read_text(), "dgx.xml")
    assert parts["cpus"] == ["amd_zen2", "amd_zen2"]
    assert parts["switches"] == [
        {"to": {"cpu": 0}, "bandwidth": 24_000},
        {"to": {"cpu": 1}, "bandwidth": 24_000},
    ]
    assert [part["gpu"]["device"] for part in parts["gpus"]] == [0, 1]
    assert {part["gpu"]["capability"] for part in parts["gpus"]} == {80}
    # The second adapter has 8 GT/s.
    assert [part["upstream"]["bandwidth"] for part in parts["adapters"]] == [24_000, 12_000]
    assert parts["adapters"][0]["ports"][0]["nic"]["bandwidth"] == 25_000
    assert sum(pair["links"] for pair in parts["nvlinks"]) == 24
    assert all(pair["to"] == "nv_switch" for pair in parts["nvlinks"])


def test_graphs_of_a_dump() -> None:
    # Two A100 of an NVSwitch server, as logged: 12 rings of 20 GB/s, 12 trees of 40.
    assert [described(graph) for graph in graphs(DGX, 1)] == [
        "P4 x0 12x20/20 NVL/PIX",
        "P1 x0 12x40/40 NVL/PIX",
    ]
    assert [graph["type_intra"] for graph in graphs(DGX, 2)] == ["NVL", "NVL"]
    # Four H100 of a dump with ports that GPUs do not use.
    assert graphs(DUMP, 1)[0]["channels"] == 12
    assert len(graphs(DUMP, 2)) == 3


def test_a_file_of_a_cloud_needs_a_server() -> None:
    with pytest.raises(PlanError) as error:
        graphs(CLOUD, 2)
    assert (
        "found no compute capability (`sm`); allowed: that of the GPU\nhint: the file does not have it"
        in str(error.value)
    )
    # Two GPUs and two adapters on each switch, NVLink and the adapters' rate of the server.
    assert [described(graph) for graph in graphs(CLOUD, 2, "dgx-a100")] == [
        "P4 x0 4x24/24 NVL/PIX",
        "P1 x0 4x48/24 NVL/PIX",
    ]


def test_a_topology_of_the_shape_of_a_server_has_its_graphs(tmp_path: Path) -> None:
    link = "<nvlink target='0000:00:00.0' count='18' tclass='0x068000'/>"
    pairs = [slot(gpu(number, link) + nic(number)) for number in range(8)]
    file = tmp_path / "topo.xml"
    file.write_text(host(cpu("".join(pairs[:4])), cpu("".join(pairs[4:]))))
    for servers in (1, 2):
        regular = graph_rows(Question("dgx-h100", servers=servers, sizes="8").answer())
        assert graphs(file, servers) == regular


def test_pairs_of_switches_in_a_package_are_one_switch() -> None:
    outer = (
        "class='0x060400' vendor='0x1000' device='0xc030' subsystem_vendor='0x1000' subsystem_device='0x0001'"
    )
    inner = outer.replace("0x0001", "0x100b")
    parts = hardware_of(host(cpu(slot(slot(gpu(0), inner) + nic(0), outer))), "topo.xml")
    assert len(parts["switches"]) == 1
    assert parts["gpus"][0]["upstream"]["to"] == parts["adapters"][0]["upstream"]["to"] == {"pci_switch": 0}
    single = hardware_of(host(cpu(slot(slot(gpu(0), inner) + nic(0), inner))), "topo.xml")
    assert len(single["switches"]) == 2


def test_links_between_gpus_count_once_and_c2c_belongs_to_the_cpu() -> None:
    def link(target: str, tclass: str) -> str:
        return f"<nvlink target='{target}' count='6' tclass='{tclass}'/>"

    first = gpu(0, link("gpu1", "0x030200") + link("gpu9", "0x030200") + "<c2c bw='44712' count='5'/>")
    arm = cpu(first + gpu(1, link("gpu0", "0x030200")) + nic(0), "arch='arm64'")
    parts = hardware_of(host(arm), "topo.xml")
    assert parts["cpus"] == ["arm"]
    assert parts["nvlinks"] == [{"gpu": 0, "to": {"gpu": 1}, "links": 6}]
    assert parts["c2c"] == [{"gpu": 0, "cpu": 0, "bandwidth": 223_560}]


@pytest.mark.parametrize(
    ("values", "processor"),
    [
        ("arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='79'", "intel_broadwell"),
        ("arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='106'", "intel_skylake"),
        ("arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='207'", "intel_emerald_rapids"),
        ("arch='x86_64' vendor='AuthenticAMD' familyid='23' modelid='49'", "amd_zen2"),
        ("arch='x86_64' vendor='AuthenticAMD' familyid='175' modelid='17'", "amd_zen4"),
        ("arch='x86_64' vendor='AuthenticAMD' familyid='191' modelid='2'", "amd_zen5"),
        ("arch='x86_64' vendor='CentaurHauls' familyid='7' modelid='91'", "yongfeng"),
        ("arch='ppc64'", "power9"),
        ("arch='riscv'", "other"),
    ],
)
def test_processors(values: str, processor: str) -> None:
    assert hardware_of(host(cpu(gpu(0) + nic(0), values)), "topo.xml")["cpus"] == [processor]


def test_adapters_are_chosen_by_name(tmp_path: Path) -> None:
    file = tmp_path / "topo.xml"
    file.write_text(host(cpu(gpu(0) + nic(0) + nic(1))))
    answer = Question(None, file, 2, variables={"NCCL_IB_HCA": "mlx5_1"}, sizes="8").answer()
    assert answer["ignored"] == []
    assert {number for nics in answer["ring_nics"] for number in nics} == {0}


def test_several_servers_need_an_adapter(tmp_path: Path) -> None:
    file = tmp_path / "topo.xml"
    file.write_text(host(cpu(gpu(0) + nic(0))))
    variables = {"NCCL_IB_HCA": "bnxt"}
    assert Question(None, file, 1, variables=variables, sizes="8").answer()["nodes"] == 1
    with pytest.raises(PlanError) as error:
        Question(None, file, 2, variables=variables, sizes="8").answer()
    assert str(error.value) == (
        "error: --servers: found 2 without an adapter; allowed: 1 server\nhint: NCCL_IB_HCA is bnxt"
    )


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            "".join(gpu(number) for number in range(65)) + nic(0),
            "found 65 GPUs at CPUs, 67 parts; allowed: 1 to 64",
        ),
        (
            gpu(0, "<nvlink count='64' tclass='0x068000'/>" * 16) + nic(0),
            "nvlink: found more than 1000 links of a GPU; allowed: at most 1000",
        ),
        (
            gpu(0, "<c2c bw='99999999' count='9'/>") + nic(0),
            "c2c: found a rate of 899999991 MB/s; allowed: 1 to",
        ),
    ],
)
def test_more_than_a_host_has_is_refused(inside: str, message: str) -> None:
    with pytest.raises(PlanError) as error:
        hardware_of(host(cpu(inside)), "topo.xml")
    assert message in str(error.value)


def test_a_file_without_cpu_or_rate_is_refused() -> None:
    without_cpu = host(gpu(0) + nic(0))
    with pytest.raises(PlanError, match="found no CPU; allowed: 1 `cpu` or more"):
        hardware_of(without_cpu, "topo.xml")
    without_rate = host(cpu(gpu(0) + slot("", "class='0x020700'")))
    with pytest.raises(PlanError, match="found no rate"):
        hardware_of(without_rate, "topo.xml")
    server = load_server("p5")
    port = hardware_of(without_rate, "topo.xml", server)["adapters"][0]["ports"][0]["nic"]
    assert (port["bandwidth"], port["latency_us"]) == (50_000, 75.0)
