"""Every fault of a disk, a server or a process costs at most the trial that was running.

The n-th call by which the program writes, syncs, renames or talks to the server fails, or ends the process,
with half of it written. Afterwards each finished trial is there to the byte, every other one is marked, and
doing the same again completes it. Here a sample is tried; `tools/checks/faults.sh` tries every call.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import postgresql
from tests.support.soak import times

SUPPORT = Path(__file__).parents[1] / "support"
SAMPLE = int(os.environ.get("FABRICBENCH_FAULTS", times(3, 8)))
"""How many faults of each workload and database; 0 for all."""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler for Linux")
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    options = ("-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
    subprocess.run([compiler, *options, "-o", str(library), str(SUPPORT / "faults.c"), "-ldl"], check=True)
    return library


def sweep(faults: Path, workload: str, folder: Path, server: str = "") -> None:
    program = str(SUPPORT / "fault_sweep.py")
    command = [sys.executable, program, workload, str(folder), server, str(SAMPLE)]
    environment = {**os.environ, "LD_PRELOAD": str(faults), "TZ": "UTC"}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    sys.stdout.write(f"{workload}: {found['calls']} calls, {found['tried']} faults tried\n")
    assert found["failures"] == []
    assert found["tried"] >= min(SAMPLE, found["calls"])


@pytest.mark.parametrize("workload", ["run", "import", "migration"])
def test_no_fault_of_the_disk_costs_a_finished_trial(faults: Path, workload: str, tmp_path: Path) -> None:
    sweep(faults, workload, tmp_path)


@pytest.mark.parametrize("workload", ["run", "import", "migration"])
def test_no_fault_of_disk_or_server_costs_a_finished_trial_of_a_team(
    faults: Path, workload: str, tmp_path: Path, postgresql_server: postgresql.Server
) -> None:
    for name in ("before", "there"):
        postgresql_server.drop_database(name)
    sweep(faults, workload, tmp_path, str(postgresql_server.folder))
