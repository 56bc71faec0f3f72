"""Campaigns on Ray: every trial once, with the records of a single process, whatever dies in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fabricbench as fb
from fabricbench.store import Workspace

CAMPAIGN = """\
campaign: 1
name: small
plans:
  - {plan: jct-alltoall, seeds: 3, sweep: {data_size: [1MB, 2MB]}}
  - {plan: cc-alltoall-ecn, seeds: 2, sweep: {data_size: [1MB]}}
"""
LONG = """\
campaign: 1
name: long
plans:
  - {plan: lb-alltoall-ecmp, seeds: 6, sweep: {data_size: [64MB]}}
"""
pytestmark = pytest.mark.slow


MAIN = "from fabricbench.cli.main import main; main()"


def started(folder: Path, text: str, *more: str, script: str = MAIN) -> subprocess.Popen[bytes]:
    (folder / "campaign.yaml").write_text(text)
    command = [sys.executable, "-c", script, "campaign", "campaign.yaml", "--format", "json", *more]
    environment = {**os.environ, "FABRICBENCH_WORKSPACE": ""}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, start_new_session=True
    )


def carried_out(folder: Path, text: str = CAMPAIGN, *more: str, script: str = MAIN, status: int = 0) -> Any:
    with started(folder, text, *more, script=script) as driver:
        out, error = driver.communicate(timeout=120)
    assert driver.returncode == status, error.decode()
    return json.loads(out) if out else error.decode()


def states(folder: Path) -> dict[str, str]:
    """The trials of a workspace by id, with the state of the last attempt at each."""
    root = folder / "fabricbench-workspace"
    return {trial.id: trial.status for trial in Workspace.open(root).trials()}


def workers_at(folder: Path) -> Iterator[int]:
    """Processes of Ray that carry out trials of a workspace of this folder."""
    for process in Path("/proc").iterdir():
        try:
            is_busy = (process / "cmdline").read_bytes().startswith(b"ray::carry_out")
            is_here = is_busy and any(
                str(folder) in str(file.readlink()) for file in (process / "fd").iterdir()
            )
        except OSError:
            continue
        if is_here:
            yield int(process.name)


def waited_for(found: Any, seconds: float = 60) -> Any:
    until = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.02)
    return value


def test_records_are_those_of_a_single_process_byte_for_byte_and_are_kept(tmp_path: Path) -> None:
    told = carried_out(tmp_path)
    assert (told["trials"], told["finished"], told["kept"], told["failed"]) == (8, 8, 0, [])
    alone = tmp_path / "alone"
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"], iterations=3), workspace=alone)
    fb.run(fb.load("cc-alltoall-ecn").with_(data_size="1MB", iterations=2), workspace=alone)
    spread = tmp_path / "fabricbench-workspace"
    files = [path.relative_to(alone / "trials") for path in (alone / "trials").rglob("*.parquet")]
    assert len({path.parent for path in files}) == 8
    for path in files:
        assert (spread / "trials" / path).read_bytes() == (alone / "trials" / path).read_bytes(), path
    again = carried_out(tmp_path)
    assert (again["finished"], again["kept"]) == (0, 8)


def test_a_worker_that_is_killed_costs_no_trial(tmp_path: Path) -> None:
    with started(tmp_path, LONG) as driver:
        os.kill(waited_for(lambda: next(workers_at(tmp_path), None)), signal.SIGKILL)
        out, error = driver.communicate(timeout=120)
    assert driver.returncode == 0, error.decode()
    told = json.loads(out)
    assert (told["finished"], told["failed"]) == (6, [])
    assert list(states(tmp_path).values()) == ["complete"] * 6
    assert {path.name for path in (tmp_path / "fabricbench-workspace/trials").iterdir()} == set(
        states(tmp_path)
    )


def test_a_campaign_whose_driver_is_killed_goes_on_where_it_ended(tmp_path: Path) -> None:
    with started(tmp_path, LONG) as driver:
        catalog = tmp_path / "fabricbench-workspace" / "catalog.sqlite"
        waited_for(lambda: catalog.exists() and "complete" in states(tmp_path).values())
        os.kill(driver.pid, signal.SIGKILL)
        driver.communicate()
    waited_for(lambda: not list(workers_at(tmp_path)))
    told = carried_out(tmp_path, LONG)
    assert told["kept"] >= 1
    assert told["kept"] + told["finished"] == 6
    assert list(states(tmp_path).values()).count("complete") == 6


def test_ctrl_c_keeps_what_has_ended_and_says_so(tmp_path: Path) -> None:
    with started(tmp_path, LONG) as driver:
        waited_for(lambda: next(workers_at(tmp_path), None))
        os.kill(driver.pid, signal.SIGINT)
        _, error = driver.communicate(timeout=60)
    assert driver.returncode == 130, error.decode()
    assert b"Traceback" not in error
    assert "running" not in states(tmp_path).values()
    waited_for(lambda: not list(workers_at(tmp_path)))


LARGE = """
from fabricbench.runner.campaign import drive
fitting = drive._Driver._fitting

def larger(self, batch, most_bytes):
    for unit in batch:
        if unit.facts.data_size_bytes == 2 << 20:
            unit.memory_bytes = 10**15
    return fitting(self, batch, most_bytes)

drive._Driver._fitting = larger
"""


def test_a_trial_that_fails_stops_no_other(tmp_path: Path) -> None:
    told = carried_out(tmp_path, script=LARGE + MAIN, status=2)
    assert (told["finished"], len(told["failed"])) == (5, 3)
    assert all("no node has more than" in each["why"] for each in told["failed"])


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    error = carried_out(tmp_path, CAMPAIGN, "--on", "ray://127.0.0.1:9", status=2)
    assert "ray://127.0.0.1:9" in error
    assert "hint:" in error
    assert "Traceback" not in error
