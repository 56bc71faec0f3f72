"""The life of a workspace: finding, listing, replacing and resuming trials."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.store import StoreError, UnknownTrialError, Workspace
from fabricbench.store.record.writer import finish_together

FIRST, SECOND = "aaaa00000001", "aabb00000002"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "workspace", create=True)


def test_a_finished_trial_is_read_back_as_it_was_run(workspace: Workspace) -> None:
    facts = trial_facts(
        FIRST, tag="night", overrides=("seed=1",), published={"table": "t", "source": "s", "values": {}}
    )
    run_trial(workspace, facts, FakeBackend())
    trial = Workspace.open(workspace.root).find(FIRST)
    assert trial.facts == facts
    assert trial.status == "complete"
    assert trial.summary is not None
    assert trial.summary["jobs"][0]["chunks"] == 12
    assert trial.tables.table("chunks").num_rows == 12
    assert trial.tables.table("events").num_rows == 0
    assert (
        trial.results[0]["completion_time_ms"]
        == trial.tables.table("trials")["completion_time_ms"][0].as_py()
    )
    assert trial.engine["threads"] == 1


def test_what_a_run_cost_stays_out_of_the_record(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    trial = workspace.find(FIRST)
    assert trial.summary is not None
    assert not set(trial.summary) & set(trial.engine)
    assert not set(trial.tables.table("trials").column_names) & set(trial.engine)


@pytest.mark.parametrize("fails", [False, True])
def test_trials_that_finish_together_are_there_all_or_none(workspace: Workspace, fails: bool) -> None:
    run_trial(workspace, trial_facts(FIRST, tag="old"), FakeBackend())
    old = workspace.find(FIRST)
    results = old.tables.table("trials")
    with ExitStack() as stack:
        writers = [
            stack.enter_context(workspace.begin(trial_facts(each, tag="new"), {})) for each in (FIRST, SECOND)
        ]
        for writer in writers:
            writer.close()
        ready = [writer.ready(old.summary or {}, {}, writer.written(results)) for writer in writers]
        if fails:
            shutil.rmtree(writers[1].folder)
            with pytest.raises(StoreError):
                finish_together(workspace, ready)
        else:
            finish_together(workspace, ready)
    found = [(trial.id, trial.facts.tag) for trial in workspace.trials(states=("complete",))]
    assert found == ([(FIRST, "old")] if fails else [(FIRST, "new"), (SECOND, "new")])
    assert workspace.find(FIRST).tables.table("chunks").num_rows == (12 if fails else 0)
    assert sorted(entry.name for entry in workspace.records.iterdir()) == [each for each, _ in found]


def test_trials_are_found_by_id_prefix_and_age(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    run_trial(workspace, trial_facts(SECOND), FakeBackend())
    assert workspace.find("aaaa").id == FIRST
    assert workspace.find("AABB").id == SECOND
    assert workspace.find("latest").id == SECOND
    assert workspace.find("latest~1").id == FIRST


@pytest.mark.parametrize(
    ("name", "found", "hint"),
    [
        ("aa", "beginning of several trials", "more digits"),
        ("aaaa00000003", 'no trial "aaaa00000003" among 2', f'did you mean "{FIRST}"?'),
        ("latest~2", "no trial", "lists them"),
        ("%", "no trial", "lists them"),
        ("", "no trial", "lists them"),
        ("latest~99999999999999999999", "no trial", "lists them"),
    ],
)
def test_an_unknown_trial_is_named(workspace: Workspace, name: str, found: str, hint: str) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    run_trial(workspace, trial_facts(SECOND), FakeBackend())
    with pytest.raises(UnknownTrialError, match=found) as caught:
        workspace.find(name)
    assert hint in caught.value.hint


def test_listing_filters_by_plan_and_tag(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(FIRST, tag="a"), FakeBackend())
    run_trial(workspace, trial_facts(SECOND, plan="other"), FakeBackend())
    assert [trial.id for trial in workspace.trials()] == [FIRST, SECOND]
    assert [trial.id for trial in workspace.trials(tag="a")] == [FIRST]
    assert [trial.id for trial in workspace.trials(plan="other")] == [SECOND]
    assert workspace.trials(plan="other", tag="a") == []


def test_a_second_run_of_an_id_replaces_the_first_once_it_has_finished(workspace: Workspace) -> None:
    facts = trial_facts(FIRST)
    run_trial(workspace, facts, FakeBackend())
    before = workspace.find(FIRST)

    def look_in_the_middle() -> None:
        assert workspace.find(FIRST) == before
        assert workspace.find(FIRST).tables.table("chunks").num_rows == 12

    run_trial(workspace, facts, FakeBackend(copies=2, on_first_batch=look_in_the_middle))
    after = workspace.find(FIRST)
    assert after.attempt > before.attempt
    assert after.tables.table("chunks").num_rows == 24
    assert len(workspace.trials()) == 1
    assert [path.name for path in workspace.records.iterdir()] == [FIRST]


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), "interrupted"), (RuntimeError("broken"), "failed")]
)
def test_a_run_that_breaks_off_keeps_the_earlier_record(
    workspace: Workspace, error: BaseException, status: str
) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    with pytest.raises(type(error)):
        run_trial(workspace, trial_facts(FIRST), FakeBackend(error=error))
    assert workspace.find(FIRST).tables.table("chunks").num_rows == 12
    assert [trial.status for trial in workspace.trials()] == ["complete", status]
    assert [path.name for path in workspace.records.iterdir()] == [FIRST]


def test_a_trial_that_runs_again_under_another_tag_is_found_by_both(workspace: Workspace) -> None:
    for tag in ("monday", "", "tuesday", "tuesday"):
        run_trial(workspace, trial_facts(FIRST, tag=tag), FakeBackend())
    assert len(workspace.trials()) == 1
    assert [len(workspace.trials(tag=tag)) for tag in ("monday", "tuesday", "")] == [1, 1, 0]
    workspace.resume(trial_facts(FIRST, tag="wednesday"))
    assert [len(workspace.trials(tag=tag)) for tag in ("monday", "tuesday", "wednesday")] == [1, 1, 1]


def test_a_trial_without_a_record_is_not_found_but_listed(workspace: Workspace) -> None:
    with pytest.raises(RuntimeError):
        run_trial(workspace, trial_facts(FIRST), FakeBackend(error=RuntimeError("broken")))
    assert workspace.trials()[0].message == "RuntimeError: broken"
    with pytest.raises(UnknownTrialError, match="has no record: it is failed"):
        workspace.find(FIRST)
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    assert [trial.status for trial in workspace.trials()] == ["complete"]


def test_an_incomplete_trial_says_why(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend(unfinished=2))
    trial = workspace.find(FIRST)
    assert trial.status == "incomplete"
    assert trial.message == "test: 2 chunks never completed, first transfer 3"


def test_the_trials_of_one_expansion_are_a_suite_in_its_order(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(SECOND, position=1), FakeBackend())
    run_trial(workspace, trial_facts(FIRST, position=0), FakeBackend())
    run_trial(workspace, trial_facts("cccc00000003", suite="beefbeefbeef"), FakeBackend())
    assert [trial.id for trial in workspace.suite(workspace.find(FIRST))] == [FIRST, SECOND]


def test_resuming_adopts_a_finished_trial(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    again = trial_facts(FIRST, suite="beefbeefbeef", tag="second", position=4)
    assert workspace.resume(again) is not None
    assert workspace.find(FIRST).facts == again


def test_resuming_wants_the_whole_record(workspace: Workspace) -> None:
    run_trial(workspace, trial_facts(FIRST), FakeBackend())
    assert workspace.resume(trial_facts(SECOND)) is None
    assert workspace.resume(trial_facts(FIRST, plan="other")) is None
    workspace.find(FIRST).tables.path("ports").unlink()
    assert workspace.resume(trial_facts(FIRST)) is None


def test_a_workspace_is_made_only_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no workspace") as caught:
        Workspace.open(tmp_path / "none")
    assert "fabricbench run" in caught.value.hint
    assert not (tmp_path / "none").exists()


def test_the_environment_names_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRICBENCH_WORKSPACE", str(tmp_path / "elsewhere"))
    assert Workspace.open(create=True).root == tmp_path / "elsewhere"
