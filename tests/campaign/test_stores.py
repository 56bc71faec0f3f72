"""Where a campaign's catalog and records lie: a database that restarts, a URL, a disk that fills."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from tests.campaign.driven import (
    LONG,
    assert_as_alone,
    assert_each_once,
    carried_out,
    started,
    states,
    waited_for,
)
from tests.support import postgresql
from tests.support.small_disk import NoMountError, small_disk

pytestmark = pytest.mark.slow
MANY = LONG.replace("seeds: 6", "seeds: 60")


@pytest.mark.soak
def test_a_database_that_restarts_in_the_middle_costs_no_trial(tmp_path: Path) -> None:
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql.server() as server:
        url = server.new_database("bench")
        with started(tmp_path, MANY, environment={"FABRICBENCH_CATALOG_URL": url}) as driver:
            workspace = tmp_path / "fabricbench-workspace"
            waited_for(workspace.exists)
            waited_for(lambda: "complete" in states(tmp_path, catalog_url=url).values())
            for _ in range(2):
                server.kill()
                time.sleep(2)
                server.start()
                time.sleep(1)
            out, error = driver.communicate(timeout=180)
        assert driver.returncode == 0, error.decode()
        assert "waiting: " in error.decode()
        assert "cannot be reached" in error.decode()
        assert b'"finished": 60' in out
        assert_each_once(tmp_path, 60, catalog_url=url)


def test_records_at_a_url_are_those_of_a_single_process(tmp_path: Path) -> None:
    place = tmp_path / "place"
    told = carried_out(tmp_path, environment={"FABRICBENCH_TABLES_URL": place.as_uri()})
    assert (told["finished"], told["failed"]) == (8, [])
    assert_as_alone(tmp_path)
    assert_each_once(tmp_path, 8)
    assert len([path for path in place.iterdir() if path.is_dir()]) == 8
    again = carried_out(tmp_path, environment={"FABRICBENCH_TABLES_URL": place.as_uri()})
    assert (again["finished"], again["kept"]) == (0, 8)


@pytest.mark.soak
def test_a_disk_that_fills_ends_it_clearly_and_costs_no_trial(tmp_path: Path) -> None:
    try:
        with small_disk(tmp_path / "fabricbench-workspace", 2 << 20) as disk:
            error = carried_out(tmp_path, MANY, status=2)
            assert "No space left" in error or "the disk is full" in error
            assert "Traceback" not in error
            before = list(states(tmp_path).values())
            assert "complete" in before
            assert "running" not in before
            subprocess.run(["mount", "-o", "remount,size=256M", str(disk)], check=True)
            told = carried_out(tmp_path, MANY)
            assert told["kept"] == before.count("complete")
            assert told["kept"] + told["finished"] == 60
            assert_each_once(tmp_path, 60)
    except NoMountError as reason:
        pytest.skip(f"cannot mount a tmpfs here: {reason}")
