"""`run --lab`: a fabric, agents, a run and its prediction in one command, with nothing left of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import refusal

from fabricbench.lab import namespaces
from fabricbench.store import Workspace

pytestmark = pytest.mark.skipif(bool(refusal()), reason=refusal() or "labs can be made")

_LAB = ("run", "jct-alltoall", "--lab", "--twin", "--format", "json")


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start a run in a lab, whose state and records are in a folder."""
    command = [sys.executable, "-m", "fabricbench", *_LAB, "--workspace", str(folder / "workspace"), *options]
    environment = {**os.environ, "FABRICBENCH_RUN_DIR": str(folder)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def left() -> list[str]:
    """Return the namespaces of labs of the plan."""
    return namespaces.existing("fb-jct-alltoall-")


def await_that(holds: Callable[[], Any]) -> None:
    """Wait until something holds, for a minute at the most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("driver", ["roce", "tcp"])
def test_a_plan_runs_in_a_lab_beside_its_prediction(tmp_path: Path, driver: str) -> None:
    process = start(tmp_path, "-s", "sweep.data_size=[1MB]", "--driver", driver)
    output, messages = process.communicate(timeout=120)
    assert process.returncode == 0, messages
    (row,) = json.loads(output)["twins"]
    assert row["measured"]["status"] == row["predicted"]["status"] == "complete"
    # Links of 400 Mb/s carry 7/8 of 1 MB to each host, at the best.
    assert row["measured"]["completion_time_ms"] > 0.875 * 8e6 / 400e6 * 1e3
    assert f"driver {driver}: " in messages
    assert not left()
    (trial,) = (each for each in Workspace.open(tmp_path / "workspace").trials() if not each.is_predicted)
    links = trial.tables.table("links").to_pylist()
    sent = {row["from"]: row["bytes"] for row in links if row["from"].startswith("host")}
    # Seven eighths of 1 MB with headers and acknowledgements, of each of eight hosts; a link is never busier
    # than the time that the run took.
    assert len(sent) == 8
    assert all(875_000 < each < 1.1 * 875_000 for each in sent.values())
    assert trial.summary is not None
    assert 0 < max(row["busy_ps"] for row in links) < trial.summary["end_ps"]
    assert [row["dropped_frames"] for row in trial.tables.table("ports").to_pylist()] == [0] * 32


def test_a_run_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    process = start(tmp_path, "-s", "sweep.data_size=[1GB]")
    try:
        await_that(lambda: left() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGINT, messages
    assert not left()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hosts", "hosts.yaml"], "--hosts hosts.yaml beside --lab"),
        (["--driver", "pigeon"], "found --driver pigeon; allowed: roce, tcp"),
    ],
)
def test_what_a_lab_cannot_have_is_refused(tmp_path: Path, options: list[str], said: str) -> None:
    process = start(tmp_path, *options)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said in " ".join(messages.replace("│", " ").split())
