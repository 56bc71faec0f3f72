"""Plans with a search in a real server: what it finds is what the command line finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.live import SLOW, Live, events, live
from tests.support.searches import SMALL

from fabricbench.cli.main import run

LONG = SLOW.replace("sweep:\n  data_size: [1MB, 512MB]\n", "").replace(
    "collective: incast", "collective: incast, data_size: 1MB"
) + (
    "search: {field: jobs.test.data_size, from: 1MB, to: 512MB, steps: 10}\n"
    "criteria: [{metric: completion_time_ms, max: 5}]\n"
)
"""Its trials take long enough to be cancelled in their midst."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("search") / "workspace", "--workers", "2") as running:
        yield running


@pytest.fixture(scope="module")
def at_the_command_line(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that runs a plan, and returns its JSON."""
    folder = tmp_path_factory.mktemp("command")

    def told(plan: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        (folder / "plan.yaml").write_text(plan)
        capsys.readouterr()
        command = ["run", str(folder / "plan.yaml"), "--workspace", str(folder / "w"), "--format", "json"]
        assert run([*command, "--resume"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return told


def found_by(run: dict[str, Any]) -> tuple[list[str], Any]:
    return [trial["id"] for trial in run["trials"]], run["search"]


def test_a_run_finds_what_the_command_line_finds(
    server: Live, at_the_command_line: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = server.submit(SMALL, tags=["searched"])
    seen = events(server, run_id)
    run = server.run(run_id)
    assert (run["state"], run["message"]) == ("complete", "")
    assert found_by(run) == found_by(at_the_command_line(SMALL, capsys))
    ids = {trial["id"] for trial in run["trials"]}
    assert run["trials_total"] == run["trials_finished"] == len(run["trials"]) == len(ids)
    assert {trial["status"] for trial in run["trials"]} <= {"complete", "incomplete"}
    assert all(trial["axes"]["jobs.burst.data_size"] for trial in run["trials"])
    started = [content for _, kind, content in seen if kind == "trial_started"]
    assert [content["id"] for content in started] == [trial["id"] for trial in run["trials"]]
    assert [content["number"] for content in started] == list(range(1, len(ids) + 1))
    shares = [content["share"] for _, kind, content in seen if kind == "progress"]
    assert shares == sorted(shares)
    listed = server.client.get("/api/v1/trials?tag=searched&limit=100").json()
    assert {row["id"] for row in listed["trials"]} == ids
    suites = server.client.get("/api/v1/trials/by-run?tag=searched").json()
    assert [suite["trials"] for suite in suites["runs"]] == [len(ids)]


def test_a_search_that_was_cancelled_goes_on_where_it_was(
    server: Live, at_the_command_line: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = server.submit(LONG)
    begun = server.until(run_id, lambda run: run["trials_finished"] >= 2)
    assert (begun["search"], begun["trials_total"]) == ([], 12)
    server.client.post(f"/api/v1/runs/{run_id}/cancel")
    cancelled = server.until_state(run_id, "cancelled")
    assert cancelled["message"].startswith("cancelled; ")
    assert cancelled["trials_finished"] < 12
    server.client.post(f"/api/v1/runs/{run_id}/resume")
    run = server.until_state(run_id, "complete", 120)
    assert found_by(run) == found_by(at_the_command_line(LONG, capsys))
    assert run["trials_total"] == len(run["trials"])


def test_a_check_says_what_a_search_may_run(server: Live) -> None:
    checked = server.client.post("/api/v1/plans/check", json={"yaml": SMALL}).json()
    assert (checked["errors"], checked["search"]) == ([], "jobs.burst.data_size")
    assert (checked["trials"], checked["trials_total"]) == ([], 2 * 22)
    assert "at up to 22 values of jobs.burst.data_size" in checked["extent"]
    alone = server.client.post("/api/v1/plans/check", json={"yaml": SMALL, "set": ["search=null"]}).json()
    assert (alone["search"], alone["trials_total"]) == (None, 2)
    assert alone["cost"]["packet_hops"] < checked["cost"]["packet_hops"]


@pytest.mark.parametrize(
    ("more", "field", "told"),
    [
        ({"set": ["search.to=100TB"]}, "search.to", "found 100TB, with which"),
        ({"set": ["criteria=[]"]}, "search", "found a search without criteria"),
        ({"backend": "flow", "twin": True}, "search", "allowed: none with a prediction of each trial"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_its_field(
    server: Live, more: dict[str, Any], field: str, told: str
) -> None:
    answer = server.client.post("/api/v1/runs", json={"yaml": SMALL, **more})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert told in answer.json()["error"]["message"]


def test_an_end_that_is_beyond_the_machine_is_refused_with_what_it_costs(server: Live) -> None:
    plan = {"yaml": SMALL, "set": ["search.to=1TB", "jobs.burst.repeat=100"]}
    answer = server.client.post("/api/v1/runs", json=plan)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "search.to")
    assert answer.json()["cost"]["seconds"] > 3600
    checked = server.client.post("/api/v1/plans/check", json=plan).json()
    assert checked["beyond_machine"]


def test_measured_results_have_no_plan_with_a_search(server: Live) -> None:
    asked = {"file": "osu.txt", "plan": "bmwg-burst"}
    answer = server.client.post("/api/v1/imports", params=asked, content=b"1048576 170.00\n")
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "search"
