"""Shipped servers: complete, with a source of each value, and errors of files of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.errors import PlanError
from fabricbench.plan.fabric.server import Server, shipped_servers
from fabricbench.plan.server import load_server

SERVERS = {
    *(
        "dgx-a100",
        "dgx-h100",
        "gb200-nvl72",
        "gh200-quad",
        "hgx-b200",
        "hgx-h20",
        "hgx-h200",
        "p5",
        "p5en",
        "p6-b200",
    ),
}
SMALL = """\
gpus: 4
compute_capability: 9.0
nics: 2
nic: {rate: 400Gbps, pcie: 5}
pcie: {generation: 5}
cpu: {processor: arm, numa_nodes: 1}
"""


def written(server: Server, prefix: str = "") -> set[str]:
    """Name the fields that a file gives, those of mappings with the mapping."""
    names: set[str] = set()
    model: Any = server
    for name, field in type(model).model_fields.items():
        value, key = getattr(model, name), prefix + (field.alias or name)
        if name not in model.model_fields_set or name in ("description", "sources"):
            continue
        names |= written(value, f"{key}.") if hasattr(value, "model_fields_set") else {key}
    return names


def test_the_shipped_servers_are_those_of_the_docs() -> None:
    assert set(shipped_servers()) == SERVERS


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_each_value_of_a_shipped_server_has_a_source(name: str) -> None:
    server = load_server(name)
    assert server.description
    assert set(server.sources) == written(server)
    assert all(server.sources.values())


def test_adapters_are_divided_among_gpus_by_default(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(SMALL)
    server = load_server(str(file))
    assert server.nics_by_gpu() == ((0,), (0,), (1,), (1,))
    assert server.hardware()["gpu_of_nic"] == [0, 2]
    file.write_text(SMALL.replace("nics: 2", "nics: 8"))
    assert load_server(str(file)).nics_by_gpu() == ((0, 1), (2, 3), (4, 5), (6, 7))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nic: {rate: 400Gbps, pcie: 5}\n", "", "nics: found 2 without `nic`; allowed: `nic` with"),
        ("pcie: {g", "nic_of_gpu: [0, 1]\npcie: {g", "nic_of_gpu: found a list of 2; allowed: an item for"),
        ("pcie: {g", "nic_of_gpu: [0, 0, 1, 2]\npcie: {g", "nic_of_gpu: found adapter 2; allowed: 0 to 1"),
        ("pcie: {g", "nic_of_gpu: [0, 0, 0, 0]\npcie: {g", "nic_of_gpu: found no GPU with adapter 1"),
        ("pcie: {g", "nic_of_gpu: [0, 0, x, 0]\npcie: {g", 'nic_of_gpu: found "x" in the list; allowed: num'),
        (
            "pcie: {g",
            "nic_of_gpu: all\npcie: {g",
            'nic_of_gpu: found "all"; allowed: a list with the adapter',
        ),
        (
            "9.0",
            "hopper",
            'compute_capability: found "hopper"; allowed: a compute capability of CUDA such as 9',
        ),
        ("arm", "grace", "cpu.processor: found "),
        (
            "pcie: {g",
            "scale_up: {kind: mesh, links: 6, rate: 450GB/s, latency: 1us, servers: 2}\npcie: {g",
            "scale_up.servers: found 2; allowed: 1 with `kind: mesh`",
        ),
        ("400Gbps", "9Tbps", "nic.rate: found 9Tbps; allowed: 8Mbps to 8Tbps"),
        ("pcie: {g", "c2c: 1kbps\npcie: {g", "c2c: found 1kbps; allowed: 8Mbps to 8Tbps"),
        ("gpus: 4", "gpu: 4", "gpu: found an unknown key"),
    ],
)
def test_a_wrong_server_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises(PlanError) as error:
        load_server(str(file))
    assert message in str(error.value)


def test_an_unknown_server_has_a_hint() -> None:
    with pytest.raises(
        PlanError, match="no such server; allowed: a shipped server's name, or a file"
    ) as error:
        load_server("dgx-h10")
    assert "did you mean `dgx-h100`?" in str(error.value)
