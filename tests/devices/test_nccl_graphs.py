"""NCCL's graphs of a host: GPUs, adapters and channels, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.read import ReadOptions, read_device
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_fields

TEXT = (Path(__file__).parent / "samples" / "nccl_graphs.xml").read_text()


def of(text: str, servers: int | None = None) -> Fragment:
    return read_device(text.encode(), "graphs.xml", ReadOptions(servers=servers))


def refused(text: str) -> str:
    with pytest.raises(PlanError) as error:
        of(text)
    return str(error.value)


def test_graphs_are_servers_with_channels() -> None:
    fragment = of(TEXT, 16)
    assert fragment.plan["fabric"]["topology"] == {
        "kind": "rail-optimised",
        "servers": 16,
        "rails": 4,
        "spines": 8,
        "links_per_spine": 2,
    }
    # Adapter 2 is next to GPU 3.
    assert fragment.plan["fabric"]["server"] == {"gpus": 4, "nics": 4, "nic_of_gpu": [0, 1, 3, 2]}
    assert fragment.read[:4] == (
        "4 GPUs, 4 adapters",
        "ring: 4 channels of 48/48 GB/s, NVL/PIX",
        "tree: 2 channels of 48/48 GB/s, NVL/PIX",
        "NVLS: none",
    )
    assert "ring, channel 2: GPUs 3 0 1 2; adapters 2 to 3" in fragment.read
    assert any("the ring needs 48 GB/s" in warning for warning in fragment.warnings)


def test_the_fields_are_those_of_a_plan() -> None:
    plan = of(TEXT).plan
    plan["fabric"]["topology"]["host_link"] = "400Gbps"
    jobs = [{"collective": "all-reduce"}]
    load_fields({"fabricbench": 1, "name": "host", **plan, "jobs": jobs, "sweep": {"data_size": "64KB"}})


def test_graphs_of_one_host_have_no_adapters() -> None:
    lines = [line for line in TEXT.splitlines() if "<net" not in line]
    fragment = of("\n".join(lines))
    assert fragment.plan == {"fabric": {"server": {"gpus": 4}}}
    assert "no adapter is in the file" in fragment.warnings[0]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('pattern="4"', 'pattern="9"', ("graphs.xml:2", "graph.pattern", "9", "from 1 to 6")),
        ('speedintra="48"', 'speedintra="fast"', ("graphs.xml:2", "graph.speedintra", "fast", "GB/s")),
        ('typeinter="PIX"', 'typeinter="PCI"', ("graphs.xml:2", "graph.typeinter", "PCI", "NVL, NVB")),
        ('nchannels="4"', 'nchannels="5"', ("graphs.xml:2", "graph.nchannels", "5", "number of `channel`")),
        ('<gpu dev="3"/>', "<gpu/>", ("graphs.xml:6", "gpu.dev", "nothing", "a whole number")),
        ('<net dev="0x2"/>', '<net dev="b"/>', ("graphs.xml:20", "net.dev", "b", "a whole number")),
    ],
    ids=["pattern", "speed", "type", "channels", "no number", "text"],
)
def test_wrong_values_are_refused_with_their_line(before: str, after: str, expected: tuple[str, ...]) -> None:
    text = refused(TEXT.replace(before, after, 1))
    for part in expected:
        assert part in text


def test_a_file_without_channels_is_refused() -> None:
    assert "no channel with a GPU" in refused('<graphs version="1"></graphs>')
