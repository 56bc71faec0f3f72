"""`plans`, `plan check`, `plan schema`: data on standard output, mistakes on standard error with status 2."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.plan.examples import with_line, write_plan

from fabricbench.cli.main import run
from fabricbench.plan.document.shipped import shipped_plans, shipped_titles

Capture = pytest.CaptureFixture[str]
ESTIMATE = (
    r"estimate: [0-9,]+ packet-hops, up to [0-9.]+ s on one core, the longest trial [0-9.]+ s; "
    r"about [0-9.]+ MB of memory\n"
)


def output_of(capsys: Capture, *arguments: str) -> str:
    """Run a command that succeeds and return what it writes."""
    assert run(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def errors_of(capsys: Capture, *arguments: str) -> str:
    """Run a command that the user must mend and return what it says."""
    assert run(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_the_shipped_plans_are_listed(capsys: Capture) -> None:
    lines = output_of(capsys, "plans").splitlines()
    assert [line.split()[0] for line in lines] == list(shipped_plans())
    titles = dict(line.split(maxsplit=1) for line in lines)
    assert titles["jct-alltoall"] == "All-to-all completion time, 8 ranks, no congestion"


def test_the_list_is_also_data(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: path for name, path in shipped_plans().items() if name.startswith(("jct-", "imb-"))}
    monkeypatch.setattr("fabricbench.cli.plan.plan_rows.shipped_plans", lambda: few)
    plans = json.loads(output_of(capsys, "plans", "--format", "json"))["plans"]
    (plan,) = [plan for plan in plans if plan["name"] == "jct-alltoall"]
    assert plan | {"file": ""} == {
        "name": "jct-alltoall",
        "title": "All-to-all completion time, 8 ranks, no congestion",
        "file": "",
        "trials": 10,
        "ranks": 8,
        "hosts": 8,
        "data_size_min_bytes": 16 * 2**20,
        "variants": [],
        "data_size_max_bytes": 8 * 2**30,
        "published": "keysight_jct2_alltoall.csv",
    }
    assert {name: shipped_titles()[name] for name in few} == {plan["name"]: plan["title"] for plan in plans}
    rows = list(csv.DictReader(output_of(capsys, "plans", "--format", "csv").splitlines()))
    assert rows == [
        {
            key: " ".join(value) if isinstance(value, list) else "" if value is None else str(value)
            for key, value in plan.items()
        }
        for plan in plans
    ]


def test_a_plan_that_can_be_run_is_ok(capsys: Capture, tmp_path: Path) -> None:
    name = write_plan(tmp_path)
    expected = f"ok: {name}: 2 trials, 8 ranks on 8 hosts, data size 16 MB to 32 MB\n"
    ok, estimate = output_of(capsys, "plan", "check", name).splitlines(keepends=True)
    assert ok == expected
    assert re.fullmatch(ESTIMATE, estimate)
    changed = ("-s", "sweep.data_size=1GB", "--set", "jobs.0.ranks=0-3")
    expected = f"ok: {name}: 1 trial, 4 ranks on 8 hosts, data size 1 GB\n"
    assert output_of(capsys, "plan", "check", name, *changed).startswith(expected)


def test_a_plan_that_cannot_be_run_is_refused(capsys: Capture, tmp_path: Path) -> None:
    name = write_plan(tmp_path, with_line("mtu: 4096", "mtu: 4000"))
    expected = f"error: {name}:10: transport.mtu: found 4000; allowed: 256, 512, 1024, 2048 or 4096\n"
    assert errors_of(capsys, "plan", "check", name) == expected


def test_a_plan_that_is_not_there_is_refused(capsys: Capture) -> None:
    assert errors_of(capsys, "plan", "check", "absent").startswith("error: absent: found no such plan")


def test_the_schema_is_json(capsys: Capture) -> None:
    assert json.loads(output_of(capsys, "plan", "schema"))["title"] == "fabricbench test plan"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("fabricbench.cli.plan.plans", {"pydantic", "numpy", "polars", "pyarrow", "plotly", "rich"}),
        ("fabricbench.plan.load", {"numpy", "polars", "pyarrow", "sqlalchemy", "plotly", "rich"}),
        ("fabricbench.units", {"pydantic", "ruamel"}),
    ],
)
def test_imports_stay_light(module: str, absent: set[str]) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert {name.partition(".")[0] for name in loaded.split()} & absent == set()
    assert module in loaded.split()
