"""`plans`, `plan check` and `plan schema`: data on standard output, mistakes on standard error with exit status 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from fabricbench.cli.plans import plan_check_command, plan_schema_command, plans_command
from tests.plan.examples import with_line, write_plan

app = typer.Typer()
app.command("plans")(plans_command)
app.command("check")(plan_check_command)
app.command("schema")(plan_schema_command)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_the_shipped_plans_are_listed() -> None:
    lines = run("plans").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        "jct-allreduce-200gb",
        "jct-allreduce-ring",
        "jct-alltoall",
    ]
    assert lines[2] == "jct-alltoall         All-to-all completion time, 8 ranks, 16 MB to 8 GB"


def test_the_list_is_also_data() -> None:
    plans = json.loads(run("plans", "--format", "json").stdout)["plans"]
    assert plans[2] | {"file": ""} == {
        "name": "jct-alltoall",
        "title": "All-to-all completion time, 8 ranks, 16 MB to 8 GB",
        "file": "",
        "trials": 10,
        "ranks": 8,
        "hosts": 8,
        "data_size_min_bytes": 16 * 2**20,
        "data_size_max_bytes": 8 * 2**30,
        "published": "keysight_jct2_alltoall.csv",
    }


def test_a_plan_that_can_be_run_is_ok(tmp_path: Path) -> None:
    name = write_plan(tmp_path)
    assert (
        run("check", name).stdout == f"ok: {name}: 2 trials, 8 ranks on 8 hosts, data size 16 MB to 32 MB\n"
    )
    one = run("check", name, "-s", "sweep.data_size=1GB", "--set", "jobs.0.ranks=0-3")
    assert one.stdout == f"ok: {name}: 1 trial, 4 ranks on 8 hosts, data size 1 GB\n"


def test_a_plan_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    name = write_plan(tmp_path, with_line("mtu: 4096", "mtu: 4000"))
    result = run("check", name)
    assert (result.exit_code, result.stdout) == (2, "")
    expected = f"error: {name}:10: transport.mtu: found 4000; allowed: 256, 512, 1024, 2048 or 4096\n"
    assert result.stderr == expected


def test_a_plan_that_is_not_there_is_refused() -> None:
    result = run("check", "absent")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: absent: found no such plan")


def test_the_schema_is_json() -> None:
    assert json.loads(run("schema").stdout)["title"] == "fabricbench test plan"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("fabricbench.cli.plans", {"pydantic", "ruamel", "numpy", "polars", "pyarrow", "sqlalchemy"}),
        ("fabricbench.plan.load", {"numpy", "polars", "pyarrow", "sqlalchemy", "plotly", "rich"}),
        ("fabricbench.units", {"pydantic", "ruamel"}),
    ],
)
def test_imports_stay_light(module: str, absent: set[str]) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert {name.partition(".")[0] for name in loaded.split()} & absent == set()
    assert module in loaded.split()
