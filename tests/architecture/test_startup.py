"""A command must not pay for what only others need: `--help` for a run, a small run for a report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    *("alembic", "cryptography", "fastapi", "grpc", "numpy", "plotly", "polars", "pyarrow", "pydantic"),
    *("sqlalchemy", "uvicorn"),
}
NOT_FOR_A_SMALL_RUN = {
    *("alembic", "fastapi", "fsspec", "jinja2", "nbformat", "numpy", "plotly", "polars", "rich", "uvicorn"),
    *("cryptography", "grpc", "psycopg", "pyarrow.acero", "pyarrow.dataset"),
    "sqlalchemy",
}


def modules_after(statement: str) -> set[str]:
    """Name the modules that a fresh interpreter holds after a statement."""
    script = f"{statement}\nimport json, sys\nprint()\nprint(json.dumps(sorted(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(finished.stdout.splitlines()[-1]))


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    loaded = modules_after("import fabricbench.cli; fabricbench.cli.main")
    assert "fabricbench" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("module", ["pydantic", "sqlalchemy"])
def test_a_heavy_import_would_be_seen(module: str) -> None:
    assert module in modules_after(f"import {module}") & HEAVY


def test_a_small_run_loads_only_what_it_uses(tmp_path: Path) -> None:
    arguments = ["run", "jct-alltoall", "-s", "sweep.data_size=[16MB]", "--workspace", str(tmp_path)]
    loaded = modules_after(f"from fabricbench.cli.main import run; assert run({arguments}) == 0")
    assert {"pyarrow.parquet", "fabricbench.store.sqlite"} <= loaded
    assert loaded & NOT_FOR_A_SMALL_RUN == set()
