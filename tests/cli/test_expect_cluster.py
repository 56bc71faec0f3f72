"""`expect --cluster`: curves against closed forms, bounds, formats, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.cli.main import run

LARGE = {"all-to-all": "512MB", "send-receive": "512MB"}
"""Large sizes of collectives with many messages."""
CLUSTER = ("expect", "--cluster", "dgx-h100", "--servers", "2")
CONFIGURATION = Path(__file__).parents[1] / "devices" / "samples" / "config_db_dump.json"
GOODPUT = 50 * 4096 / (4096 + 82)
"""Payload rate of an adapter of 400 Gb/s at MTU 4096 [GB/s]."""


def rows(capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert run([*CLUSTER, *options, "--json"]) == 0
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    expected: list[dict[str, Any]] = content["expected"]
    return expected


@pytest.mark.parametrize(
    ("collective", "variables", "busbw"),
    [
        ("all-reduce", ["-x", "NCCL_ALGO=ring"], 8 * GOODPUT),
        ("all-gather", [], 8 * GOODPUT),
        ("all-to-all", [], GOODPUT * 15 / 8),
        ("send-receive", [], GOODPUT),
    ],
)
def test_large_sizes_have_the_rate_of_the_adapters(
    capsys: pytest.CaptureFixture[str], collective: str, variables: list[str], busbw: float
) -> None:
    small, large = rows(
        capsys, "--collective", collective, "--sizes", f"1KB,{LARGE.get(collective, '16GB')}", *variables
    )
    assert large["busbw_gb_per_s_median"] == pytest.approx(busbw, rel=0.01)
    assert (large["bound"], large["bound_certain"]) == ("adapter", True)
    assert (small["bound"], small["bound_certain"]) == ("latency", True)
    assert small["gain_latency"] > 1


def test_a_workspace_of_the_environment_is_no_option_of_a_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FABRICBENCH_WORKSPACE", str(tmp_path / "lab"))
    assert rows(capsys, "--collective", "all-gather", "--sizes", "1KB")
    assert not (tmp_path / "lab").exists()


ONE_SERVER = ("expect", "--cluster", "hgx-h200", "--servers", "1", "--json")
LINKS = 370.8
"""NVLink of a GPU by NCCL's rules [GB/s]."""


@pytest.mark.parametrize(
    ("collective", "choice", "busbw"),
    [
        ("all-reduce", ("NVLS", "Simple", 16), LINKS * 0.85 * 2 * 7 / 9),
        ("all-gather", ("Ring", "Simple", 24), LINKS),
        ("reduce-scatter", ("Ring", "Simple", 24), LINKS),
        ("all-to-all", (None, "Simple", 32), LINKS),
        ("send-receive", (None, "Simple", 32), LINKS),
    ],
)
def test_one_server_has_the_rate_of_its_links(
    capsys: pytest.CaptureFixture[str], collective: str, choice: tuple[Any, ...], busbw: float
) -> None:
    assert run([*ONE_SERVER, "--collective", collective, "--sizes", "1KB,16GB"]) == 0
    small, large = json.loads(capsys.readouterr().out)["expected"]
    assert (large["algorithm"], large["protocol"], large["channels"]) == choice
    assert large["busbw_gb_per_s_median"] == pytest.approx(busbw, rel=0.01)
    assert (large["bound"], large["bound_certain"]) == ("scale-up", True)
    assert small["bound"] == "latency"


def test_choices_on_one_server_are_those_of_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ONE_SERVER, "--collective", "all-reduce", "--sizes", "8:16MB"]) == 0
    expected = json.loads(capsys.readouterr().out)["expected"]
    # Rings with LL up to 1 MB, then NVLS (NCCL 2.30.7 on 8 x H200).
    algorithms = {row["data_size_bytes"]: (row["algorithm"], row["protocol"]) for row in expected}
    assert all(
        choice == (("Ring", "LL") if size <= 1 << 20 else ("NVLS", "Simple"))
        for size, choice in algorithms.items()
    )


def test_uplinks_that_hashes_share_unevenly_are_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--topology", "leaf-spine", "--collective", "all-gather", "--sizes", "1GB", "--seeds", "4")
    (row,) = rows(capsys, *options)
    assert row["bound"] == "uplinks"
    assert row["busbw_gb_per_s_least"] < row["busbw_gb_per_s_most"] < 8 * GOODPUT


