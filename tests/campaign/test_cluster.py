"""Campaigns on a Ray cluster of three nodes, one of which does not see the workspace."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.campaign.driven import (
    CAMPAIGN,
    LONG,
    assert_as_alone,
    assert_each_once,
    carried_out,
    started,
    states,
    waited_for,
)
from tests.campaign.nodes import Cluster, can_make_namespaces, cluster

LONGER = LONG.replace("64MB", "512MB")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_make_namespaces(), reason="no namespaces for this user"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("campaign")
    (made / "fabricbench-workspace").mkdir()
    return made


@pytest.fixture(scope="module")
def three_nodes(folder: Path) -> Iterator[Cluster]:
    """The last node has an empty folder where the others have the workspace."""
    with cluster([None, folder / "fabricbench-workspace"]) as running:
        yield running


def test_three_nodes_make_the_records_of_a_single_process(folder: Path, three_nodes: Cluster) -> None:
    told = carried_out(folder, CAMPAIGN, "--on", three_nodes.client, environment=three_nodes.environment)
    assert (told["finished"], told["failed"]) == (8, [])
    assert len(told["nodes"]) == 3
    assert_as_alone(folder)
    assert_each_once(folder, 8)
    assert three_nodes.seen_by(2, folder / "fabricbench-workspace") == []


@pytest.mark.parametrize("how", ["address", "client"])
def test_a_wrong_token_is_told_within_seconds(folder: Path, three_nodes: Cluster, how: str) -> None:
    on = getattr(three_nodes, how)
    error = carried_out(folder, LONG, "--on", on, status=2, environment={"RAY_AUTH_TOKEN": "wrong" * 8})
    assert f"cannot use the Ray cluster at {on}" in error
    assert "RAY_AUTH_TOKEN" in error
    assert "Traceback" not in error


def test_a_node_that_joins_in_the_middle_gets_trials(tmp_path: Path, three_nodes: Cluster) -> None:
    text = LONGER.replace("seeds: 6", "seeds: 100")
    on = ("--on", three_nodes.client)
    with started(tmp_path, text, *on, environment=three_nodes.environment) as driver:
        waited_for(lambda: three_nodes.is_busy(1))
        three_nodes.add()
        waited_for(lambda: three_nodes.is_busy(3))
        os.kill(driver.pid, signal.SIGINT)
        _, error = driver.communicate(timeout=60)
    assert driver.returncode == 130, error.decode()
    assert "running" not in states(tmp_path).values()


def test_a_node_that_is_killed_costs_no_trial(folder: Path, three_nodes: Cluster) -> None:
    on = ("--on", three_nodes.address)
    with started(folder, LONGER, *on, environment=three_nodes.environment) as driver:
        waited_for(lambda: three_nodes.is_busy(1))
        three_nodes.kill(1)
        out, error = driver.communicate(timeout=180)
    assert driver.returncode == 0, error.decode()
    told = json.loads(out)
    assert (told["finished"], told["failed"]) == (6, [])
    assert_each_once(folder, 8 + 6)


def test_a_cluster_that_goes_is_told_and_the_rest_runs_here(folder: Path, three_nodes: Cluster) -> None:
    text = LONG.replace("64MB", "510MB")
    on = ("--on", three_nodes.client)
    with started(folder, text, *on, environment=three_nodes.environment) as driver:
        waited_for(lambda: three_nodes.is_busy(0) or three_nodes.is_busy(2))
        three_nodes.close()
        _, error = driver.communicate(timeout=180)
    assert driver.returncode == 2, error.decode()
    assert f"the Ray cluster at {three_nodes.client} is gone" in error.decode()
    told = carried_out(folder, text)
    assert told["kept"] + told["finished"] == 6
    assert_each_once(folder, 8 + 6 + 6)
