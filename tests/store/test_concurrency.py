"""Several runs at once in one workspace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fabricbench.store import Workspace

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from fabricbench.store import Workspace
for number in map(int, sys.argv[3:]):
    workspace = Workspace.open(Path(sys.argv[2]), create=True)
    run_trial(workspace, trial_facts(f"{number:012x}"), FakeBackend())
"""


def run_at_once(root: Path, *batches: list[int]) -> None:
    root_folder = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", RUN, root_folder, str(root)]
    processes = [
        subprocess.Popen([*command, *map(str, batch)], stderr=subprocess.PIPE, text=True) for batch in batches
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors


def test_runs_at_once_make_one_new_workspace_and_keep_all_their_trials(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    run_at_once(root, list(range(10)), list(range(10, 20)), list(range(20, 30)))
    workspace = Workspace.open(root)
    found = workspace.trials()
    assert sorted(int(trial.id, 16) for trial in found) == list(range(30))
    assert {trial.status for trial in found} == {"complete"}
    assert all(trial.tables.table("chunks").num_rows == 12 for trial in found)


def test_runs_at_once_of_the_same_trials_leave_one_record_of_each(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    run_at_once(root, list(range(8)), list(range(8)))
    workspace = Workspace.open(root)
    assert sorted(int(trial.id, 16) for trial in workspace.trials()) == list(range(8))
    assert sorted(path.name for path in workspace.records.iterdir()) == [
        f"{number:012x}" for number in range(8)
    ]
    assert all(workspace.find(f"{number:012x}").tables.table("trials").num_rows == 1 for number in range(8))
