"""Trials by run: counts, order, and which runs ran the same."""

from __future__ import annotations

from pathlib import Path

from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_spec, run_trial, trial_facts

from fabricbench.store import TrialFacts, Workspace
from fabricbench.store.queries.listing import Threshold, TrialQuery
from fabricbench.store.queries.run_list import RunRow, run_page
from fabricbench.store.queries.tags import change_tags


def fact(number: int, suite: str = "feedfeedfeed", seed: int | None = None, **given: object) -> TrialFacts:
    spec = run_spec(seed=number if seed is None else seed)
    return trial_facts(f"{number:012x}", suite=suite, run_spec=spec, **given)


def filled(folder: Path, *facts: TrialFacts) -> Workspace:
    workspace = Workspace.open(folder / "workspace", create=True)
    for each in facts:
        run_trial(workspace, each, FakeBackend())
    return workspace


def listed(workspace: Workspace, **given: object) -> list[RunRow]:
    total, found = run_page(workspace, TrialQuery(**given))  # type: ignore[arg-type]
    assert total == len(found) or "limit" in given
    return found


def test_a_run_is_one_row_however_many_trials_it_has(tmp_path: Path) -> None:
    many = [
        fact(1, data_size_bytes=1 << 20),
        fact(2, data_size_bytes=2 << 20),
        fact(3, data_size_bytes=2 << 20, iteration=1, variant="wide"),
    ]
    (run,) = listed(filled(tmp_path, *many))
    assert (run.trials, run.sizes, run.iterations, run.variants) == (3, 2, 2, 2)
    assert run.states == {"complete": 3}
    assert run.ideal_percent is not None
    assert run.started_at < (run.ended_at or "")


def test_filters_count_only_the_trials_that_match(tmp_path: Path) -> None:
    workspace = filled(tmp_path, fact(1), fact(2, variant="wide"), fact(3, suite="beefbeefbeef", plan="b"))
    assert [run.trials for run in listed(workspace, variant="wide")] == [1]
    assert listed(workspace, where=(Threshold("ideal_percent", "<", 0),)) == []
    assert [run.plan for run in listed(workspace, sort="plan", descending=False)] == ["b", "small"]
    assert [run.plan for run in listed(workspace, sort="plan", limit=1, offset=1)] == ["b"]
    assert [run.suite for run in listed(workspace)] == ["beefbeefbeef", "feedfeedfeed"]


def test_the_same_run_again_is_counted_and_its_results_are_the_same(tmp_path: Path) -> None:
    (run,) = listed(filled(tmp_path, fact(1), fact(1), fact(1)))
    assert (run.trials, run.times, run.changes, run.same_plan_as) == (1, 3, 0, None)


def test_a_run_of_which_only_a_part_ran_again_has_run_once(tmp_path: Path) -> None:
    (run,) = listed(filled(tmp_path, fact(1), fact(2), fact(1)))
    assert (run.trials, run.times) == (2, 1)


def test_the_same_run_specs_elsewhere_are_the_same_plan(tmp_path: Path) -> None:
    first = [fact(1, seed=1), fact(2, seed=2)]
    again = [fact(number + 8, suite="beefbeefbeef", seed=number, backend="other") for number in (1, 2)]
    part = fact(20, suite="cafecafecafe", seed=1)
    runs = {run.suite: run for run in listed(filled(tmp_path, *first, *again, part))}
    assert runs["beefbeefbeef"].same_plan_as == "feedfeedfeed"
    assert runs["beefbeefbeef"].same_results is True
    assert runs["feedfeedfeed"].same_plan_as is None
    assert runs["cafecafecafe"].same_plan_as is None


def test_other_results_of_the_same_plan_are_told(tmp_path: Path) -> None:
    workspace = filled(tmp_path, fact(1, seed=1), fact(2, suite="beefbeefbeef", seed=1, backend="other"))
    with workspace.database.writing() as connection:
        connection.execute("UPDATE outcomes SET results = 'x' WHERE attempt = 2")
    assert [run.same_results for run in listed(workspace)] == [False, None]


def test_a_run_has_the_tags_of_its_trials(tmp_path: Path) -> None:
    workspace = filled(tmp_path, fact(1, tag="plan's"), fact(2), fact(3, suite="beefbeefbeef"))
    change_tags(workspace, [f"{2:012x}"], add=["mine"])
    assert {run.suite: run.tags for run in listed(workspace)} == {
        "feedfeedfeed": ["mine", "plan's"],
        "beefbeefbeef": [],
    }
