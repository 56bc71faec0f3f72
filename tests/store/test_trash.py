"""Trials that are deleted, tagged and searched for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import UnknownTrialError, Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.inspection import damages
from fabricbench.store.queries.listing import TrialQuery, counts, filter_values, page
from fabricbench.store.queries.tags import change_tags, tags_of
from fabricbench.store.trash import TrialRunsError, delete_trial, purge, restore_trial

FIRST, SECOND = "0123456789ab", "ba9876543210"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, trial_facts(FIRST, tag="lab"), FakeBackend())
    run_trial(workspace, trial_facts(SECOND, plan="other", data_size_bytes=5), FakeBackend())
    return workspace


def ids(workspace: Workspace, **given: Any) -> list[str]:
    _, found = page(workspace, TrialQuery(**given))
    return [trial.id for trial in found]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def test_a_deleted_trial_is_left_out_everywhere_and_its_record_stays(workspace: Workspace) -> None:
    assert delete_trial(workspace, SECOND)
    assert not delete_trial(workspace, SECOND)
    assert [trial.id for trial in workspace.trials()] == [FIRST]
    assert workspace.find("latest").id == FIRST
    with pytest.raises(UnknownTrialError):
        workspace.find(SECOND)
    assert (ids(workspace), ids(workspace, deleted=True)) == ([FIRST], [SECOND])
    assert counts(workspace) == {"complete": 1}
    assert (workspace.records / SECOND).is_dir()
    assert list(damages(Workspace.open(workspace.root))) == []
    assert restore_trial(workspace, SECOND)
    assert not restore_trial(workspace, SECOND)
    assert workspace.find("latest").id == SECOND


def test_running_a_deleted_trial_again_takes_its_place(workspace: Workspace) -> None:
    delete_trial(workspace, FIRST)
    assert workspace.resume(trial_facts(FIRST, tag="lab")) is None
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    assert workspace.find(FIRST).status == "complete"
    assert ids(workspace, deleted=True) == []


def test_a_running_trial_is_not_deleted(workspace: Workspace) -> None:
    with (
        workspace.begin(trial_facts(FIRST), machine_facts()),
        pytest.raises(TrialRunsError),
    ):
        delete_trial(workspace, FIRST)


def test_purging_removes_what_was_deleted_long_enough_ago(workspace: Workspace) -> None:
    before = now()
    delete_trial(workspace, FIRST)
    change_tags(workspace, [FIRST], add=["kept"])
    assert purge(workspace, before) == []
    assert purge(workspace, now()) == [FIRST]
    assert not (workspace.records / FIRST).exists()
    assert (restore_trial(workspace, FIRST), ids(workspace, deleted=True)) == (False, [])
    assert filter_values(workspace)["tag"] == []


def test_purging_leaves_a_record_that_came_since(workspace: Workspace) -> None:
    delete_trial(workspace, FIRST)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    assert purge(workspace, now()) == []
    assert workspace.find(FIRST).tables.path("chunks").is_file()


def test_importing_a_deleted_trial_restores_it(workspace: Workspace, tmp_path: Path) -> None:
    with (tmp_path / "trials.tar").open("wb") as stream:
        write_archive(workspace, workspace.trials(), stream)
    delete_trial(workspace, FIRST)
    assert read_archive(workspace, tmp_path / "trials.tar") == ([], [FIRST, SECOND])
    assert workspace.find(FIRST).id == FIRST


def test_tags_are_beside_that_of_the_plan_and_stay_when_it_runs_again(workspace: Workspace) -> None:
    change_tags(workspace, [FIRST, SECOND], add=["b", "a", "a", "lab"])
    assert tags_of(workspace, workspace.trials()) == {FIRST: ["lab", "a", "b"], SECOND: ["a", "b", "lab"]}
    assert len(workspace.trials(tag="lab")) == 2
    change_tags(workspace, [FIRST], add=["c"], remove=["lab", "a", "c"])
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    assert tags_of(workspace, [workspace.find(FIRST)]) == {FIRST: ["b"]}


def test_search_takes_every_word_as_it_is_written(workspace: Workspace) -> None:
    change_tags(workspace, [SECOND], add=["100%_sure"])
    assert ids(workspace, search="SMALL lab") == [FIRST]
    assert ids(workspace, search="0%_s") == [SECOND]
    assert ids(workspace, search="0__s") == ids(workspace, search="'; DROP TABLE trials; --") == []
    assert ids(workspace, sort="data_size_bytes", descending=False) == [SECOND, FIRST]
    total, found = page(workspace, TrialQuery(limit=1, offset=1))
    assert (total, len(found)) == (2, 1)
