"""Runs of a server that are carried out by Ray: the same events and records, whatever becomes of a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.live import ENDLESS, SLOW, SMALL, Live, events, live
from tests.support.ray_workers import workers_at
from tests.support.searches import SMALL as SEARCHED

import fabricbench as fb
from fabricbench.store import Workspace

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("cluster") / "workspace", "--on", "local", "--workers", "2") as running:
        yield running


def busy_worker(server: Live) -> int:
    until = time.monotonic() + 60
    while (found := next(workers_at(server.root), None)) is None:
        assert time.monotonic() < until, "no trial is carried out"
        time.sleep(0.02)
    return found


def test_records_are_those_of_a_single_process_byte_for_byte(server: Live, tmp_path: Path) -> None:
    run_id = server.submit(tags=["mine"], threads=2)
    seen = events(server, run_id)
    assert server.run(run_id)["state"] == "complete", server.run(run_id)
    kinds = [kind for _, kind, _ in seen]
    assert (kinds.count("trial_started"), kinds.count("trial")) == (2, 2)
    alone = tmp_path / "alone"
    (tmp_path / "small.yaml").write_text(SMALL)
    fb.run(fb.load(tmp_path / "small.yaml"), workspace=alone)
    for record in (alone / "trials").iterdir():
        for file in record.iterdir():
            assert (server.root / "trials" / record.name / file.name).read_bytes() == file.read_bytes(), file
    assert len(Workspace.open(server.root).trials(tag="mine")) == 2


def test_a_worker_that_is_killed_costs_no_trial(server: Live) -> None:
    run_id = server.submit(SLOW.replace("512MB", "1GB"))
    os.kill(busy_worker(server), signal.SIGKILL)
    assert server.until_state(run_id, "complete")["trials_finished"] == 2


@pytest.mark.soak
def test_a_search_tries_and_finds_what_a_single_process_does(server: Live, tmp_path: Path) -> None:
    run_id = server.submit(SEARCHED)
    seen = events(server, run_id)
    run = server.run(run_id)
    assert (run["state"], run["message"]) == ("complete", "")
    (tmp_path / "burst.yaml").write_text(SEARCHED)
    alone = fb.run(tmp_path / "burst.yaml", workspace=tmp_path / "alone")
    assert [trial["id"] for trial in run["trials"]] == [trial.id for trial in alone]
    assert run["trials_total"] == run["trials_finished"] == len(alone)
    cases = [(case["holds"], case["fails"], case["tried"]) for case in run["search"]]
    assert cases == alone.found.select("holds", "fails", "tried").rows()
    numbers = [content["number"] for _, kind, content in seen if kind == "trial"]
    assert sorted(numbers) == list(range(1, len(alone) + 1))


def test_progress_is_seen_and_a_cancelled_run_goes_on_where_it_ended(server: Live) -> None:
    run_id = server.submit(ENDLESS)

    def is_far(run: dict[str, Any]) -> bool:
        told = run["progress"]
        return bool(run["trials_finished"] == 1 and told and told["sim_ps"] and told["trial_share"])

    assert server.until(run_id, is_far)["state"] == "running"
    server.client.post(f"/api/v1/runs/{run_id}/cancel")
    ended = server.until_state(run_id, "cancelled")
    assert ended["message"] == "cancelled; 1 of 2 trials finished"
    assert next(workers_at(server.root), None) is None
    kinds = [kind for _, kind, _ in events(server, run_id)]
    assert {"trial_started", "progress", "samples", "trial"} <= set(kinds)


@pytest.mark.soak
def test_a_trial_that_fails_stops_no_other(server: Live) -> None:
    # The large one has more data than a queue pair can send.
    run_id = server.submit(SMALL.replace("2MB", "2MB, 900TB"), force=True)
    ended = server.until_state(run_id, "failed")
    assert ended["message"].startswith("1 of 3 trials failed: ")
    assert "jobs[0].work.pattern.data_bytes" in ended["message"]
    assert ended["trials_finished"] == 2


@pytest.mark.soak
def test_runs_at_once_share_the_cluster(server: Live) -> None:
    runs = [server.submit(SLOW.replace("name: slow", f"name: slow{number}")) for number in range(2)]
    assert [server.until_state(run_id, "complete")["trials_finished"] for run_id in runs] == [2, 2]


@pytest.mark.soak
def test_a_cluster_that_goes_fails_the_run(server: Live) -> None:
    run_id = server.submit(ENDLESS)
    busy_worker(server)
    os.kill(head_of(server), signal.SIGKILL)
    # Ray takes some 15 s of an idle machine to say that a head does not answer.
    ended = server.until_state(run_id, "failed", seconds=240)
    assert "Ray cluster" in ended["message"]
    assert "is gone" in ended["message"]
    assert ended["trials_finished"] < 2
    # The next one is refused at once.
    again = server.until_state(server.submit(), "failed")
    assert "no Ray cluster at" in again["message"]


def head_of(server: Live) -> int:
    """Return the head of the cluster that a server keeps."""
    left = [server.process.pid]
    while left:
        process = left.pop()
        if b"gcs_server" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]:
            return process
        for task in Path(f"/proc/{process}/task").iterdir():
            left += map(int, (task / "children").read_text().split())
    raise AssertionError("the server keeps no cluster")


@pytest.mark.parametrize("on", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_a_cluster_that_is_not_there_is_told_within_seconds(tmp_path: Path, on: str) -> None:
    command = [sys.executable, "-m", "fabricbench", "serve", "--port", "0", "--workspace", str(tmp_path)]
    told = subprocess.run(
        [*command, "--on", on], capture_output=True, text=True, timeout=60, check=False, env=os.environ
    )
    assert told.returncode == 2
    assert told.stderr.startswith("error: ")
    assert on in told.stderr
    assert "hint: " in told.stderr
