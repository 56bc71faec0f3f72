"""Whole runs with the real engine: while they run, when they fail, when they are stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import (
    LONG_RING,
    LOSSY_INCAST,
    NEIGHBOUR,
    PROGRAM,
    jobs_of,
    measured,
    run_apart,
    run_plan,
)

from fabricbench.runner.listener import Quiet
from fabricbench.store import Workspace

COMMAND = [str(PROGRAM)]


def test_rows_reach_the_disk_while_the_run_goes_on(tmp_path: Path) -> None:
    class Watch(Quiet):
        sizes: list[int] = []  # noqa: RUF012 -- one instance

        def trial_progressed(self, progress: Any, number: int) -> None:  # noqa: ARG002
            if progress["delivered_bytes"] < progress["total_bytes"]:
                self.sizes += [path.stat().st_size for path in tmp_path.glob("trials/.*/chunks.parquet")]

    plan = tmp_path / "ring.yaml"
    plan.write_text(LONG_RING)
    watch = Watch()
    trial = run_plan(tmp_path, plan, listener=watch)[0]
    assert trial.tables.table("chunks", ["status"]).num_rows == 2 * 299 * 300
    # Two of the three row groups are full before the end; at least one of them is seen on the disk.
    whole = trial.tables.path("chunks").stat().st_size
    assert whole / 4 < max(watch.sizes) < whole
    assert run_apart(tmp_path / "apart", plan)[0].engine["peak_rss_bytes"] < 1 << 30


def test_a_trial_whose_chunks_fail_is_incomplete_and_says_which(tmp_path: Path) -> None:
    plan = tmp_path / "incast.yaml"
    plan.write_text(LOSSY_INCAST)
    trial = run_plan(tmp_path / "workspace", plan)[0]
    job = jobs_of([trial])[0].summary
    assert (trial.status, job.status) == ("incomplete", "incomplete")
    assert (job.value("completion_time_ms"), job.value("busbw_gb_per_s"), job.value("fct_ms_p50")) == (
        None,
        None,
        None,
    )
    assert job.chunks_failed is not None
    assert job.chunks_failed > 0
    assert f"{job.chunks_failed} of 7 chunks" in job.reason
    assert measured(job, "frames_lost") > 0
    assert {"qp_failed"} <= set(trial.tables.table("events")["kind"].to_pylist())


def test_a_neighbour_goes_on_until_the_job_under_test_has_ended(tmp_path: Path) -> None:
    plan = tmp_path / "neighbour.yaml"
    plan.write_text(NEIGHBOUR)
    trial = run_plan(tmp_path / "workspace", plan)[0]
    test, neighbour = (job.summary for job in jobs_of([trial]))
    assert (trial.status, test.status, neighbour.status) == ("complete", "complete", "complete")
    assert test.rounds == 3
    assert neighbour.rounds is not None
    assert neighbour.chunks is not None
    assert neighbour.rounds > 3
    assert neighbour.chunks > neighbour.rounds * 12
    times = [measured(test, name) for name in ("round_ms_min", "completion_time_ms", "round_ms_max")]
    assert times == sorted(times)
    chunks = trial.tables.table("chunks", ["job", "round"]).to_pylist()
    assert {row["round"] for row in chunks if row["job"] == "test"} == {0, 1, 2}


def test_open_loop_traffic_delivers_what_it_offers_with_a_slowdown_that_grows(tmp_path: Path) -> None:
    overrides = ("sweep.data_size=16KB", "jobs.0.arrivals.duration=100us")
    slowdowns = []
    for load in ("20%", "80%"):
        override = f"jobs.0.arrivals.load={load}"
        trials = run_plan(tmp_path / load, "traffic-uniform-poisson", *overrides, override)
        job = jobs_of(trials)[0].summary
        # 16 hosts with 50 GB/s each.
        offered = 16 * 50 * float(load.removesuffix("%")) / 100
        assert job.value("offered_gb_per_s") == pytest.approx(offered, rel=0.15)
        assert job.value("delivered_gb_per_s") == pytest.approx(job.value("offered_gb_per_s"), rel=0.2)
        slowdowns.append(job.value("slowdown_p99") or 0)
    assert 1 <= slowdowns[0] < slowdowns[1]


def test_an_incast_without_loss_fills_the_receivers_port(tmp_path: Path) -> None:
    plan = tmp_path / "incast.yaml"
    plan.write_text(LOSSY_INCAST.replace("64KB", "1GB").replace("100us", "67ms"))
    job = jobs_of(run_plan(tmp_path / "workspace", plan, "sweep.data_size=16MB"))[0].summary
    assert job.value("frames_lost") == 0
    assert job.value("ideal_percent") == pytest.approx(100, abs=0.5)


def test_ctrl_c_stops_the_engine_and_keeps_what_has_finished(tmp_path: Path) -> None:
    command = [
        *COMMAND,
        "run",
        "jct-alltoall",
        "-s",
        "sweep.data_size=[1MB,512GB]",
        "-s",
        "fabric.load_balancing=spray-random",  # nothing repeats, so nothing is skipped
        "--workspace",
        str(tmp_path),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_second_trial(tmp_path)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        stopped = time.monotonic()
        _, errors = process.communicate(timeout=120)
    assert time.monotonic() - stopped < 5
    assert process.returncode == 130, errors
    assert "1 of 2 trials finished" in errors
    workspace = Workspace.open(tmp_path)
    assert [trial.status for trial in workspace.trials()] == ["complete", "interrupted"]


def _wait_for_second_trial(root: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        names = [path.name for path in root.glob("trials/*")]
        if len(names) == 2 and any(name.endswith(".partial") for name in names):
            return
        time.sleep(0.02)
    raise TimeoutError("the second trial did not begin in 60 s")


def test_the_program_as_a_user_runs_it(tmp_path: Path) -> None:
    environment = os.environ | {"FABRICBENCH_WORKSPACE": str(tmp_path / "workspace")}
    run = [*COMMAND, "run", "jct-allreduce-ring", "-s", "sweep.data_size=1MB", "--format", "json"]
    finished = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    content = json.loads(finished.stdout)
    assert content["trials"][0]["status"] == "complete"
    assert content["engine"]["packet_hops"] > 0
    shown = subprocess.run(
        [*COMMAND, "show", "latest"], env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0
    assert content["trials"][0]["id"] in shown.stdout
