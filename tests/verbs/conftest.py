from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.verbs.machines import REPOSITORY, Machines

HEADER = Path("/usr/include/infiniband/verbs.h")
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Give the network; a test starts machines in it."""
    found = Machines(tmp_path_factory.mktemp("machines"))
    yield found
    found.end()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the adapter, and give the folder of its libibverbs."""
    if not HEADER.exists():
        pytest.skip(f"needs {HEADER} (package libibverbs-dev)")
    folder = tmp_path_factory.mktemp("library")
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    target = folder / "libibverbs.so.1"
    subprocess.run([*command, "-o", str(target), str(Path(__file__).with_name("adapter.c"))], check=True)
    return folder


@pytest.fixture
def ask(library: Path) -> Ask:
    """Give what asks a process with that adapter, in an environment."""

    def asked(*what: Any, **environment: str) -> dict[str, Any]:
        paths = f"{REPOSITORY / 'python'}:{REPOSITORY}"
        given = os.environ | {"PYTHONPATH": paths, "LD_LIBRARY_PATH": str(library)} | environment
        command = [sys.executable, "-m", "tests.verbs.one_process", json.dumps(what)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=given)
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    return asked