def test_the_cost_of_steps_is_a_bound_where_hosts_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--collective", "all-gather", "--sizes", "64KB", "-s", "jobs.0.step_overhead=50us")
    (row,) = rows(capsys, *options)
    assert row["bound"] == "step cost"


def test_long_trials_are_on_a_line_and_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CLUSTER, "--collective", "send-receive", "--sizes", "256MB,1GB,64GB"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 x dgx-h100, rail-optimised, NCCL 2.30: expected of 1 seed, flow model"
    (last,) = (line for line in lines if line.lstrip().startswith("64 GB"))
    time_us, busbw = (cell for cell in last.split() if cell.startswith("~"))
    assert float(busbw[1:]) == pytest.approx(GOODPUT, rel=0.01)
    assert float(time_us[1:]) == pytest.approx((64 << 30) / GOODPUT / 1000, rel=0.01)
    assert any(line.startswith("~: on the line") for line in lines)


def test_json_has_the_schema_that_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--collective", "all-reduce", "--sizes", "1MB", "-x", "NCCL_DEBUG=INFO", "--allowance", "5")
    assert run([*CLUSTER, *options, "--json"]) == 0
    output = capsys.readouterr()
    content = json.loads(output.out)
    assert output.err == "ignored, as they change neither graphs nor choices here: NCCL_DEBUG\n"
    assert content | {"expected": [], "nccl_tests": []} == {
        "server": "dgx-h100",
        "servers": 2,
        "topology": "rail-optimised",
        "switch": None,
        "nccl": "2.30",
        "variables": {"NCCL_DEBUG": "INFO"},
        "seeds": 1,
        "allowance": 0.05,
        "expected": [],
        "nccl_tests": [],
    }
    (row,) = content["expected"]
    assert list(row) == [
        *("collective", "ranks", "data_size_bytes", "algorithm", "protocol", "channels", "computed"),
        *("time_us", "busbw_gb_per_s_least", "busbw_gb_per_s_lower", "busbw_gb_per_s_median"),
        *("busbw_gb_per_s_upper", "busbw_gb_per_s_most", "ideal_percent", "bound", "bound_certain"),
        *("gain_uplinks", "gain_adapter", "gain_scale_up", "gain_latency", "accept_busbw_gb_per_s"),
    ]
    assert row["accept_busbw_gb_per_s"] == pytest.approx(0.95 * row["busbw_gb_per_s_least"])
    assert content["nccl_tests"][0].endswith(" all_reduce_perf -b 1M -e 1M -f 2 -g 1 -c 1")


def test_limits_are_calls_and_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--collective", "all-gather", "--sizes", "1GB,4GB,16GB")
    assert run([*CLUSTER, *options, "--format", "nccl"]) == 0
    call = capsys.readouterr().out.splitlines()[-1].split()
    assert call[1:] == ["all_gather_perf", "-b", "1G", "-e", "16G", "-f", "4", "-g", "1", "-c", "1"]
    assert float(call[0].partition("=")[2]) == pytest.approx(8 * GOODPUT, rel=0.01)
    assert run([*CLUSTER, *options, "--yaml"]) == 0
    criterion = capsys.readouterr().out.splitlines()[-1]
    assert criterion.startswith("  - {metric: busbw_gb_per_s, min: 35")


