"""NCCL's graphs and choices of the shipped servers, against tables calculated by hand and public logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.errors import PlanError
from fabricbench.plan.fabric.server import shipped_servers
from fabricbench.plan.nccl import Question, graph_rows, parse_sizes, parse_variables, size_rows

GRAPHS: list[tuple[str, int, tuple[str, ...]]] = [
    (
        "dgx-h100",
        1,
        ("Ring P4 x0 12x30/30 NVL/PIX s1", "Tree P1 12x30/30 NVL/PIX s1", "NVLS P5 8x40/60 NVL/PIX s0"),
    ),
    ("dgx-h100", 2, ("Ring P4 x2 8x48/48 NVL/PIX s0", "Tree P3 8x48/48 NVL/PIX", "NVLS P5 8x40/48")),
    ("hgx-h200", 2, ("Ring P4 x2 8x48/48 NVL/PIX s0", "Tree P3 8x48/48 NVL/PIX", "NVLS P5 8x40/48")),
    ("hgx-h20", 2, ("Ring P4 x2 8x48/48 NVL/PIX s0", "Tree P3 8x48/48 NVL/PIX", "NVLS P5 8x40/48")),
    ("p5", 2, ("Ring P4 x2 8x48/48 NVL/PIX s0", "Tree P3 8x48/48 NVL/PIX", "NVLS P5 8x40/48")),
    ("p5en", 2, ("Ring P4 x2 8x48/48 NVL/PIX s0", "Tree P3 8x48/48 NVL/PIX", "NVLS P5 8x40/48")),
    ("dgx-a100", 1, ("Ring 12x20/20 s1", "Tree P1 12x20/20 s1")),
    ("dgx-a100", 2, ("Ring P4 x0 8x24/24 NVL/PIX s0", "Tree P1 8x30/24 NVL/PIX")),
    ("hgx-b200", 1, ("Ring 16x45/45 s1", "Tree P1 16x45/45", "NVLS 8x80/90")),
    ("hgx-b200", 2, ("Ring P4 x0 8x48/48 NVL/PXN", "Tree P3 8x96/48", "NVLS 8x48/48")),
    ("gb200-nvl72", 1, ("Ring 16x45/45", "Tree P3 16x50/50", "NVLS 4x90/90")),
    ("gb200-nvl72", 2, ("Ring 16x45/45 s1", "Tree P1 16x45/45", "NVLS 8x80/90")),
    ("gh200-quad", 1, ("Ring 12x30/30 s0", "Tree P1 12x30/30")),
    ("gh200-quad", 2, ("Ring P4 x0 4x24/24 NVL/PXN", "Tree P3 4x48/24 NVL/P2C")),
]
"""Server, number, and properties of each graph with NCCL 2.30; properties may be missing."""


def described(graph: Mapping[str, Any]) -> set[str]:
    speeds = f"{graph['intra_gb_per_s']:g}/{graph['inter_gb_per_s']:g}"
    return {
        graph["algorithm"],
        f"P{graph['pattern']}",
        f"x{graph['cross_nic']}",
        f"{graph['channels']}x{speeds}",
        f"{graph['type_intra']}/{graph['type_inter']}",
        f"s{int(graph['same_channels'])}",
    }


@pytest.mark.parametrize(("server", "servers", "expected"), GRAPHS)
def test_the_graphs_of_shipped_servers(server: str, servers: int, expected: tuple[str, ...]) -> None:
    graphs = graph_rows(Question(server, servers=servers, sizes="1MB").answer())
    assert len(graphs) == len(expected)
    for graph, text in zip(graphs, expected, strict=True):
        assert set(text.split()) <= described(graph), text


def test_every_shipped_server_has_a_choice_for_every_size() -> None:
    for name in shipped_servers():
        for servers in (1, 2):
            rows = size_rows(Question(name, servers=servers).answer())
            assert [row["data_size_bytes"] for row in rows] == [8 << index for index in range(32)]
            assert all(row["algorithm"] for row in rows), name


def first_sizes(server: str, servers: int, version: str = "2.30") -> list[str]:
    """Name the algorithms and protocols over sizes, each with the first size of it."""
    choices: list[str] = []
    last = None
    for row in size_rows(Question(server, servers=servers, version=version).answer()):
        choice = (row["algorithm"], row["protocol"])
        if choice != last:
            choices.append(f"{choice[0]} {choice[1]} {row['data_size_bytes']}")
        last = choice
    return choices


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("server", "servers", "expected"),
    [
        ("dgx-h100", 1, ["Ring LL 8", f"NVLS Simple {2 * MIB}"]),
        ("dgx-h100", 2, ["Tree LL 8", f"Tree LL128 {256 * KIB}", f"NVLSTree Simple {2 * MIB}"]),
        (
            *("dgx-h100", 4),
            [
                *("Tree LL 8", f"Tree LL128 {256 * KIB}", f"NVLSTree Simple {8 * MIB}"),
                f"Ring Simple {GIB}",
            ],
        ),
        (
            *("p5en", 2),
            [
                *("Tree LL 8", f"Tree LL128 {256 * KIB}", f"Ring LL128 {16 * MIB}"),
                f"NVLSTree Simple {32 * MIB}",
            ],
        ),
        (
            *("p5", 2),
            [
                *("Tree LL 8", f"Tree LL128 {128 * KIB}", f"Ring LL128 {16 * MIB}"),
                f"NVLSTree Simple {64 * MIB}",
            ],
        ),
        ("dgx-a100", 1, ["Ring LL 8", f"Ring LL128 {4 * MIB}", f"Ring Simple {32 * MIB}"]),
        (
            *("dgx-a100", 2),
            [
                *("Tree LL 8", f"Tree LL128 {256 * KIB}", f"Ring LL128 {16 * MIB}"),
                f"Ring Simple {128 * MIB}",
            ],
        ),
        ("hgx-b200", 1, ["Ring LL 8", f"NVLS Simple {4 * MIB}"]),
    ],
)
def test_choices_over_sizes(server: str, servers: int, expected: list[str]) -> None:
    assert first_sizes(server, servers) == expected


def test_estimates_are_those_of_a_public_log() -> None:
    # NVIDIA/nccl#1595: 805,306,368 bytes by Ring Simple on 8 x H100
    variables = {"NCCL_ALGO": "ring", "NCCL_PROTO": "Simple"}
    row = size_rows(Question("dgx-h100", variables=variables, sizes="805306368").answer())[0]
    assert row["nccl_estimate_us"] == pytest.approx(3970.683594, abs=1e-3)


@pytest.mark.parametrize(
    ("server", "servers", "version", "counts"),
    [
        # NVIDIA/nccl-tests#319, and logs without a public issue: 8 x Hopper, A100, B200, two trays of GB300
        ("dgx-h100", 2, "2.26.2", (16, 16, 16, 2)),
        ("dgx-h100", 1, "2.23", (24, 16, 32, 32)),
        ("hgx-h200", 1, "2.30.7", (24, 16, 32, 32)),
        ("dgx-a100", 1, "2.23", (24, 0, 32, 32)),
        ("hgx-b200", 1, "2.28", (32, 24, 32, 32)),
        ("gb200-nvl72", 2, "2.29.7", (32, 24, 32, 32)),
    ],
)
def test_channels_of_servers_are_those_of_logs(
    server: str, servers: int, version: str, counts: tuple[int, int, int, int]
) -> None:
    channels = Question(server, servers=servers, version=version, sizes="8").answer()["channels"]
    assert tuple(channels.values()) == counts


@pytest.mark.parametrize(("version", "per_peer"), [("2.28", [2, 2, 1, 1, 1]), ("2.30", [4, 4, 2, 1, 1])])
def test_channels_of_a_peer_fall_with_the_ranks(version: str, per_peer: list[int]) -> None:
    for servers, channels in zip((2, 4, 8, 16, 32), per_peer, strict=True):
        answer = Question("dgx-h100", servers=servers, version=version, sizes="8").answer()
        assert answer["channels"]["per_peer"] == channels


def test_variables_change_graphs_and_choices() -> None:
    variables = parse_variables(
        ["NCCL_CROSS_NIC=0", "NCCL_PXN_DISABLE=1", "NCCL_ALGO=^NVLSTree", "NCCL_DEBUG=INFO"]
    )
    answer = Question("dgx-h100", servers=2, variables=variables, sizes="1GB").answer()
    assert {"x0", "8x40/40", "NVL/PHB"} <= described(graph_rows(answer)[0])
    assert size_rows(answer)[0]["algorithm"] == "Ring"
    assert answer["ignored"] == ["NCCL_DEBUG"]


def test_transfers_have_channels_and_chunks_but_no_algorithm() -> None:
    # 64 MiB to each of 16 ranks, in chunks of 128 KiB on 4 of 16 channels
    row = size_rows(Question("dgx-h100", servers=2, collective="alltoall", sizes="1GB").answer())[0]
    assert (row["algorithm"], row["protocol"], row["nccl_estimate_us"]) == (None, "Simple", None)
    assert (row["channels"], row["chunk_bytes"], row["messages"]) == (4, 128 * KIB, 128)
    assert row["concurrent_peers"] == 16
    sent = size_rows(Question("dgx-h100", servers=2, collective="send-receive", sizes="64MB").answer())[0]
    assert sent == row | {"data_size_bytes": 64 * MIB, "concurrent_peers": None}


def test_variables_may_leave_no_choice() -> None:
    row = size_rows(Question("dgx-h100", variables={"NCCL_ALGO": "pat"}, sizes="1MB").answer())[0]
    assert row["algorithm"] is None
    assert row["nccl_estimate_us"] is None


@pytest.mark.slow
def test_a_whole_nvlink_domain_is_searched() -> None:
    answer = Question("gb200-nvl72", servers=19, sizes="1GB").answer()
    assert (answer["nodes"], answer["ranks"]) == (2, 76)


def test_sizes_are_values_and_ranges() -> None:
    assert parse_sizes("8B:32B") == [8, 16, 32]
    assert parse_sizes("100,1MB,2MB:8MB") == [100, MIB, 2 * MIB, 4 * MIB, 8 * MIB]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": "1GB:1MB"}, 'error: --sizes: found "1GB:1MB"; allowed: sizes such as'),
        ({"sizes": "0"}, 'error: --sizes: found "0"; allowed: sizes such as'),
        (
            {"sizes": "1 parsec"},
            'error: --sizes: found "1 parsec" with the unknown unit "parsec"; allowed: sizes such',
        ),
        ({"sizes": ",".join(["1"] * 1001)}, "error: --sizes: found 1001 sizes; allowed: at most 1000"),
        (
            {"version": "2.17"},
            'error: --nccl: found "2.17"; allowed: 2.18 to 2.31, with or without a patch level',
        ),
        ({"version": "two"}, 'error: --nccl: found "two"; allowed: 2.18 to 2.31'),
        (
            {"collective": "gather"},
            'error: --collective: found "gather"; allowed: all-reduce, all-gather',
        ),
        ({"servers": 0}, "error: --servers: found 0; allowed: 1 to 8192"),
        ({"variables": {"NCCL_ALGO": "rings"}}, 'error: -x NCCL_ALGO: found "rings"; allowed: Tree, Ring'),
        ({"variables": {"NCCL_CROSS_NIC": "3"}}, 'error: -x NCCL_CROSS_NIC: found "3"; allowed: 0 to 2'),
        ({"server": None}, "error: SERVER: found nothing; allowed: dgx-a100, dgx-h100"),
        ({"topology": Path("none.xml")}, "error: none.xml: found a file that cannot be read: No such file"),
    ],
)
def test_a_wrong_input_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as error:
        Question(**{"server": "dgx-h100", **changes}).answer()
    assert str(error.value).startswith(message)


def test_a_variable_has_a_value() -> None:
    assert parse_variables(["NCCL_ALGO=ring", "NCCL_ALGO=allreduce:tree"]) == {"NCCL_ALGO": "allreduce:tree"}
    with pytest.raises(PlanError, match=r"-x NCCL_ALGO: found no value; allowed: NAME=VALUE"):
        parse_variables(["NCCL_ALGO"])
