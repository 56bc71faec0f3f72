"""Trials that several plans and runs have in common are a part of each."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.store import TrialFacts, UnknownTrialError, Workspace
from fabricbench.store.archive import read_archive, write_archive
from fabricbench.store.inspection import Damage, quarantine
from fabricbench.store.queries.listing import TrialQuery, comparable_trials, counts, filter_values, page
from fabricbench.store.queries.tags import change_tags, tags_of
from fabricbench.store.trash import delete_trial, purge, restore_trial

SHARED, ALONE = "0123456789ab", "ba9876543210"
STEADY = trial_facts(SHARED, plan="steady", title="Steady", suite="aaaaaaaaaaaa", position=1, tag="lab")
NOISY = trial_facts(SHARED, plan="noisy", suite="bbbbbbbbbbbb", position=7, variant="solo/test")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two plans: `steady`, of two trials, and later `noisy`, of one of these."""
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    run_trial(workspace, other_of(STEADY), FakeBackend())
    run_trial(workspace, STEADY, FakeBackend())
    run_trial(workspace, NOISY, FakeBackend())
    return workspace


def other_of(facts: TrialFacts) -> TrialFacts:
    return trial_facts(ALONE, plan=facts.plan, title=facts.title, suite=facts.suite, tag=facts.tag)


def facts_of(workspace: Workspace, **given: Any) -> list[TrialFacts]:
    total, found = page(workspace, TrialQuery(**given))
    assert total == len(found)
    return [trial.facts for trial in found]


def ids(workspace: Workspace, **given: Any) -> list[str]:
    return [trial.id for trial in workspace.trials(**given)]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def test_a_trial_is_listed_under_every_plan_as_that_has_it(workspace: Workspace) -> None:
    assert [trial.facts for trial in workspace.trials(plan="steady")] == [other_of(STEADY), STEADY]
    assert [trial.facts for trial in workspace.trials(plan="noisy")] == [NOISY]
    assert sorted(ids(workspace)) == [SHARED, ALONE]
    assert workspace.find(SHARED).facts == NOISY
    assert workspace.trials(plan="steady")[1].results == workspace.find(SHARED).results


def test_both_runs_are_whole(workspace: Workspace) -> None:
    assert [trial.facts for trial in workspace.suite(workspace.find(ALONE))] == [other_of(STEADY), STEADY]
    assert [trial.facts for trial in workspace.suite(workspace.find(SHARED))] == [NOISY]
    found = [
        trial.facts for trial in comparable_trials(workspace, [workspace.find(ALONE), workspace.find(SHARED)])
    ]
    assert found == [other_of(STEADY), NOISY, STEADY]


def test_the_name_of_a_plan_means_its_last_trial(workspace: Workspace) -> None:
    assert (workspace.find("steady").facts, workspace.find("noisy").facts) == (STEADY, NOISY)
    with pytest.raises(UnknownTrialError) as caught:
        workspace.find("noisi")
    assert 'did you mean "noisy"?' in caught.value.hint


def test_the_last_run_of_a_plan_is_meant_whatever_another_plan_ran_since(workspace: Workspace) -> None:
    later = trial_facts("cccc00000003", plan="steady", suite="cccccccccccc")
    run_trial(workspace, later, FakeBackend())
    run_trial(workspace, NOISY, FakeBackend())
    assert workspace.find("steady").facts == later


def test_going_back_and_forth_leaves_one_membership_of_each_run(workspace: Workspace) -> None:
    for facts in (STEADY, NOISY, NOISY, STEADY):
        run_trial(workspace, facts, FakeBackend())
    assert workspace.find(SHARED).facts == STEADY
    for plan, facts in (("steady", STEADY), ("noisy", NOISY)):
        found = [trial.facts for trial in workspace.trials(plan=plan) if trial.id == SHARED]
        assert found == [facts]


def test_several_runs_of_a_plan_list_a_trial_once_as_in_the_newest(workspace: Workspace) -> None:
    again = trial_facts(SHARED, plan="steady", suite="dddddddddddd", tag="second")
    run_trial(workspace, again, FakeBackend())
    assert [trial.facts for trial in workspace.trials(plan="steady")] == [other_of(STEADY), again]
    assert facts_of(workspace, plan="steady", sort="busbw_gb_per_s", descending=False) == [
        other_of(STEADY),
        again,
    ]
    assert [trial.id for trial in workspace.suite(workspace.find(ALONE))] == [ALONE, SHARED]


def test_resuming_any_of_the_plans_runs_nothing_again(workspace: Workspace) -> None:
    again = trial_facts(SHARED, plan="steady", suite="dddddddddddd", position=1)
    for facts in (STEADY, NOISY, again):
        resumed = workspace.resume(facts)
        assert resumed is not None
        assert resumed.facts == workspace.find(SHARED).facts == facts
    assert [trial.facts for trial in workspace.trials(plan="noisy")] == [NOISY]
    assert workspace.resume(trial_facts(SHARED, plan="unknown")) is None


