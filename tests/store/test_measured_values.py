"""Metrics of many trials by their ids, in few statements."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import Workspace
from fabricbench.store.queries.measured_values import measured_values
from fabricbench.store.trash import delete_trial

IDS = [f"{number:012x}" for number in range(3)]
TIME, LOST = "completion_time_ms", "frames_lost"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    for name in IDS:
        run_trial(workspace, trial_facts(name), FakeBackend())
    return workspace


def test_values_are_those_of_the_trials_and_metrics_that_were_asked_for(workspace: Workspace) -> None:
    found = measured_values(workspace, IDS[:2], [TIME])
    wanted = {(name, TIME, row["job"], row[TIME]) for name in IDS[:2] for row in workspace.find(name).results}
    assert set(found.values) == wanted
    assert found.states == dict.fromkeys(IDS[:2], "complete")


def test_a_trial_that_never_began_or_is_in_the_trash_is_unknown(workspace: Workspace) -> None:
    delete_trial(workspace, IDS[0])
    found = measured_values(workspace, [IDS[0], "f" * 12], [TIME])
    assert (found.states, found.values) == ({}, [])


def test_of_several_attempts_the_one_with_a_record_counts(workspace: Workspace) -> None:
    with pytest.raises(RuntimeError, match="again"), workspace.begin(trial_facts(IDS[0]), machine_facts()):
        raise RuntimeError("again")
    with pytest.raises(RuntimeError, match="first"), workspace.begin(trial_facts("f" * 12), machine_facts()):
        raise RuntimeError("first")
    states = measured_values(workspace, [IDS[0], "f" * 12], [TIME]).states
    assert states == {IDS[0]: "complete", "f" * 12: "failed"}


def test_more_ids_than_one_statement_takes_are_all_looked_up(workspace: Workspace) -> None:
    others = [f"{number:012x}" for number in range(100, 1_700)]
    found = measured_values(workspace, [*others[:800], *IDS, *others[800:]], [TIME, LOST])
    assert set(found.states) == set(IDS)
    assert {name for name, *_ in found.values} == set(IDS)
    assert {metric for _, metric, *_ in found.values} == {TIME, LOST}
