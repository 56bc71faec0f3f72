"""`run --lab`: a fabric, agents, a run and its prediction in one command, with nothing left of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import refusal

from fabricbench.lab.kernel import namespaces
from fabricbench.store import Workspace

pytestmark = pytest.mark.skipif(bool(refusal()), reason=refusal() or "labs can be made")

_LAB = ("--lab", "--twin", "--format", "json")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short path: that of a Unix socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="fb-") as folder:
        yield Path(folder)


def start(folder: Path, *options: str, plan: str = "jct-alltoall") -> subprocess.Popen[str]:
    """Start a run in a lab, whose state and records are in a folder."""
    own = ("run", plan, *_LAB, "--workspace", str(folder / "workspace"))
    command = [sys.executable, "-m", "fabricbench", *own, *options]
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
    # Seven eighths of 1 MB from each of eight hosts, with headers and acknowledgements: up to one of 66 bytes
    # for each segment of 1,448, 9 % together, and a little sent again on a busy machine. A link is never
    # busier than the time that the run took.
    assert len(sent) == 8
    assert all(875_000 < each < 1.15 * 875_000 for each in sent.values())
    assert trial.summary is not None
    assert 0 < max(row["busy_ps"] for row in links) < trial.summary["end_ps"]
    assert [row["dropped_frames"] for row in trial.tables.table("ports").to_pylist()] == [0] * 32


@pytest.mark.soak
def test_two_jobs_share_the_hosts_of_a_lab(tmp_path: Path) -> None:
    """A ring and an all-to-all among the same ranks, each next to its own prediction."""
    pairs = {"name": "pairs", "ranks": "all", "collective": "all-to-all"}
    ring = {"name": "ring", "ranks": "all", "collective": "all-reduce", "algorithm": "ring"}
    jobs = json.dumps([ring, pairs])
    process = start(tmp_path, "-s", f"jobs={jobs}", "-s", "sweep.data_size=[1MB]")
    output, messages = process.communicate(timeout=180)
    assert process.returncode == 0, messages
    rows = json.loads(output)["twins"]
    assert [row["job"] for row in rows] == ["ring", "pairs"]
    for row in rows:
        assert row["measured"]["status"] == row["predicted"]["status"] == "complete"
        measured, predicted = (row[side]["completion_time_ms"] for side in ("measured", "predicted"))
        # Alone, the ring would take about two thirds of the time. The machine may be busy with other tests.
        assert 0.8 * predicted < measured < 2.5 * predicted
    assert not left()


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


def test_variants_run_in_turn(tmp_path: Path) -> None:
    options = [f"--variant={name}" for name in ("infiniband", "ethernet", "ethernet-inter-leaf")]
    process = start(tmp_path, "--quick", *options, plan="ethernet-vs-infiniband-p2p")
    output, messages = process.communicate(timeout=180)
    assert process.returncode == 0, messages
    rows = json.loads(output)["twins"]
    assert [row["variant"] for row in rows] == ["ethernet", "ethernet-inter-leaf"]
    assert {row["measured"]["status"] for row in rows} == {"complete"}
    assert all(row["predicted"] is not None for row in rows)
    assert "not run in a lab: infiniband: InfiniBand: the kernel has neither" in messages
    assert "left out in the lab and its prediction: 2 of 3 trials: fabric.switch.pfc: no pauses" in messages
    assert "lab 2 of 2: ethernet-inter-leaf" in messages
    assert not namespaces.existing("fb-ethernet-vs-infiniband-")
    trials = list(Workspace.open(tmp_path / "workspace").trials())
    assert len({trial.facts.suite for trial in trials if not trial.is_predicted}) == 1, "one run"
    for trial in trials:
        notes = (trial.summary or {})["notes"]
        assert any(note.startswith("left out, as labs lack it: fabric.switch.pfc") for note in notes)


def test_queue_pairs_take_the_uplinks_of_the_prediction(tmp_path: Path) -> None:
    process = start(tmp_path, "-s", "sweep.data_size=[4MB]", "-s", "criteria=[]", plan="lb-alltoall-ecmp")
    _, messages = process.communicate(timeout=180)
    assert process.returncode == 0, messages
    trials = list(Workspace.open(tmp_path / "workspace").trials())
    sent = [
        {
            (row["from"], row["to"]): row["bytes"]
            for row in trial.tables.table("links").to_pylist()
            if row["from"].startswith("leaf") and row["to"].startswith("spine")
        }
        for trial in sorted(trials, key=lambda trial: trial.is_predicted)
    ]
    measured, predicted = sent
    # 3 to 5 queue pairs of 512 KB on each of eight uplinks, besides acknowledgements, and what is sent again.
    assert len(measured) == 8
    assert all(0.9 < measured[link] / predicted[link] < 1.2 for link in predicted), (measured, predicted)


def test_a_plan_that_no_lab_can_run_ends_with_the_reason(tmp_path: Path) -> None:
    process = start(tmp_path, "--quick", plan="dfs-random-write")
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no lab can run dfs-random-write: storage: endpoints run collectives only" in messages
    assert not namespaces.existing("fb-dfs-random-write-")
