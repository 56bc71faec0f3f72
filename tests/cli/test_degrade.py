"""`degrade`: table, formats, page, clusters, errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fabricbench.cli.main import run

PLAN = """
fabricbench: 1
name: pod
fabric:
  topology:
    {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 1, host_link: 100Gbps, fabric_link: 400Gbps}
  switch: {pfc: on, ecn: sonic}
transport: {rate_control: dcqcn, qp_mode: per-pair}
jobs:
  - {name: training, collective: all-reduce, algorithm: ring}
sweep: {data_size: [1MB, 8MB]}
"""


@pytest.fixture
def pod(tmp_path: Path) -> str:
    file = tmp_path / "pod.yaml"
    file.write_text(PLAN)
    return str(file)


def test_the_table_has_the_worst_first(capsys: pytest.CaptureFixture[str], pod: str) -> None:
    options = ("--collective", "all-reduce,all-to-all", "--state", "half-rate", "--state", "down")
    assert run(["degrade", pod, *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pod: change of the bandwidth by one degraded element"
    rows = [line.split() for line in lines[3 : lines.index("", 3)]]
    assert lines[2].split()[-3:] == ["all-reduce", "all-to-all", "run"]
    assert rows[0][-3:] == ["stops", "stops", "2"]
    adapter = next(row for row in rows if row[1] == "adapters" and "half" in row)
    assert adapter[:3] == ["8", "adapters", "host0-leaf0"]
    assert lines[-1] == "flow model: down, half rate"


def test_json_has_all_elements(capsys: pytest.CaptureFixture[str], pod: str) -> None:
    assert run(["degrade", pod, "--state", "half-rate", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {name: content[name] for name in ("plan", "data_size_bytes", "run_with_less_data")} == {
        "plan": "pod",
        "data_size_bytes": {"training": 8 << 20},
        "run_with_less_data": [],
    }
    first = next(row for row in content["degraded"] if row["kind"] == "adapter")
    assert (first["state"], len(first["elements"])) == ("half rate", 8)
    (job,) = first["jobs"]
    assert list(job) == [
        *("job", "change_worst", "change_least", "stops", "changes", "timeout_waits"),
        *("backend", "refused"),
    ]
    assert job["change_worst"] == pytest.approx(-0.5, abs=0.02)
    assert (job["stops"], job["backend"], job["refused"]) == (False, "flow", None)
    elements = [name for row in content["degraded"] for name in row["elements"]]
    assert sorted(elements) == sorted(
        [f"host{host}-leaf{host // 4}" for host in range(8)]
        + ["leaf0-spine0", "leaf1-spine0", "leaf0", "leaf1", "spine0"]
    )


def test_csv_has_a_row_for_each_group_and_state(capsys: pytest.CaptureFixture[str], pod: str) -> None:
    assert run(["degrade", pod, "--state", "down", "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["stops"] for row in rows if row["kind"] == "adapter"} == {"True"}
    assert sum(int(row["elements"]) for row in rows) == 13


def test_the_page_has_a_map_of_each_state(
    capsys: pytest.CaptureFixture[str], pod: str, tmp_path: Path
) -> None:
    page = tmp_path / "pod.html"
    options = ("--state", "half-rate", "--state", "down", "-o", str(page))
    assert run(["degrade", pod, *options]) == 0
    assert capsys.readouterr().err.endswith(f"wrote {page}\n")
    text = page.read_text()
    assert 'id="plot-map-half-rate"' in text
    assert 'id="plot-map-down"' in text
    assert "host3-leaf0" in text


def test_a_cluster_needs_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--cluster", "dgx-h100", "--servers", "2", "--collective", "all-gather", "--state", "down")
    assert run(["degrade", *options, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["plan"] == "dgx-h100-x2"
    adapters = next(row for row in content["degraded"] if row["kind"] == "adapter")
    assert len(adapters["elements"]) == 16
    assert adapters["jobs"][0]["stops"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: PLAN: found nothing; allowed: a plan, or --cluster SERVER --servers N"),
        (("{pod}", "--cluster", "dgx-h100"), "error: PLAN: found it with --cluster; allowed: either"),
        (("{pod}", "--servers", "4"), "error: --servers: found no --cluster"),
        (("--cluster", "dgx-h100"), "error: --servers: found nothing; allowed: a number of servers"),
        (("{pod}", "--state", "dwn"), 'error: --state: found "dwn"; allowed: half-rate, loss, down'),
        (("{pod}", "--collective", "alltoal"), "error: --collective alltoal"),
        (("{pod}", "-o", "/nowhere/page.html"), "error: cannot write /nowhere/page.html"),
        (
            ("{pod}", "-s", "fabric.failures=[{{at: 0s, kind: link-down, link: leaf0-spine0}}]"),
            "error: -s fabric.failures",
        ),
        (("{pod}", "-s", "jobs.0.repeat=3"), "error: -s jobs.0.repeat"),
    ],
)
def test_wrong_arguments_are_errors(
    capsys: pytest.CaptureFixture[str], pod: str, arguments: tuple[str, ...], message: str
) -> None:
    assert run(["degrade", *(argument.format(pod=pod) for argument in arguments)]) == 2
    assert capsys.readouterr().err.startswith(message)
