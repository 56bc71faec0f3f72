"""Saved views: kept as they were asked for, checked before they are, and never in the way of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import run_trial, trial_facts

from fabricbench.store import Workspace
from fabricbench.store.queries.listing import ThresholdError, ordered
from fabricbench.store.queries.views import (
    ListParameters,
    UnknownViewError,
    ViewError,
    delete_view,
    merged_parameters,
    query_of,
    save_view,
    saved_view,
    saved_views,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    for number, (plan, size) in enumerate([("small", 4), ("large", 2), ("large", 8)], start=1):
        facts = trial_facts(f"{number:012x}", plan=plan, data_size_bytes=size << 20)
        run_trial(workspace, facts, FakeBackend())
    return workspace


def test_a_view_finds_what_was_asked_for_in_its_order(workspace: Workspace) -> None:
    save_view(workspace, "large ones", {"plan": "large", "sort": "data_size_bytes", "order": "desc"})
    (view,) = saved_views(workspace)
    found = ordered(workspace, query_of(view.asked))
    assert [trial.facts.data_size_bytes >> 20 for trial in found] == [8, 2]
    assert str(view) == "plan large; by data_size_bytes, the largest first"
    assert view.saved_at


def test_what_is_given_beside_a_view_adds_to_it_or_replaces_a_part(workspace: Workspace) -> None:
    save_view(workspace, "v", {"plan": "large", "where": ["ideal_percent>1"], "order": "desc"})
    given = {"plan": "small", "tag": None, "where": ["fct_ms_p99<9"]}
    expected = {"plan": "small", "order": "desc", "where": ["ideal_percent>1", "fct_ms_p99<9"]}
    assert merged_parameters(workspace, "v", given) == expected
    assert merged_parameters(workspace, None, {"plan": None, "where": None}) == {}


def test_saving_again_replaces_and_deleting_forgets(workspace: Workspace) -> None:
    for plan in ("small", "large"):
        save_view(workspace, "v", {"plan": plan})
    save_view(workspace, "other", {})
    assert {view.name: view.asked for view in saved_views(workspace)} == {
        "other": {},
        "v": {"plan": "large"},
    }
    delete_view(workspace, "v")
    with pytest.raises(UnknownViewError) as error:
        saved_view(workspace, "othr")
    assert "other" in error.value.hint
    with pytest.raises(UnknownViewError):
        delete_view(workspace, "v")


@pytest.mark.parametrize(
    ("name", "asked", "field"),
    [
        ("", {}, "name"),
        ("a/b", {}, "name"),
        (" a", {}, "name"),
        ("a\nb", {}, "name"),
        ("x" * 65, {}, "name"),
        ("v", {"plann": "small"}, "plann"),
        ("v", {"limit": "9"}, "limit"),
        ("v", {"order": "up"}, "order"),
        ("v", {"where": "ideal_percent<5"}, "where"),
        ("v", {"where": ["ideal_percent<5"] * 21}, "where"),
        ("v", {"plan": ["small"]}, "plan"),
        ("v", {"search": "x" * 201}, "search"),
    ],
)
def test_what_no_list_can_show_is_not_kept(
    workspace: Workspace, name: str, asked: ListParameters, field: str
) -> None:
    with pytest.raises(ViewError) as error:
        save_view(workspace, name, asked)
    assert error.value.field == field
    assert error.value.hint
    assert saved_views(workspace) == []


@pytest.mark.parametrize("asked", [{"sort": "speed"}, {"where": ["speed<1"]}, {"where": ["ideal_percent=1"]}])
def test_a_metric_that_does_not_exist_is_not_kept(workspace: Workspace, asked: ListParameters) -> None:
    with pytest.raises(ThresholdError):
        save_view(workspace, "v", asked)
    assert saved_views(workspace) == []


@pytest.mark.parametrize(
    "asked", ["", "[1]", "{", '{"plan": 7}', '{"where": [7]}', '{"sort": "gone"}', "null"]
)
def test_a_row_that_cannot_be_what_it_says_is_left_out(workspace: Workspace, asked: str) -> None:
    save_view(workspace, "good", {"plan": "small"})
    save_view(workspace, "bad", {})
    with workspace.database.writing() as connection:
        connection.execute(f"UPDATE views SET asked = '{asked}' WHERE name = 'bad'")
    assert [view.name for view in saved_views(workspace)] == ["good"]
