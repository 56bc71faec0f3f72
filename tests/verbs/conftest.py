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


@pytest.fixture(scope="module")
def process(library: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a program with that adapter, which has read its modules once and forks for each question."""
    paths = f"{REPOSITORY / 'python'}:{REPOSITORY}"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.verbs.one_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "LD_LIBRARY_PATH": str(library)},
    ) as running:
        yield running


@pytest.fixture
def ask(process: subprocess.Popen[str]) -> Ask:
    """Give what asks a process with that adapter, in an environment."""

    def asked(*what: Any, **environment: str) -> dict[str, Any]:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{json.dumps([environment, *what])}\n")
        process.stdin.flush()
        result: dict[str, Any] = json.loads(process.stdout.readline())
        return result

    return asked
