"""Runs in a real server: queued, watched, cancelled, and never lost, whatever is killed."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from tests.server.conftest import TOKEN
from tests.server.live import ENDLESS, SLOW, SMALL, Event, Live, events, follow, live

import fabricbench as fb
from fabricbench.store import Workspace
from fabricbench.store.record.schema import TABLES


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("workspace"), "--workers", "2") as running:
        yield running


def in_second_trial(run: dict[str, Any]) -> bool:
    return bool(run["progress"]) and run["progress"]["number"] == 2


def test_a_run_gives_the_trials_of_the_command_line(server: Live, tmp_path: Path) -> None:
    run = server.until_state(server.submit(tags=["mine", "two words"]), "complete")
    assert (run["trials_total"], run["trials_finished"], run["message"]) == (2, 2, "")
    assert [trial["status"] for trial in run["trials"]] == ["complete", "complete"]
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    other = fb.run(fb.load(file), workspace=tmp_path / "workspace")
    assert [trial.id for trial in other] == [trial["id"] for trial in run["trials"]]
    for trial in other:
        stored = Workspace.open(server.root).find(trial.id)
        for table in TABLES:
            assert stored.tables.path(table).read_bytes() == trial.stored.tables.path(table).read_bytes()
    listed = server.client.get("/api/v1/trials?tag=two words").json()["trials"]
    assert {row["id"] for row in listed} == {trial["id"] for trial in run["trials"]}


@pytest.mark.parametrize(("limit", "verdict"), [(0.000001, "fail"), (1000, "pass")])
def test_a_run_says_whether_the_criteria_of_its_plan_are_met(
    server: Live, limit: float, verdict: str
) -> None:
    text = f"{SMALL}\ncriteria: [{{metric: completion_time_ms, max: {limit}}}]\n"
    run = server.until_state(server.submit(text), "complete")
    assert (run["verdict"], [trial["verdict"] for trial in run["trials"]]) == (verdict, [verdict] * 2)
    (listed,) = [each for each in server.client.get("/api/v1/runs").json()["runs"] if each["id"] == run["id"]]
    assert listed["verdict"] == verdict


def test_a_run_with_auto_says_what_it_chose(server: Live) -> None:
    run = server.until_state(server.submit(backend="auto", tags=["chosen"]), "complete")
    assert run["backend"] == "auto"
    assert [trial["backend"] for trial in run["trials"]] == ["sim", "sim"]
    shown = server.client.get(f"/api/v1/trials/{run['trials'][0]['id']}").json()
    assert shown["backend"] == "sim"
    assert shown["shown"]["trials"][0]["notes"] == ["auto chose packets: they take no more than 10 s"]


def test_a_run_of_flows_states_its_error(server: Live) -> None:
    run = server.until_state(server.submit(backend="flow"), "complete")
    shown = server.client.get(f"/api/v1/trials/{run['trials'][0]['id']}").json()
    (note,) = shown["shown"]["trials"][0]["notes"]
    assert note.startswith(
        "results of a flow model are approximate; error of completion times against packets"
    )


def test_those_who_watch_see_it_happen(server: Live) -> None:
    run_id = server.submit(SLOW)
    seen = events(server, run_id)
    kinds = [kind for _, kind, _ in seen]
    states = [content["state"] for _, kind, content in seen if kind == "state"]
    assert states == ["queued", "running", "complete"]
    assert kinds.count("trial") == kinds.count("trial_started") == 2
    shares = [content["share"] for _, kind, content in seen if kind == "progress"]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    points = [point for _, kind, content in seen if kind == "samples" for point in content["points"]]
    assert {"goodput_gb_per_s", "queue_max_bytes"} <= {name for point in points for name in point}
    # Somebody whose connection broke gets the rest, and nothing twice.
    middle = next(number for number, kind, _ in seen if kind == "trial")
    rest = events(server, run_id, middle)
    assert [each for each in rest if each[1] != "progress"] == [
        each for each in seen if each[0] > middle and each[1] != "progress"
    ]
    again = server.client.get(f"/api/v1/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1][0]})
    assert again.status_code == 204


def test_queues_are_told_while_a_trial_runs(server: Live) -> None:
    run_id = server.submit(ENDLESS, set=["seed=13"])
    seen: list[Event] = []
    with closing(follow(server, run_id)) as stream:
        for event in stream:
            seen.append(event)
            points = event[2].get("points", []) if is_of_the_second(event, seen) else []
            if any(point["queue_max_bytes"] > 0 for point in points):
                break
    assert {"goodput_gb_per_s", "queue_max_bytes", "marks_per_us", "paused_mean"} <= points[0].keys()
    assert [point["sim_ps"] for point in points] == sorted({point["sim_ps"] for point in points})
    assert server.run(run_id)["state"] == "running"
    server.client.post(f"/api/v1/runs/{run_id}/cancel")
    server.until_state(run_id, "cancelled")


def is_of_the_second(event: Event, seen: list[Event]) -> bool:
    started = [content["id"] for _, kind, content in seen if kind == "trial_started"]
    return event[1] == "samples" and event[2]["trial"] in started[1:]


def test_a_running_run_is_cancelled_and_resumed(server: Live) -> None:
    run_id = server.submit(ENDLESS, set=["seed=11"])
    server.until(run_id, in_second_trial)
    began = time.monotonic()
    assert server.client.post(f"/api/v1/runs/{run_id}/cancel").status_code == 200
    run = server.until_state(run_id, "cancelled")
    assert time.monotonic() - began < 5
    assert [trial["status"] for trial in run["trials"]] == ["complete", "interrupted"]
    assert "1 of 2 trials finished" in run["message"]
    assert server.client.post(f"/api/v1/runs/{run_id}/resume").status_code == 202
    server.until(run_id, in_second_trial)
    server.client.post(f"/api/v1/runs/{run_id}/cancel")
    seen = events(server, run_id)
    assert [content["resumed"] for _, kind, content in seen if kind == "trial"] == [False, True]
    ended = server.submit()
    server.until_state(ended, "complete")
    for action in ("cancel", "resume"):
        assert server.client.post(f"/api/v1/runs/{ended}/{action}").status_code == 409
    assert server.client.post(f"/api/v1/runs/{'0' * 12}/cancel").status_code == 404


def test_a_worker_that_is_killed_leaves_an_interrupted_run(server: Live) -> None:
    run_id = server.submit(ENDLESS, set=["seed=12"])
    server.until(run_id, in_second_trial)
    worker = server.worker()
    os.kill(worker, signal.SIGKILL)
    run = server.until_state(run_id, "interrupted")
    # Another worker may notice it first.
    ended = f"process {worker} on {socket.gethostname()} ended before the run did"
    assert run["message"] in {"its worker was ended by SIGKILL", ended}
    assert [trial["status"] for trial in run["trials"]] == ["complete", "interrupted"]
    assert Workspace.open(server.root).trials(states=("running",)) == []


def test_a_plan_that_cannot_be_run_is_refused(server: Live) -> None:
    wrong = server.client.post("/api/v1/runs", json={"yaml": SMALL.replace("hosts: 4", "hosts: 0")})
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "fabric.topology.hosts")
    large = SMALL.replace("hosts: 4", "hosts: 60000").replace('ranks: "0-3", ', "")
    beyond = server.client.post("/api/v1/runs", json={"yaml": large.replace("[1MB, 2MB]", "60000KB")})
    assert beyond.status_code == 422
    assert beyond.json()["cost"]["memory_bytes"] > 1 << 39
    assert "memory" in beyond.json()["error"]["message"]


def test_no_secret_is_kept(server: Live) -> None:
    server.until_state(server.submit(), "complete")
    for path in server.root.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path
    for process in (server.process.pid, os.getpid()):
        assert TOKEN not in Path(f"/proc/{process}/cmdline").read_text()


def test_a_killed_server_loses_no_run(tmp_path: Path) -> None:
    with live(tmp_path, "--workers", "1") as first:
        running = first.submit(ENDLESS)
        first.until(running, in_second_trial)
        waiting = [first.submit(set=[f"seed={seed}"]) for seed in (1, 2)]
        cancelled = first.submit()
        assert first.run(cancelled)["position"] == 3
        assert first.client.post(f"/api/v1/runs/{cancelled}/cancel").json()["state"] == "cancelled"
        first.until(running, in_second_trial)
        first.kill()
    with live(tmp_path, "--workers", "1") as second:
        for run_id in waiting:
            assert second.until_state(run_id, "complete")["trials_finished"] == 2
        run = second.until_state(running, "interrupted")
        assert [trial["status"] for trial in run["trials"]] == ["complete", "interrupted"]
        assert second.run(cancelled)["state"] == "cancelled"
        second.client.post(f"/api/v1/runs/{running}/resume")
        assert second.until(running, in_second_trial)["trials_finished"] == 1


def test_a_server_that_is_told_to_end_ends_soon_and_says_so_to_its_runs(tmp_path: Path) -> None:
    with live(tmp_path) as first:
        running = first.submit(ENDLESS)
        first.until(running, in_second_trial)
        with ThreadPoolExecutor() as pool:
            watching = pool.submit(events, first, running)
            time.sleep(0.3)
            began = time.monotonic()
            first.process.send_signal(signal.SIGINT)
            first.process.wait(120)
            assert time.monotonic() - began < 10
            assert watching.result()[-1][1] != "error"
    with live(tmp_path) as second:
        run = second.run(running)
        assert (run["state"], run["message"]) == ("interrupted", "the server ended; 1 of 2 trials finished")


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.soak), signal.SIGKILL])
def test_runs_that_had_hardly_been_asked_for_are_not_lost(tmp_path: Path, number: signal.Signals) -> None:
    with live(tmp_path) as first:
        asked = [first.submit(set=[f"seed={seed}", "sweep.data_size=1MB"]) for seed in range(3)]
        first.client.close()
        first.process.send_signal(number)
        first.process.wait(120)
    with live(tmp_path) as second:
        for run_id in asked:
            run = second.until(run_id, lambda run: run["ended_at"])
            if run["state"] == "interrupted":
                second.client.post(f"/api/v1/runs/{run_id}/resume")
            assert second.until_state(run_id, "complete")["trials_finished"] == 1


@pytest.mark.slow
def test_a_connection_outlives_the_patience_of_clients(server: Live) -> None:
    patience_s = httpx.Limits().keepalive_expiry
    assert patience_s is not None
    with closing(HTTPConnection(server.address.removeprefix("http://"))) as connection:
        for pause_s in (0, patience_s + 0.5):
            time.sleep(pause_s)
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            assert (answer.status, answer.read() != b"") == (200, True)
            assert connection.sock is not None


@pytest.mark.soak
def test_two_hundred_readers_and_twenty_runs_lose_nothing(tmp_path: Path) -> None:
    with live(tmp_path) as server:
        first = server.until_state(server.submit(), "complete")["trials"][0]["id"]
        paths = [
            *("/api/v1/trials", f"/api/v1/trials/{first}", "/api/v1/runs", "/healthz"),
            f"/api/v1/trials/{first}/figures/timeline",
            f"/api/v1/trials/{first}/tables/chunks",
        ]

        def read(reader: int) -> list[int]:
            return [server.client.get(paths[(reader + turn) % len(paths)]).status_code for turn in range(2)]

        with ThreadPoolExecutor(200) as pool:
            reading = [pool.submit(read, number) for number in range(200)]
            queued = [server.submit(set=[f"seed={seed}", "sweep.data_size=1MB"]) for seed in range(20)]
            assert {status for each in reading for status in each.result()} == {200}
        for run_id in queued:
            assert server.until_state(run_id, "complete")["trials_finished"] == 1
        trials = server.client.get("/api/v1/trials?limit=100").json()
        assert trials["total"] == len({row["id"] for row in trials["trials"]}) == 2 + 20 - 1
        assert server.client.get("/api/v1/runs?state=complete").json()["total"] == 21


@pytest.mark.parametrize(
    "body", [{"yaml": SMALL, "threads": 0}, {"yaml": SMALL, "tags": ["a,b"]}, {"yaml": SMALL, "path": "/"}]
)
def test_a_run_of_another_form_is_refused(reader: TestClient, body: dict[str, object]) -> None:
    assert reader.post("/api/v1/runs", json=body).status_code == 422
