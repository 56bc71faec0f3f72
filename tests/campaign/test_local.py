"""Campaigns on processes of this machine: without Ray, as often as needed, with the sizes of their plans."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.campaign.driven import CAMPAIGN, LONG, MAIN, carried_out, started, states
from tests.support.samples import PLAN

from fabricbench.runner.campaign.campaign_file import load_campaign

NO_RAY = f"import sys; sys.modules['ray'] = None; {MAIN}"


def test_a_campaign_needs_no_ray(tmp_path: Path) -> None:
    done = carried_out(tmp_path, CAMPAIGN, script=NO_RAY)
    assert done["trials"] == 8
    assert set(states(tmp_path).values()) == {"complete"}
    again = carried_out(tmp_path, CAMPAIGN, script=NO_RAY)
    assert again["kept"] == 8


def test_without_ray_a_cluster_is_refused_with_what_installs_it(tmp_path: Path) -> None:
    said = carried_out(tmp_path, CAMPAIGN, "--on", "ray://127.0.0.1:1", script=NO_RAY, status=2)
    assert "no Ray cluster at ray://127.0.0.1:1" in said or "-m pip install 'ray>=" in said


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in children]


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="Linux alone lists the children of a process"
)
def test_a_trial_whose_process_is_killed_runs_again(tmp_path: Path) -> None:
    with started(tmp_path, LONG, script=NO_RAY) as driver:
        deadline = time.monotonic() + 120
        while not (workers := workers_of(driver.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(2)
        for worker in workers:
            # One may have ended its trial meanwhile.
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        _, error = driver.communicate(timeout=240)
    assert driver.returncode == 0, error.decode()
    assert sorted(states(tmp_path).values()) == ["complete"] * 6


def loaded(folder: Path, entry: str) -> list[tuple[int, object]]:
    (folder / "small.yaml").write_text(PLAN)
    file = folder / "campaign.yaml"
    file.write_text(f"campaign: 1\nname: sizes\nplans: [{{plan: small.yaml, {entry}}}]\n")
    (plan,) = load_campaign(file).plans
    return [
        (trial.data_size_bytes, dict(trial.case.axes).get("transport.ack_every")) for trial in plan.trials
    ]


MIB = 1 << 20


@pytest.mark.parametrize(
    ("entry", "sizes"),
    [
        ("sweep: {transport.ack_every: [1, 4]}", {MIB, 2 * MIB}),
        ("sweep: {transport.ack_every: [1, 4], data_size: 4MB}", {4 * MIB}),
        ("sweep: {transport.ack_every: [1, 4]}, set: {sweep.data_size: 8MB}", {8 * MIB}),
        ("sweep: {zip: {transport.ack_every: [1, 4], data_size: [1MB, 16MB]}}", {MIB, 16 * MIB}),
    ],
)
def test_a_sweep_of_a_campaign_keeps_the_sizes_of_the_plan(
    entry: str, sizes: set[int], tmp_path: Path
) -> None:
    found = loaded(tmp_path, entry)
    assert {size for size, _ in found} == sizes
    assert len({value for _, value in found}) == 2
