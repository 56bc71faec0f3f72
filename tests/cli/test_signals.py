"""Ctrl-C, SIGTERM and SIGKILL in the middle of a real process, and two processes at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.samples import PLAN, PROGRAM, call

SLOW = {**os.environ, "FAKE_PAUSE_S": "0.1", "FAKE_COPIES": "1000"}
"""Twelve batches of 1,000 rows for each of the two trials: 2.4 s."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PLAN)
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), "run", "small.yaml", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=SLOW, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_trial(folder: Path, number: int) -> None:
    """Wait until as many trials have begun: the finished ones have a record, the last has a partial one."""
    records = folder / "fabricbench-workspace/trials"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        names = [path.name for path in records.iterdir()] if records.exists() else []
        if len(names) >= number and any(name.endswith(".partial") for name in names):
            return
        time.sleep(0.02)
    raise TimeoutError(f"trial {number} did not begin in 30 s")


def statuses(folder: Path) -> list[str]:
    listed = call("trials", "--format", "json", cwd=folder)
    assert listed.returncode == 0, listed.stderr
    return [trial["status"] for trial in json.loads(listed.stdout)["trials"]]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_finished_trials_and_resume_runs_the_rest(
    folder: Path, number: signal.Signals, status: int
) -> None:
    with start(folder) as process:
        wait_for_trial(folder, 2)
        process.send_signal(number)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == status
    assert "interrupted: 1 of 2 trials finished" in errors
    assert "--resume" in errors
    assert "1 MB" in output
    assert statuses(folder) == ["complete", "interrupted"]
    resumed = call("run", "small.yaml", "--resume", cwd=folder)
    assert resumed.returncode == 0
    assert statuses(folder) == ["complete", "complete"]


def test_a_signal_in_the_first_trial_leaves_nothing_but_a_note(folder: Path) -> None:
    with start(folder) as process:
        wait_for_trial(folder, 1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (130, "")
    assert "interrupted: 0 of 2 trials finished" in errors
    assert statuses(folder) == ["interrupted"]
    assert not list((folder / "fabricbench-workspace/trials").iterdir())


def test_a_killed_run_leaves_finished_trials_readable_and_marks_the_other(folder: Path) -> None:
    with start(folder) as process:
        wait_for_trial(folder, 2)
        process.kill()
        process.communicate(timeout=120)
    assert statuses(folder) == ["complete", "interrupted"]
    assert call("show", "latest", cwd=folder).returncode == 0
    assert [path.name[0] for path in (folder / "fabricbench-workspace/trials").iterdir()] != ["."]


def test_two_runs_at_once_in_one_workspace_both_finish(folder: Path) -> None:
    with start(folder, "--tag", "one") as one, start(folder, "--seed", "2") as two:
        for process in (one, two):
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
    assert statuses(folder) == ["complete"] * 4
