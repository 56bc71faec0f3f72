"""Campaigns on a Ray cluster of three nodes, one of which does not see the workspace."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
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
from tests.campaign.nodes import Cluster, can_make_namespaces, cluster, name_of

from fabricbench.store import Workspace

LONGER = LONG.replace("64MB", "512MB")
pytestmark = [
    pytest.mark.soak,
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


def count_in(folder: Path) -> int:
    """Return how many trials there are by now: other tests of this module may have run before."""
    return len(states(folder)) if (folder / "fabricbench-workspace" / "catalog.sqlite").exists() else 0


def test_three_nodes_make_the_records_of_a_single_process(folder: Path, three_nodes: Cluster) -> None:
    told = carried_out(folder, CAMPAIGN, "--on", three_nodes.client, environment=three_nodes.environment)
    assert (told["finished"], told["failed"]) == (8, [])
    assert len(told["nodes"]) == 3
    assert_as_alone(folder)
    assert_each_once(folder, 8)
    assert three_nodes.seen_by(2, folder / "fabricbench-workspace") == []
    trials = Workspace.open(folder / "fabricbench-workspace").trials()
    assert {trial.machine["host"] for trial in trials} == {name_of(number) for number in range(3)}


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
    on, before = ("--on", three_nodes.address), count_in(folder)
    with started(folder, LONGER, *on, environment=three_nodes.environment) as driver:
        waited_for(lambda: three_nodes.is_busy(1))
        three_nodes.kill(1)
        out, error = driver.communicate(timeout=180)
    assert driver.returncode == 0, error.decode()
    told = json.loads(out)
    assert (told["finished"], told["failed"]) == (6, [])
    assert_each_once(folder, before + 6)


def test_a_head_that_goes_is_told_and_the_rest_runs_here(
    folder: Path, tmp_path: Path, three_nodes: Cluster
) -> None:
    # Some 5 s for each trial: jitter keeps the simulator from skipping what repeats.
    jitter = 'set: {fabric.clocks: {jitter: "1ns"}}, sweep'
    text = LONG.replace("64MB", "16GB").replace("sweep", jitter)
    before = count_in(folder)
    ways = {folder: three_nodes.client, tmp_path: three_nodes.address}
    with ExitStack() as running:
        environment = three_nodes.environment
        drivers = {
            place: running.enter_context(started(place, text, "--on", on, environment=environment))
            for place, on in ways.items()
        }
        for place in ways:
            waited_for((place / "fabricbench-workspace" / "catalog.sqlite").exists)
            waited_for(lambda place=place: "running" in states(place).values())
        three_nodes.kill(0)
        for place, driver in drivers.items():
            _, said = driver.communicate(timeout=180)
            error = said.decode()
            assert driver.returncode == 2, error
            assert error.count("error: ") == 1
            assert f"error: the Ray cluster at {ways[place]} is gone" in error
            assert "Traceback" not in error
    told = carried_out(folder, text)
    assert told["kept"] + told["finished"] == 6
    assert_each_once(folder, before + 6)
    assert "running" not in states(tmp_path).values()
