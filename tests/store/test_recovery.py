"""What a killed process leaves is put right at the next start; what a live one does is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.store import Workspace
from fabricbench.store.catalog.process_identity import ProcessIdentity
from fabricbench.store.catalog.sql import all_of
from fabricbench.store.inspection import damages
from fabricbench.store.record.replacement import RecordSwap

FIRST, SECOND = "aaaa00000001", "bbbb00000002"

KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from fabricbench.store import Workspace
from fabricbench.store.record.replacement import RecordSwap

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

where, trial, copies = sys.argv[3], sys.argv[4], int(sys.argv[5])
backend = FakeBackend(copies=copies)
if where == "running":
    backend.on_first_batch = die
elif where == "half swapped":
    rename = Path.rename
    Path.rename = lambda path, target: die() if path.suffix == ".partial" else rename(path, target)
elif where == "swapped":
    apply = RecordSwap.apply
    RecordSwap.apply = lambda swap: (apply(swap), die())
elif where == "committed":
    RecordSwap.discard = die
run_trial(Workspace.open(Path(sys.argv[2]), create=True), trial_facts(trial), backend)
"""


WAITING = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts
from fabricbench.store import Workspace
backend = FakeBackend(on_first_batch=lambda: (print("started", flush=True), sys.stdin.readline()))
run_trial(Workspace.open(Path(sys.argv[2]), create=True), trial_facts(sys.argv[3]), backend)
"""


def killed(root: Path, where: str, trial: str, copies: int = 3) -> int:
    """Run a trial in a process that kills itself somewhere; return its number."""
    root_folder = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, root_folder, str(root), where, trial, str(copies)]
    )
    assert process.wait(120) == -signal.SIGKILL
    return process.pid


def names(workspace: Workspace) -> list[str]:
    return sorted(path.name for path in workspace.records.iterdir())


def test_the_unfinished_trial_is_marked_and_the_finished_one_stays(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(FIRST), FakeBackend())
    pid = killed(tmp_path, "running", SECOND)
    assert any(path.suffix == ".partial" for path in (tmp_path / "trials").iterdir())
    workspace = Workspace.open(tmp_path)
    assert [trial.status for trial in workspace.trials()] == ["complete", "interrupted"]
    assert workspace.trials()[1].message.startswith(f"process {pid} on ")
    assert workspace.find("latest").tables.table("chunks").num_rows == 12
    assert names(workspace) == [FIRST]


@pytest.mark.parametrize("where", ["running", "half swapped", "swapped"])
def test_a_new_trial_that_was_never_committed_leaves_nothing(tmp_path: Path, where: str) -> None:
    killed(tmp_path, where, FIRST)
    workspace = Workspace.open(tmp_path)
    assert [trial.status for trial in workspace.trials()] == ["interrupted"]
    assert names(workspace) == []


@pytest.mark.parametrize("where", ["running", "half swapped", "swapped"])
def test_an_earlier_record_of_the_same_id_survives_wherever_its_successor_dies(
    tmp_path: Path, where: str
) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(FIRST), FakeBackend())
    killed(tmp_path, where, FIRST)
    workspace = Workspace.open(tmp_path)
    assert [trial.status for trial in workspace.trials()] == ["complete", "interrupted"]
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
    assert list(damages(workspace)) == []
    assert names(workspace) == [FIRST]


def test_a_replaced_record_that_was_not_removed_is_removed(tmp_path: Path) -> None:
    run_trial(Workspace.open(tmp_path, create=True), trial_facts(FIRST), FakeBackend())
    killed(tmp_path, "committed", FIRST)
    workspace = Workspace.open(tmp_path)
    assert [trial.status for trial in workspace.trials()] == ["complete"]
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 36
    assert names(workspace) == [FIRST]


def test_a_trial_that_another_live_process_runs_is_left_alone(tmp_path: Path) -> None:
    with running_elsewhere(tmp_path):
        workspace = Workspace.open(tmp_path)
        assert [trial.status for trial in workspace.trials()] == ["running"]
        assert [path.suffix for path in workspace.records.iterdir()] == [".partial"]
    assert [trial.status for trial in workspace.trials()] == ["complete"]


@contextmanager
def running_elsewhere(root: Path) -> Iterator[None]:
    """Run a trial in another process, which waits after its first batch until the block ends."""
    root_folder = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", WAITING, root_folder, str(root), FIRST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        yield
        process.communicate("go on\n", timeout=120)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        ({"pid": os.getpid()}, "interrupted"),  # the number is in use again, by a process that started later
        ({"host": "another-host"}, "running"),  # nobody can tell from here
    ],
)
def test_a_process_is_known_by_host_number_and_start(
    tmp_path: Path, process: dict[str, object], expected: str
) -> None:
    workspace = Workspace.open(tmp_path, create=True)
    workspace.begin(trial_facts(FIRST), {})
    with workspace.database.writing() as connection:
        connection.update("trials", {"process_start": "a-boot-long-ago:1", **process}, all_of())
    assert [trial.status for trial in Workspace.open(tmp_path).trials()] == [expected]


def test_this_process_is_alive_and_an_ended_one_is_not() -> None:
    assert ProcessIdentity.current().may_be_alive()
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    identity = ProcessIdentity(ProcessIdentity.current().host, process.pid, "")
    deadline = time.monotonic() + 120
    # Until it is waited for, the ended process still has its number.
    while identity.may_be_alive() and time.monotonic() < deadline:
        process.poll()
        time.sleep(0.01)
    assert not identity.may_be_alive()


def test_undoing_a_swap_leaves_a_record_that_came_later(tmp_path: Path) -> None:
    for name, text in ((".a.1.partial", "mine"), ("a", "old"), ("theirs", "theirs")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(text)
    swap = RecordSwap(tmp_path / ".a.1.partial", tmp_path / "a")
    swap.apply()
    (tmp_path / "a").rename(tmp_path / "moved away")
    (tmp_path / "theirs").rename(tmp_path / "a")
    swap.undo()
    assert (tmp_path / "a/file").read_text() == "theirs"
