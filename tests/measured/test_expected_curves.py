"""`explain FILE` with an expected curve: of a cluster, or of a plan at the measured sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fabricbench as fb
from fabricbench.cli.main import run

DIAGNOSED = Path(__file__).parent / "diagnosed"
MB, GB = 1 << 20, 1 << 30
CLUSTER = ("--cluster", "dgx-h100", "--servers", "2")
ADAPTERS = ", ".join(f"[{number}]mlx5_{number}:1/RoCE" for number in range(8))
BUSBW = {MB: 30.0, GB: 300.0}
"""Measured bus bandwidth of each size [GB/s]."""


def output(
    tmp_path: Path, log: Sequence[str] = (), choices: Sequence[str] = (), servers: int = 2, gpus: int = 8
) -> str:
    """Write the output of all_reduce_perf with lines of NCCL's log, and return its name."""
    ranks = servers * gpus
    lines = ["# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor)"]
    lines += [
        f"#  Rank {rank} Group 0 Pid {rank + 10} on node{rank // gpus} device {rank % gpus} [0x1b] H100"
        for rank in range(ranks)
    ]
    lines += [f"node0:10:10 [0] NCCL INFO {text}" for text in log]
    part = "time algbw busbw #wrong"
    lines += ["# Collective test starting: all_reduce_perf", f"# size count type redop root {part} {part}"]
    lines += [f"node0:10:10 [0] NCCL INFO AllReduce: {text}" for text in choices]
    for size, busbw in BUSBW.items():
        algbw = busbw / (2 * (ranks - 1) / ranks)
        row = f"{size / algbw / 1e3:.1f} {algbw:.2f} {busbw:.2f} 0"
        lines.append(f"{size} {size // 4} float sum -1 {row} {row}")
    (tmp_path / "nccl.txt").write_text("\n".join([*lines, ""]))
    return str(tmp_path / "nccl.txt")


