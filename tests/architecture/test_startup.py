"""Asking the command line for help must not pay for what only a run or a report needs."""

import json
import subprocess
import sys

import pytest

HEAVY = {"alembic", "fastapi", "numpy", "plotly", "polars", "pyarrow", "pydantic", "sqlalchemy", "uvicorn"}


def modules_after(statement: str) -> set[str]:
    """Name the top-level modules that a fresh interpreter holds after a statement."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return {name.partition(".")[0] for name in json.loads(finished.stdout)}


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    loaded = modules_after("import fabricbench.cli; fabricbench.cli.main")
    assert "fabricbench" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("module", ["pydantic", "sqlalchemy"])
def test_a_heavy_import_would_be_seen(module: str) -> None:
    assert module in modules_after(f"import {module}") & HEAVY
