"""`run --jobs` in a real process: its display, Ctrl-C, and an end without notice."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.test_progress import _read_all
from tests.support.samples import PLAN, PROGRAM, call

SLOW = {**os.environ, "FAKE_SHARED": "1", "FAKE_PAUSE_S": "0.1", "FAKE_COPIES": "1000"}
"""Twelve batches of 1,000 rows for each of the trials: 1.2 s."""
COMMAND = [sys.executable, str(PROGRAM), "run", "small.yaml", "--jobs", "2", "-s", "iterations=2"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PLAN)
    return tmp_path


def start(folder: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, cwd=folder, env=SLOW, stdout=pipe, stderr=pipe, text=True)


def partial(folder: Path) -> list[Path]:
    return list((folder / "fabricbench-workspace").glob("trials/.*.partial/chunks.parquet"))


def wait_for(what: str, holds: object) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if holds():  # type: ignore[operator]
            return
        time.sleep(0.02)
    raise TimeoutError(f"{what} did not happen in 60 s")


def statuses(folder: Path) -> list[str]:
    listed = call("trials", "--format", "json", cwd=folder)
    return [trial["status"] for trial in json.loads(listed.stdout)["trials"]]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_both_trials_and_resume_runs_them(
    folder: Path, number: signal.Signals, status: int
) -> None:
    with start(folder) as process:
        wait_for("two trials", lambda: len(partial(folder)) == 2)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == status
    assert "interrupted: 0 of 4 trials finished" in errors
    assert statuses(folder) == ["interrupted"] * 2
    assert not list((folder / "fabricbench-workspace/trials").iterdir())
    assert call("run", "small.yaml", "-s", "iterations=2", "--resume", cwd=folder).returncode == 0
    assert statuses(folder) == ["complete"] * 4


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_processes_of_trials_end_with_that_of_their_run(folder: Path) -> None:
    with start(folder) as process:
        wait_for("two trials", lambda: len(partial(folder)) == 2)
        workers = children(process.pid)
        process.kill()
        process.communicate(timeout=120)
    assert len(workers) == 2
    wait_for("their end", lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert statuses(folder) == ["interrupted"] * 2
    assert not list((folder / "fabricbench-workspace/trials").iterdir())


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGKILL, 2), (signal.SIGSEGV, 1)])
def test_a_process_that_is_gone_is_told_and_the_other_trial_kept(
    folder: Path, sent: signal.Signals, status: int
) -> None:
    with start(folder) as process:
        wait_for("two trials", lambda: len(partial(folder)) == 2)
        os.kill(children(process.pid)[0], sent)
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (status, "")
    assert "note: trial 1 of 4, 1 MB, has failed; those beside it run to their end" in errors
    assert f"the process of trial 1 of 4 (1 MB) was ended by {sent.name}\nhint: " in errors
    assert ("this is a bug in fabricbench" in errors) is (status == 1)
    assert statuses(folder) == ["failed", "complete"]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_sees_each_trial_on_a_line_of_its_own(folder: Path, columns: int) -> None:
    controller, terminal = pty.openpty()
    environment = {**SLOW, "TERM": "xterm", "COLUMNS": str(columns), "FAKE_PAUSE_S": "0.2"}
    with subprocess.Popen(
        [*COMMAND, "--format", "json"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    ) as process:
        os.close(terminal)
        seen = _read_all(controller)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert len(json.loads(output)["trials"]) == 4
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    lines = re.split(r"[\r\n]+", plain)
    for number in (1, 2, 3, 4):
        assert any(re.match(rf"trial {number} of 4, \d MB .* left\b", line) for line in lines)
    # Both are drawn at once, one below the other.
    assert re.search(r"trial 1 of 4[^\r\n]*[\r\n]+trial 2 of 4", plain)
    assert max(map(len, lines)) <= columns