def explained(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> dict[str, Any]:
    folder = ("--workspace", str(tmp_path / "w"))
    assert run(["explain", *arguments, *folder, "--format", "json"]) == 0, capsys.readouterr().err
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    return content


def test_the_curve_of_a_cluster_is_that_of_expect(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    content = explained(capsys, tmp_path, output(tmp_path), *CLUSTER)
    assert run(["expect", *CLUSTER, "--collective", "all-reduce", "--sizes", "1MB,1GB", "--json"]) == 0
    curve = json.loads(capsys.readouterr().out)["expected"]
    assert [point["size_bytes"] for point in content["expected"]] == [MB, GB]
    for point, same in zip(content["expected"], curve, strict=True):
        assert point["busbw_gb_per_s_median"] == same["busbw_gb_per_s_median"]
        assert point["nccl"] == f"{same['algorithm']} {same['protocol']} {same['channels']}"
        assert point["bound"] == same["bound"]
    first, last = content["falls_short"]
    assert (first["size_bytes"], last["size_bytes"]) == (MB, GB)
    assert last["factor"] == pytest.approx(curve[1]["busbw_gb_per_s_least"] / 300.0, rel=1e-3)
    assert (content["adapters"], content["rate_gbps"]) == (8, 400)


def test_other_choices_of_the_log_are_named_and_have_their_own_bandwidth(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = [
        f"NET/IB : Using {ADAPTERS} [RO]; OOB eth0:198.18.0.1<0>",
        "NCCL_IB_QPS_PER_CONNECTION set by environment to 4",
        "4 coll channels, 0 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer",
        "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        "Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1/GDRDMA",
    ]
    ring = "{} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..3}}"
    path = output(tmp_path, log, [ring.format(size) for size in BUSBW])
    content = explained(capsys, tmp_path, path, *CLUSTER)
    expected = [f"{point['nccl']}" for point in content["expected"]]
    (by_size, channels, adapters, queue_pairs) = content["choices_that_differ"][-4:]
    assert by_size.endswith(f"the log has Ring Simple 4, expected is {expected[-1]}")
    assert channels == "the log has 4 channels of collectives (line 20), expected are 16"
    assert adapters == "channels of the log use 2 adapters (0, 1), expected are 8"
    assert queue_pairs == "NCCL_IB_QPS_PER_CONNECTION is 4 in the log (line 19), expected is 1"
    large = content["expected"][-1]
    assert large["with_logged_choice_gb_per_s"] == pytest.approx(4 * 49.0, rel=0.01)  # a ring for an adapter
    assert large["with_logged_choice_gb_per_s"] < large["busbw_gb_per_s_median"]
    assert content["results"][-1]["nccl"] == "Ring Simple 4"


def test_a_plan_has_the_bandwidth_of_the_choices_of_the_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str
) -> None:
    log = ["4 coll channels, 0 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer"]
    ring = "{} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..3}}"
    path = output(tmp_path, log, [ring.format(size) for size in BUSBW])
    content = explained(capsys, tmp_path, path, "--plan", plan)
    same = explained(capsys, tmp_path, path, *CLUSTER)
    large, of_cluster = content["expected"][-1], same["expected"][-1]
    assert large["with_logged_choice_gb_per_s"] == pytest.approx(
        of_cluster["with_logged_choice_gb_per_s"], rel=0.02
    )
    assert (
        "the log has 4 channels of collectives (line 18), expected are 16" in content["choices_that_differ"]
    )
    without = explained(capsys, tmp_path, output(tmp_path), "--plan", plan)
    assert {point["with_logged_choice_gb_per_s"] for point in without["expected"]} == {None}


def graph_xml(pattern: int, channels: int, speeds: tuple[int, int], types: tuple[str, str]) -> str:
    """A graph as NCCL dumps it, of a GPU and an adapter for each channel."""
    inside = "".join(
        f'<channel><net dev="{number}"/><gpu dev="{number}"/><net dev="{number}"/></channel>'
        for number in range(channels)
    )
    return (
        f'<graph id="{pattern % 4}" pattern="{pattern}" crossnic="0" nchannels="{channels}" '
        f'speedintra="{speeds[0]}" speedinter="{speeds[1]}" latencyinter="0" typeintra="{types[0]}" '
        f'typeinter="{types[1]}" samechannels="0">{inside}</graph>'
    )


def test_dumped_graphs_that_differ_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str
) -> None:
    graphs = [
        graph_xml(4, 4, (24, 24), ("NVL", "PHB")),
        graph_xml(3, 8, (48, 48), ("NVL", "PIX")),
        graph_xml(5, 0, (0, 0), ("NVL", "PIX")),
    ]
    file = tmp_path / "graphs.xml"
    file.write_text(f'<graphs version="1">{"".join(graphs)}</graphs>')
    named = [
        "the dumped graph Ring has 4 channels of 24/24 GB/s, NVL/PHB, expected are 8 channels of 48/48 GB/s, "
        "NVL/PIX",
        "the dumped graph NVLS has no channels, expected are 8 channels of 40/48 GB/s, NVL/PIX",
    ]
    for fabric in (CLUSTER, ("--plan", plan)):
        content = explained(capsys, tmp_path, output(tmp_path), *fabric, "--graphs", str(file))
        assert content["choices_that_differ"] == named
    assert run(["explain", output(tmp_path), "--graphs", str(file), "--workspace", str(tmp_path / "w")]) == 2
    assert "--graphs: found graphs without expected ones" in capsys.readouterr().err


def test_the_choices_of_a_log_that_are_expected_are_not_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = ["16 coll channels, 0 collnet channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer"]
    content = explained(capsys, tmp_path, output(tmp_path, log), *CLUSTER)
    assert content["choices_that_differ"] == []
    assert {point["with_logged_choice_gb_per_s"] for point in content["expected"]} == {None}


def test_the_version_of_the_log_is_that_of_the_curve(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = output(tmp_path, ["NCCL version 2.27.5+cuda12.8"])
    assert "NCCL 2.27," in explained(capsys, tmp_path, path, *CLUSTER)["expected_source"]
    assert "NCCL 2.30," in explained(capsys, tmp_path, path, *CLUSTER, "--nccl", "2.30")["expected_source"]
    path = output(tmp_path, ["NCCL version 2.4.8+cuda10.1"])
    assert "NCCL 2.30," in explained(capsys, tmp_path, path, *CLUSTER)["expected_source"]


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """The file of a plan of two servers, which runs other sizes than those that were measured."""
    path = tmp_path / "plan.yaml"
    path.write_text(
        "fabricbench: 1\nname: two\nbackend: flow\nfabric:\n"
        "  topology: {kind: rail-optimised, servers: 2, rails: 8, spines: 2, host_link: 400Gbps, "
        "fabric_link: 400Gbps}\n  server: dgx-h100\n  switch: {pfc: on}\n"
        "jobs: [{collective: all-reduce}]\nsweep: {data_size: 4MB}\n"
    )
    return str(path)


def test_imported_results_are_one_operation_over_all_adapters(tmp_path: Path, plan: str) -> None:
    measured = fb.import_results(output(tmp_path), plan=plan, workspace=tmp_path / "w")
    simulated = fb.run(fb.load(plan).with_(data_size=["1MB", "1GB"]), workspace=tmp_path / "w")
    pairs = fb.compare(measured, simulated).filter(metric="busbw_gb_per_s")
    assert sorted(pairs["first"].round(0).to_list()) == [30.0, 30.0, 300.0, 300.0]
    ideals = {
        round(row["busbw_gb_per_s"] / row["ideal_percent"], 3)
        for trials in (measured, simulated)
        for row in trials.summary.filter(data_size_bytes=GB).to_dicts()
    }
    assert len(ideals) == 1
    assert 100 * ideals.pop() > 8 * 49.0


def test_nothing_is_above_its_ideal_without_a_note(tmp_path: Path, plan: str) -> None:
    path = output(tmp_path, choices=[f"{GB} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..15}}"])
    text = Path(path).read_text()
    algbw = 600.0 / (2 * 15 / 16)
    row = f"{GB / algbw / 1e3:.1f} {algbw:.2f} 600.00 0"
    lines = [line for line in text.splitlines() if not line.startswith(str(GB))]
    Path(path).write_text("\n".join([*lines, f"{GB} {GB // 4} float sum -1 {row} {row}", ""]))
    with pytest.warns(UserWarning, match=r"117 % of the ideal of plan two"):
        measured = fb.import_results(path, plan=plan, workspace=tmp_path / "w")
    assert max(measured.summary["ideal_percent"]) > 101


def test_a_plan_runs_at_the_measured_sizes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str
) -> None:
    content = explained(capsys, tmp_path, output(tmp_path), "--plan", plan)
    assert [point["size_bytes"] for point in content["expected"]] == [MB, GB]
    assert content["expected"][-1]["nccl"]
    assert content["expected"][-1]["busbw_gb_per_s_least"] > 8 * 40
    assert content["expected_source"] == "plan two, 2 sizes by the flow model"
    assert content["adapters"] == 8


def test_jobs_that_are_rings_of_one_operation_are_one_curve(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, plan = DIAGNOSED / "nccl-two-servers.txt", DIAGNOSED / "two-rails.yaml"
    content = explained(capsys, tmp_path, str(file), "--plan", str(plan))
    assert content["expected"]
    for point in content["expected"]:
        assert 150 < point["busbw_gb_per_s_least"] < 200
    assert content["falls_short"][0]["factor"] > 2


def test_text_and_page_have_both_curves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", ("--workspace", str(tmp_path / "w"))
    assert run(["explain", output(tmp_path), *CLUSTER, *folder, "-o", str(page)]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"^falls short first at 1 MB: 30\.\d+ GB/s, \d\.\d\d times less than", text, re.MULTILINE
    )
    assert "expected: 2 x dgx-h100, rail-optimised, NCCL 2.30, flow model" in text
    written = page.read_text()
    figure = json.loads(written.split('data-target="plot-measured">')[1].split("</script>")[0])
    names = {trace.get("name") for trace in figure["data"]}
    assert {"expected, all-reduce, 16 ranks", "measured, out-of-place", "measured, in-place"} <= names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cluster", "dgx-h100"), "error: --servers: found nothing; allowed: a number of servers"),
        (("--servers", "2"), "error: --servers: found no --cluster"),
        ((*CLUSTER, "--plan", "jct-alltoall"), "error: --plan: found it with --cluster"),
        (
            ("--cluster", "dgx-h100", "--servers", "4"),
            "error: --servers: found 4 x dgx-h100, 32 ranks; allowed: the 16",
        ),
        ((*CLUSTER, "-o", "page.pdf"), "error: cannot write page.pdf"),
    ],
)
def test_wrong_options_are_errors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    folder = ("--workspace", str(tmp_path / "w"))
    assert run(["explain", output(tmp_path), *options, *folder]) == 2
    assert capsys.readouterr().err.startswith(message)
