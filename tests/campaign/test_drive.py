"""Campaigns on Ray: every trial once, with the records of a single process, whatever dies in between."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.campaign.driven import (
    CAMPAIGN,
    LONG,
    MAIN,
    assert_as_alone,
    assert_each_once,
    carried_out,
    started,
    states,
    waited_for,
)
from tests.support.ray_workers import workers_at

pytestmark = pytest.mark.slow


def test_records_are_those_of_a_single_process_byte_for_byte_and_are_kept(tmp_path: Path) -> None:
    told = carried_out(tmp_path)
    assert (told["trials"], told["finished"], told["kept"], told["failed"]) == (8, 8, 0, [])
    assert_as_alone(tmp_path)
    again = carried_out(tmp_path)
    assert (again["finished"], again["kept"]) == (0, 8)


def test_a_worker_that_is_killed_costs_no_trial(tmp_path: Path) -> None:
    with started(tmp_path, LONG) as driver:
        os.kill(waited_for(lambda: next(workers_at(tmp_path), None)), signal.SIGKILL)
        out, error = driver.communicate(timeout=120)
    assert driver.returncode == 0, error.decode()
    told = json.loads(out)
    assert (told["finished"], told["failed"]) == (6, [])
    assert_each_once(tmp_path, 6)


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


def test_a_second_driver_is_refused_and_ctrl_c_keeps_what_has_ended(tmp_path: Path) -> None:
    text = LONG.replace("64MB", "512MB").replace("seeds: 6", "seeds: 40")
    with started(tmp_path, text) as driver:
        waited_for(lambda: next(workers_at(tmp_path), None))
        refused = carried_out(tmp_path, text, status=2)
        assert "campaign long is carried out by another process" in refused
        for _ in range(2):  # the second must not disturb the tidying up
            os.kill(driver.pid, signal.SIGINT)
            time.sleep(0.3)
        _, error = driver.communicate(timeout=60)
    assert driver.returncode == 130, error.decode()
    assert b"Traceback" not in error
    assert "running" not in states(tmp_path).values()
    waited_for(lambda: not list(workers_at(tmp_path)))


LARGE = """
from fabricbench.runner.campaign import execution
fitting = execution._Driver._fitting

def larger(self, batch, most_bytes):
    for unit in batch:
        if unit.facts.data_size_bytes == 2 << 20:
            unit.memory_bytes = 10**15
    return fitting(self, batch, most_bytes)

execution._Driver._fitting = larger
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
