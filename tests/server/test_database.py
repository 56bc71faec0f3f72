"""A server whose catalog is in PostgreSQL, and the database killed under it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.live import ENDLESS, SMALL, live
from tests.server.test_runs import in_second_trial
from tests.support import postgresql


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