def test_pages_filter_by_what_each_run_calls_a_trial(workspace: Workspace) -> None:
    assert facts_of(workspace) == [NOISY, other_of(STEADY)]
    assert facts_of(workspace, plan="steady") == [STEADY, other_of(STEADY)]
    assert facts_of(workspace, suite=STEADY.suite, sort="id", descending=False) == [STEADY, other_of(STEADY)]
    assert facts_of(workspace, variant="base") == [STEADY, other_of(STEADY)]
    assert facts_of(workspace, search="steady") == [STEADY, other_of(STEADY)]
    assert filter_values(workspace)["plan"] == ["noisy", "steady"]
    assert counts(workspace) == {"complete": 2}


def test_pages_count_trials_and_not_what_they_are_part_of(workspace: Workspace) -> None:
    total, found = page(workspace, TrialQuery(limit=1, offset=1))
    assert (total, [trial.id for trial in found]) == (2, [ALONE])


def test_a_trial_has_the_tags_of_all_its_runs_wherever_it_is_listed(workspace: Workspace) -> None:
    later = dataclasses.replace(NOISY, tag="beta", suite="cccccccccccc")
    run_trial(workspace, later, FakeBackend())
    assert tags_of(workspace, [workspace.find(SHARED)]) == {SHARED: ["beta", "lab"]}
    assert tags_of(workspace, workspace.trials(plan="steady"))[SHARED] == ["lab", "beta"]


def test_a_tag_that_is_taken_away_is_gone_from_every_run(workspace: Workspace) -> None:
    assert tags_of(workspace, [workspace.find(SHARED)]) == {SHARED: ["lab"]}
    change_tags(workspace, [SHARED], remove=["lab"])
    assert ids(workspace, tag="lab") == [ALONE]
    assert tags_of(workspace, workspace.trials(plan="steady")) == {SHARED: [], ALONE: ["lab"]}


def test_a_deleted_trial_is_left_out_of_every_run(workspace: Workspace) -> None:
    delete_trial(workspace, SHARED)
    assert (ids(workspace, plan="steady"), ids(workspace, plan="noisy")) == ([ALONE], [])
    assert facts_of(workspace, plan="steady", deleted=True) == [STEADY]
    restore_trial(workspace, SHARED)
    assert (len(ids(workspace, plan="steady")), len(ids(workspace, plan="noisy"))) == (2, 1)


@pytest.mark.parametrize("is_purged", [False, True])
def test_a_deleted_trial_that_runs_again_is_part_of_that_run_alone(
    workspace: Workspace, is_purged: bool
) -> None:
    delete_trial(workspace, SHARED)
    if is_purged:
        assert purge(workspace, now()) == [SHARED]
    run_trial(workspace, NOISY, FakeBackend())
    assert (ids(workspace, plan="steady"), ids(workspace, plan="noisy")) == ([ALONE], [SHARED])


def test_a_trial_without_its_record_is_part_of_no_earlier_run_until_it_has_one(workspace: Workspace) -> None:
    quarantine(workspace, Damage(SHARED, "gone", workspace.find(SHARED).attempt))
    assert ids(workspace, plan="steady") == [ALONE]
    run_trial(workspace, NOISY, FakeBackend())
    assert sorted(ids(workspace, plan="steady")) == [SHARED, ALONE]


def test_archives_keep_what_trials_are_part_of(workspace: Workspace, tmp_path: Path) -> None:
    archive = tmp_path / "all.tar"
    with archive.open("wb") as stream:
        write_archive(workspace, workspace.trials(), stream)
    other = Workspace.open(tmp_path / "other", create=True, catalog_url=f"sqlite:///{tmp_path}/other.sqlite")
    for _ in range(2):
        read_archive(other, archive)
        assert [trial.facts for trial in other.trials(plan="steady")] == [other_of(STEADY), STEADY]
        assert [trial.facts for trial in other.trials(plan="noisy")] == [NOISY]


def test_an_archive_of_one_plan_tells_nothing_of_another(workspace: Workspace, tmp_path: Path) -> None:
    archive = tmp_path / "steady.tar"
    with archive.open("wb") as stream:
        write_archive(workspace, workspace.trials(plan="steady"), stream, plan="steady")
    other = Workspace.open(tmp_path / "other", create=True, catalog_url=f"sqlite:///{tmp_path}/other.sqlite")
    read_archive(other, archive)
    assert other.find(SHARED).facts == STEADY
    assert filter_values(other)["plan"] == ["steady"]


def test_an_archive_makes_trials_that_are_there_part_of_its_runs(
    workspace: Workspace, tmp_path: Path
) -> None:
    archive = tmp_path / "steady.tar"
    with archive.open("wb") as stream:
        write_archive(workspace, workspace.trials(plan="steady"), stream, plan="steady")
    other = Workspace.open(tmp_path / "other", create=True, catalog_url=f"sqlite:///{tmp_path}/other.sqlite")
    run_trial(other, NOISY, FakeBackend())
    assert read_archive(other, archive) == ([ALONE], [SHARED])
    assert other.find(SHARED).facts == NOISY
    assert sorted(ids(other, plan="steady")) == [SHARED, ALONE]
