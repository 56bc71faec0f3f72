"""Saved views over HTTP, and what a list of runs says of their jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ClientOf
from tests.support.samples import call

import fabricbench as fb

ASKED = {"plan": "jct-alltoall", "where": ["ideal_percent>1"], "sort": "ideal_percent", "view": "trials"}


@pytest.fixture
def client(tmp_path: Path, client_of: ClientOf) -> TestClient:
    return client_of(tmp_path / "lab")


def test_a_view_is_kept_listed_replaced_and_forgotten(client: TestClient) -> None:
    made = client.put("/api/v1/views/good ones", json={"asked": ASKED})
    assert (made.status_code, made.json()["asked"]) == (200, ASKED)
    again = client.put("/api/v1/views/good ones", json={"asked": {"tag": "lab"}})
    assert again.status_code == 200
    assert [view["asked"] for view in client.get("/api/v1/views").json()["views"]] == [{"tag": "lab"}]
    assert client.delete("/api/v1/views/good ones").json() == {"views": []}
    missing = client.delete("/api/v1/views/good ones")
    assert (missing.status_code, missing.json()["error"]["message"]) == (404, 'no view "good ones"')


@pytest.mark.parametrize(
    ("name", "asked", "field"),
    [("v", {"plann": "x"}, "plann"), ("v", {"where": ["speed<1"]}, "asked"), (" v", {}, "name")],
)
def test_a_view_that_asks_for_nothing_known_is_refused(
    client: TestClient, name: str, asked: dict[str, Any], field: str
) -> None:
    answer = client.put(f"/api/v1/views/{name}", json={"asked": asked})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert answer.json()["error"]["hint"]
    assert client.get("/api/v1/views").json() == {"views": []}


def test_the_command_line_and_python_have_the_views_of_the_web(client: TestClient, tmp_path: Path) -> None:
    root = tmp_path / "lab"
    fb.run(fb.load("jct-alltoall").with_(data_size=["1MB", "2MB"]), workspace=root)
    client.put("/api/v1/views/small", json={"asked": {"sort": "data_size_bytes", "order": "desc"}})
    listed = call("trials", "--view", "small", "--format", "csv", "--workspace", root, cwd=tmp_path)
    ids = [line.split(",")[0] for line in listed.stdout.splitlines()[1:]]
    assert [trial.id for trial in fb.workspace(root).trials(view="small")] == ids
    assert [trial.id for trial in fb.workspace(root).trials(view="small", descending=False)] == ids[::-1]
    saved = call("trials", "--sort", "fct_ms_p99", "--save-view", "slow", "--workspace", root, cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    assert [view["name"] for view in client.get("/api/v1/views").json()["views"]] == ["slow", "small"]


def test_a_run_tells_its_verdict_and_the_job_that_fares_worst(client: TestClient, tmp_path: Path) -> None:
    fabric = {"topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1}}
    jobs = [
        {"name": name, "collective": "all-to-all", "ranks": ranks, "data_size": "1MB"}
        for name, ranks in (("a", [0, 1, 4, 5]), ("b", [2, 3, 6, 7]))
    ]
    plan = {"fabricbench": 1, "name": "two", "fabric": fabric, "jobs": jobs, "solo": True}
    criteria = {
        "strict": [{"metric": "ideal_percent", "min": 99.9}],
        "lax": [{"metric": "ideal_percent", "min": 1}],
    }
    for name, each in criteria.items():
        fb.run(fb.load({**plan, "name": name, "criteria": each}), workspace=tmp_path / "lab")
    fb.run(fb.load("jct-alltoall").with_(data_size="1MB"), workspace=tmp_path / "lab")
    runs = {run["plan"]: run for run in client.get("/api/v1/trials/by-run").json()["runs"]}
    found = {name: runs[name]["verdict"] for name in ("strict", "lax", "jct-alltoall")}
    assert found == {"strict": "fail", "lax": "pass", "jct-alltoall": None}
    assert runs["jct-alltoall"]["worst"] is None
    for name in criteria:
        trials = client.get("/api/v1/trials", params={"plan": name}).json()["trials"]
        worst = min((each["worst"] for each in trials if each["worst"]), key=lambda one: one["kept_percent"])
        assert runs[name]["worst"] == worst
        assert worst["kept_percent"] < 90