def test_pcie_is_the_bound_of_adapters_that_are_faster(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shipped = (Path(__file__).parents[2] / "python/fabricbench/plan/servers/dgx-h100.yaml").read_text()
    old = tmp_path / "old.yaml"
    old.write_text(shipped.replace("pcie: 5}", "pcie: 4, pcie_rate: 24GB/s}"), encoding="utf-8")
    options = ["--collective", "all-gather", "--sizes", "16GB", "--json"]
    assert run(["expect", "--cluster", str(old), "--servers", "2", *options]) == 0
    (row,) = json.loads(capsys.readouterr().out)["expected"]
    assert row["busbw_gb_per_s_median"] == pytest.approx(8 * 24 * 4096 / 4178, rel=0.01)
    assert (row["bound"], row["bound_certain"]) == ("pcie", True)
    # Twice 24 GB/s is nearly the 50 of the links, which bind nothing before.
    assert row["gain_pcie"] == pytest.approx(1.0, abs=0.02)
    assert row["gain_adapter"] == pytest.approx(0.0, abs=0.01)


def test_an_nvlink_domain_is_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--collective", "all-reduce", "--sizes", "16GB", "--json"]

    def curve(servers: int) -> dict[str, Any]:
        assert run(["expect", "--cluster", "gb200-nvl72", "--servers", str(servers), *options]) == 0
        row: dict[str, Any] = json.loads(capsys.readouterr().out)["expected"][0]
        return row

    # NVLS on one domain: a GPU sends all data to the switches and, as one of 32 heads, 1/32 of the sums.
    of_gpu = 721.8 * 0.74 / (1 + 1 / 32)
    one, two = curve(18), curve(36)
    assert one["busbw_gb_per_s_median"] == pytest.approx(2 * 71 / 72 * of_gpu, rel=0.001)
    assert (one["algorithm"], two["algorithm"]) == ("NVLS", "NVLSTree")
    assert two["busbw_gb_per_s_median"] == pytest.approx(2 * 143 / 144 * of_gpu, rel=0.01)
    assert (one["bound"], two["bound"]) == ("scale-up", "scale-up")


def test_switches_are_those_of_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = rows(capsys, "--collective", "all-gather", "--sizes", "1GB", "--switch", str(CONFIGURATION))
    assert row["bound"] == "adapter"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: PLAN: found nothing; allowed: a plan, or --cluster SERVER --servers N"),
        (("--servers", "4"), "error: --servers: found no --cluster; allowed: it with --cluster SERVER"),
        (("jct-alltoall", "--cluster", "dgx-h100"), "error: PLAN: found it with --cluster; allowed: either"),
        (("--cluster", "dgx-h100"), "error: --servers: found nothing; allowed: a number of servers"),
        (("--cluster", "dgx-h1", "--servers", "2"), "error: dgx-h1: found no such server"),
        (("--cluster", "dgx-h100", "--servers", "0"), "error: --servers: found 0; allowed: 1 to 1024"),
        (("--cluster", "gb200-nvl72", "--servers", "20"), "error: --servers: found 20 in scale-up domains"),
        ((*CLUSTER[1:], "--topology", "ring"), 'error: --topology: found "ring"; allowed: rail-optimised'),
        ((*CLUSTER[1:], "--collective", "alltoal"), 'error: --collective: found "alltoal"; allowed: '),
        ((*CLUSTER[1:], "--sizes", "1X"), "error: --sizes: found "),
        (
            (*CLUSTER[1:], "--collective", "all-gather", "--sizes", "8"),
            "error: --sizes: found at most 8 bytes",
        ),
        ((*CLUSTER[1:], "--switch", "none.json"), 'error: --switch: found no file "none.json"'),
        ((*CLUSTER[1:], "--nccl", "1.0"), 'error: --nccl: found "1.0"; allowed: 2.18 to 2.31'),
        ((*CLUSTER[1:], "-x", "NCCL_ALGO"), "error: -x NCCL_ALGO: found no value"),
        ((*CLUSTER[1:], "--check"), "error: --check: found it with --cluster"),
    ],
)
def test_wrong_arguments_are_errors(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(["expect", *arguments]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_the_page_has_curve_table_and_limits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "curve.html"
    options = ("--collective", "all-gather", "--sizes", "1KB,1GB", "-o", str(page))
    (small, large) = rows(capsys, *options)
    text = page.read_text()
    figure = json.loads(
        text.split('class="figure" data-target="plot-curve-all-gather">')[1].split("</script>")[0]
    )
    (curve,) = (trace for trace in figure["data"] if trace.get("name") == "expected, all-gather, 16 ranks")
    assert curve["y"] == [small["busbw_gb_per_s_median"], large["busbw_gb_per_s_median"]]
    names = [trace.get("name") for trace in figure["data"]]
    assert {"accept from", "ideal", "bound: latency", "bound: adapter"} <= set(names)
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "Ring<br>LL<br>1",
        "Ring<br>Simple<br>16",
    ]
    assert "all_gather_perf -b 1G" in text


def test_a_page_is_html(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run([*CLUSTER, "-o", str(tmp_path / "curve.pdf")]) == 2
    assert "name it curve.html" in capsys.readouterr().err
