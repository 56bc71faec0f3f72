"""A disk that fills during a run, as the user sees it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, call
from tests.support.small_disk import NoMountError, small_disk

COUNTERS = Path(__file__).parents[1] / "measured" / "switches" / "interfaces.txt"
SONIC = Path(__file__).parents[2] / "plans" / "sonic" / "broadcom-kind.json"


class SecondIsLarge(FakeBackend):
    """Writes little for the first trial and 2 MB for the second."""

    runs = 0

    def run(self, *arguments: Any, **options: Any) -> Any:
        self.runs += 1
        backend = (
            FakeBackend(copies=6000, batch_rows=8000, is_noisy=True) if self.runs == 2 else FakeBackend()
        )
        return backend.run(*arguments, **options)


def test_the_message_names_the_file_and_the_room_and_finished_trials_stay(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    try:
        with small_disk(tmp_path / "disk", 1 << 20):
            finished = call("run", "small.yaml", "--workspace", "disk", cwd=tmp_path, backend=SecondIsLarge())
            assert finished.returncode == 2
            assert "chunks.parquet: cannot write: No space left on device" in finished.stderr
            assert "bytes are free there\nhint: free some space" in finished.stderr
            listed = call("trials", "--workspace", "disk", "--format", "json", cwd=tmp_path)
            statuses = [trial["status"] for trial in json.loads(listed.stdout)["trials"]]
            assert statuses == ["complete", "failed"]
            assert call("show", "latest", "--workspace", "disk", cwd=tmp_path).returncode == 0
    except NoMountError as reason:
        pytest.skip(f"cannot mount a tmpfs here: {reason}; tests/store has a file size limit in its place")


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", str(SONIC)),
        ("convert", str(SONIC), "--format", "json"),
        ("plans",),
        ("convert", "--help"),
        ("counters", str(COUNTERS)),
    ],
    ids=" ".join,
)
def test_output_that_finds_no_room_is_one_error_of_the_user(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "fabricbench", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "error: what the command writes: No space left on device\nhint: write to where there is room\n"
    )


def test_errors_that_find_no_room_leave_the_status() -> None:
    command = [sys.executable, "-m", "fabricbench", "convert", "nothing.json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=full, check=False)
    assert done.returncode == 2


def test_a_closed_output_is_told() -> None:
    command = f"{shlex.quote(sys.executable)} -m fabricbench plans >&-"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("error: ")) == (2, 1)
    assert done.stderr.startswith("error: standard output is closed\nhint: ")
