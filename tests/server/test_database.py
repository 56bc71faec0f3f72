"""A server whose catalog is in PostgreSQL, and the database killed under it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.claims import DISTURBANCES, Change, faults, read_history, team
from tests.server.conftest import ClientOf
from tests.server.live import ENDLESS, SMALL, live
from tests.server.test_runs import in_second_trial
from tests.support import postgresql

from fabricbench.server.queue.events import Events
from fabricbench.server.queue.scheduler import Scheduler
from fabricbench.server.settings import Settings
from fabricbench.store import StoreError, Workspace


@pytest.fixture
def database() -> Iterator[postgresql.Server]:
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgresql.server() as server:
        yield server


def test_a_killed_database_loses_no_run(
    database: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRICBENCH_CATALOG_URL", database.new_database("bench"))
    with live(tmp_path, "--workers", "1") as server:
        done = server.until_state(server.submit(), "complete")
        running = server.submit(ENDLESS)
        server.until(running, in_second_trial)
        waiting = server.submit(set=["seed=5"])
        database.kill()
        assert server.client.get("/api/v1/trials").status_code == 503
        assert server.client.post("/api/v1/runs", json={"yaml": SMALL}).status_code == 503
        assert server.client.get("/healthz").status_code == 200
        time.sleep(1)
        database.start()
        assert server.run(done["id"])["trials_finished"] == 2
        server.client.post(f"/api/v1/runs/{running}/cancel")
        assert server.until(running, lambda run: run["ended_at"])["trials_finished"] == 1
        assert server.until_state(waiting, "complete")["trials_finished"] == 2
        listed = server.client.get("/api/v1/trials?status=complete").json()
        assert listed["total"] == 2 + 1 + 2


@pytest.mark.soak
def test_each_run_is_claimed_once_whatever_happens_to_two_servers(tmp_path: Path) -> None:
    """`tests.server.claims` does the same for longer, and chooses what happens at random."""
    if postgresql.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with team(tmp_path, count=2, seed=1) as servers:
        for number, happens in enumerate(dict.fromkeys(DISTURBANCES)):
            servers.submit(number)
            happens(servers)
        servers.finish(120)
        history = read_history(servers.url)
        assert faults(history, servers.accepted) == []
        assert len(servers.accepted) > 1
        for run_id in servers.accepted:
            trials = servers.servers[0].run(run_id)["trials"]
            assert {Workspace.open(tmp_path).find(each["id"]).status for each in trials} == {"complete"}


def made(*steps: tuple[str, str | None, str, int]) -> list[Change]:
    """Return a history of one run with one trial: kind, state before and after, and process."""
    return [
        Change(number, kind, kind[0], before, after, 0, pid, '[{"id": "t"}]' if kind == "run" else "1")
        for number, (kind, before, after, pid) in enumerate(steps)
    ]


ASKED = ("run", None, "queued", 0)
CLAIMED = ("run", "queued", "running", 7)
BEGUN, FINISHED = ("trial", None, "running", 7), ("trial", "running", "complete", 7)
ENDED = ("run", "running", "complete", 0)


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ([ASKED, CLAIMED, BEGUN, FINISHED, ENDED], ""),
        ([ASKED, CLAIMED, BEGUN, FINISHED], "accepted and is running"),
        ([ASKED, CLAIMED, ENDED], "has no record"),
        ([ASKED, CLAIMED, CLAIMED, BEGUN, FINISHED, ENDED], "claimed 2 times"),
        ([ASKED, CLAIMED, ("run", "running", "running", 8), BEGUN, FINISHED, ENDED], "taken over"),
        ([ASKED, CLAIMED, ("trial", None, "running", 8), FINISHED, ENDED], "had not claimed"),
        ([ASKED, CLAIMED, BEGUN, ENDED, FINISHED], "had lost its run"),
        ([ASKED, CLAIMED, FINISHED, ENDED], "ended without running"),
    ],
)
def test_the_judge_finds_what_must_not_be(history: list[tuple[str, str | None, str, int]], told: str) -> None:
    found = faults(made(*history), ["r"])
    assert bool(found) == bool(told)
    assert told in "\n".join(found)
    assert "accepted and is lost" in faults([], ["r"])[0]


def test_a_worker_is_heard_out_though_the_catalog_is_out_of_reach(tmp_path: Path) -> None:
    def out_of_reach(_run_id: str) -> None:
        raise StoreError("catalog", "cannot be reached", "")

    events = Events()
    scheduler = Scheduler(Workspace.open(tmp_path, create=True), Settings(), events)
    scheduler.start(out_of_reach)
    scheduler._handle_event("r", {"event": "claimed", "id": "r"})
    scheduler._handle_event("r", {"event": "trial", "id": "t"})
    assert [event.kind for event in events.since("r", 0)] == ["trial"]
    scheduler.stop()


def test_runs_go_on_after_a_worker_could_not_be_started(
    tmp_path: Path, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        monkeypatch.undo()
        raise OSError("Resource temporarily unavailable")

    client = client_of(tmp_path)
    monkeypatch.setattr("fabricbench.server.queue.scheduler.subprocess.Popen", refuse)
    run_id = client.post("/api/v1/runs", json={"yaml": SMALL}).json()["id"]
    deadline = time.monotonic() + 60
    while client.get(f"/api/v1/runs/{run_id}").json()["state"] != "complete":
        assert time.monotonic() < deadline
        time.sleep(0.1)
