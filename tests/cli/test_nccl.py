"""The command `nccl`: its table, JSON and CSV, ignored variables, errors, completion."""

from __future__ import annotations

import csv
import io
import json

import pytest

from fabricbench.cli.completion import nccl_collectives, servers
from fabricbench.cli.main import run


def test_the_table_has_graphs_channels_rings_and_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nccl", "dgx-h100", "--servers", "2", "--sizes", "8,1MB,1GB"]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert lines[0] == "NCCL 2.30, 2 x dgx-h100: 16 ranks on 2 nodes"
    assert "Ring: Pattern 4, crossNic 2, nChannels 8, bw 48/48, type NVL/PIX, sameChannels 0" in lines
    assert "channels: 16 of collectives, 16 of NVLS, 16 of send and receive, 4 for a peer" in lines
    assert any(line.startswith("ring 0: ") and "(NIC 0 in, " in line for line in lines)
    cells = [line.split() for line in lines]
    assert ["8", "B", "Tree", "LL", "1", "32", "KB"] in [row[:7] for row in cells]
    assert ["1", "GB", "NVLSTree", "Simple", "16"] in [row[:5] for row in cells]
    assert "it is no prediction of fabricbench." in output.out
    assert not output.err


def test_json_has_the_inputs_and_all_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["nccl", "dgx-h100", "--sizes", "1GB", "--collective", "all_gather", "--format", "json"]
    assert run([*arguments, "-x", "NCCL_ALGO=ring,nvls", "-x", "NCCL_DEBUG=INFO"]) == 0
    output = capsys.readouterr()
    content = json.loads(output.out)
    assert (content["server"], content["nccl"], content["ranks"]) == ("dgx-h100", "2.30", 8)
    assert content["ignored"] == ["NCCL_DEBUG"]
    assert [graph["algorithm"] for graph in content["graphs"]] == ["Ring", "Tree", "NVLS"]
    assert set(content["sizes"][0]["nccl_estimates_us"]) == {
        "Ring LL",
        "Ring LL128",
        "Ring Simple",
        "NVLS Simple",
    }
    assert output.err == "ignored, as they change neither graphs nor choices here: NCCL_DEBUG\n"


def test_csv_has_a_row_for_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nccl", "dgx-a100", "--servers", "2", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 32
    assert (rows[0]["algorithm"], rows[0]["protocol"]) == ("Tree", "LL")
    assert float(rows[0]["nccl_estimate_us"]) == pytest.approx(25.2, abs=0.01)


def test_transfers_have_columns_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["nccl", "dgx-h100", "--servers", "2", "--sizes", "1GB", "--collective"]
    assert run([*arguments, "all-to-all"]) == 0
    output = capsys.readouterr().out
    assert "size  protocol  channels  at once   chunk  steps\n" in output
    assert "1 GB  Simple           4       16  128 KB    128\n" in output
    assert "estimate" not in output
    assert run([*arguments, "send-receive"]) == 0
    assert "size  protocol  channels   chunk  steps\n" in capsys.readouterr().out


def test_no_choice_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nccl", "dgx-h100", "-x", "NCCL_ALGO=pat", "--sizes", "8"]) == 0
    assert capsys.readouterr().err.startswith("no choice: one rank, or NCCL_ALGO and NCCL_PROTO allow none")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "error: SERVER: found nothing; allowed: dgx-a100, "),
        (
            ["dgx-h1"],
            "error: dgx-h1: found no such server; allowed: a shipped server's name, or a file\nhint: did",
        ),
        (["dgx-h100", "--nccl", "1.0"], 'error: --nccl: found "1.0"; allowed: 2.18 to 2.31'),
        (
            ["dgx-h100", "-x", "NCCL_PROTO=LL256"],
            'error: -x NCCL_PROTO: found "LL256"; allowed: LL, LL128, Simple',
        ),
        (["dgx-h100", "--sizes", "big"], 'error: --sizes: found "big"; allowed: sizes such as "1MB"'),
        (["--topo", "none.xml"], "error: none.xml: found a file that cannot be read"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert run(["nccl", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_servers_and_collectives_are_completed() -> None:
    assert [name for name, _ in servers("p5")] == ["p5", "p5en"]
    assert nccl_collectives("all-") == ["all-reduce", "all-gather", "all-to-all"]
