"""One seed, one result: in every process, on every path and number of threads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import PROGRAM, run_plan, tables_of

from fabricbench.store.record.schema import TABLES

PLAN = ("jct-alltoall", "sweep.data_size=[4MB,8MB]")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("first")
    run_plan(root, *PLAN)
    tables = tables_of(root)
    assert len(tables) == 2 * len(TABLES)
    return tables


@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"path": "exact"}])
def test_the_same_seed_gives_the_same_bytes(
    tmp_path: Path, first: dict[str, bytes], options: dict[str, Any]
) -> None:
    run_plan(tmp_path, *PLAN, **options)
    assert tables_of(tmp_path) == first


def test_another_process_gives_the_same_bytes(tmp_path: Path, first: dict[str, bytes]) -> None:
    command = [
        str(PROGRAM),
        "run",
        PLAN[0],
        "-s",
        PLAN[1],
        "--workspace",
        str(tmp_path),
    ]
    subprocess.run(
        command, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "3", "TZ": "Asia/Tokyo"}
    )
    assert tables_of(tmp_path) == first


def test_another_seed_takes_other_paths_under_ecmp(tmp_path: Path) -> None:
    links = []
    for seed in (1, 2):
        trial = run_plan(tmp_path, "jct-alltoall", "sweep.data_size=4MB", f"seed={seed}")[0]
        links.append(trial.tables.table("links", ["from", "from_port", "to", "bytes"]).to_pylist())
    assert links[0] != links[1]
