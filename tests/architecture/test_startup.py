"""A command must not pay for what only others need: `--help` for a run, a small run for a report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    *("alembic", "asyncio", "cryptography", "fastapi", "grpc", "numpy", "plotly", "polars", "pyarrow"),
    *("pydantic", "ruamel", "sqlalchemy", "uvicorn"),
}
NOT_FOR_A_SMALL_RUN = {
    *("alembic", "fastapi", "fsspec", "jinja2", "nbformat", "numpy", "plotly", "polars", "rich", "uvicorn"),
    *("asyncio", "cryptography", "grpc", "psycopg", "sqlalchemy"),
    *("pyarrow.acero", "pyarrow.compute", "pyarrow.dataset"),
}
READERS_OF_PLANS = {"pydantic", "ruamel"}
"""Loaded by the modules of commands that read plans, so also by `run --help` and `show`."""
FOR_WHAT_A_SMALL_RUN_HAS_NOT = {
    *(
        "fabricbench.analysis.faults.deadlock",
        "fabricbench.analysis.faults.recovery",
        "fabricbench.analysis.faults.unreached_failures",
    ),
    *("fabricbench.report.documents.tcp", "fabricbench.results.studies.sweep"),
}
"""Failures, TCP traffic, and sweeps of two fields."""


def modules_after(statement: str) -> set[str]:
    """Name the modules that a fresh interpreter holds after a statement."""
    script = f"{statement}\nimport json, sys\nprint()\nprint(json.dumps(sorted(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(finished.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def brought() -> set[str]:
    """Name what pyarrow loads by itself where it is installed: numpy, which none of our code needs here."""
    return {"numpy"} & modules_after("import pyarrow")


def modules_of(*arguments: str) -> set[str]:
    """Name the modules that the program holds when it has done something."""
    return modules_after(f"""
import sys, fabricbench.cli
sys.argv[1:] = {list(arguments)}
try:
    fabricbench.cli.main()
except SystemExit as end:
    assert not end.code
""")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace with a small run."""
    return tmp_path_factory.mktemp("startup")


@pytest.fixture(scope="module")
def loaded_by_run(workspace: Path) -> set[str]:
    """Run something small; name what that has loaded."""
    return modules_of("run", "jct-alltoall", "-s", "sweep.data_size=[16MB]", "--workspace", str(workspace))


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help"), ("workspace", "--help")])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    loaded = modules_of(*arguments)
    assert "fabricbench" in loaded
    assert loaded & HEAVY == (READERS_OF_PLANS if "run" in arguments else set())
    assert "run" in arguments or "fabricbench.runner.trials" not in loaded


def test_a_command_loads_no_other() -> None:
    loaded = modules_of("plans", "--help")
    assert "fabricbench.cli.plan.plans" in loaded
    assert (
        loaded & {"fabricbench.cli.runs.run", "fabricbench.cli.testbed.lab", "fabricbench.cli.setup.serve"}
        == set()
    )


@pytest.mark.parametrize("module", ["pydantic", "pyarrow", "sqlalchemy"])
def test_a_heavy_import_would_be_seen(module: str) -> None:
    assert module in modules_after(f"import {module}") & HEAVY


@pytest.mark.usefixtures("loaded_by_run")
def test_a_list_of_trials_loads_nothing_heavy(workspace: Path) -> None:
    loaded = modules_of("trials", "--format", "table", "--workspace", str(workspace))
    assert "fabricbench.store.catalog.sqlite" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.usefixtures("loaded_by_run")
def test_showing_a_trial_loads_what_reads_its_tables(workspace: Path, brought: set[str]) -> None:
    loaded = modules_of("show", "latest", "--workspace", str(workspace)) - brought
    assert loaded & HEAVY == {"pyarrow"} | READERS_OF_PLANS
    assert loaded & NOT_FOR_A_SMALL_RUN == set()


def test_a_small_run_loads_only_what_it_uses(loaded_by_run: set[str], brought: set[str]) -> None:
    assert {"pyarrow.parquet", "fabricbench.store.catalog.sqlite"} <= loaded_by_run
    assert (loaded_by_run - brought) & NOT_FOR_A_SMALL_RUN == set()
    assert loaded_by_run & FOR_WHAT_A_SMALL_RUN_HAS_NOT == set()
