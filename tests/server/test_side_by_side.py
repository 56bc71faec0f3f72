"""A run of the queue whose trials run side by side: what is told of them, and who gets how many places."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.samples import PLAN

from fabricbench.runner import concurrency
from fabricbench.server.queue.hosts_files import HostsFiles
from fabricbench.server.queue.scheduler import Scheduler, WorkerProcess
from fabricbench.server.workers import progress_events as telling
from fabricbench.server.workers import run_worker
from fabricbench.store import Workspace
from fabricbench.store.runs import QueuedRun, RunQueue

FOUR = PLAN.replace("[1MB, 2MB]", "[1MB, 2MB, 3MB, 4MB]")
MB = 1 << 20


@pytest.fixture
def store(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "workspace", create=True)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    seen: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(telling, "tell", lambda event, **content: seen.append((event, content)))
    return seen


def claimed(store: Workspace) -> QueuedRun:
    queue = RunQueue(store)
    options = {"overrides": [], "variants": [], "tags": ["mine"], "threads": 1, "force": False, "count": 4}
    planned = [{"data_size_bytes": size * MB} for size in (1, 2, 3, 4)]
    queue.add(plan="small", title="", plan_source=FOUR, options=options, planned=planned, backend="sim")
    run = queue.claim()
    assert run is not None
    return run


def test_trials_take_the_places_that_there_are(
    store: Workspace, told: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "_LONG_MS", 0)
    monkeypatch.setattr(concurrency, "_GAIN_MS", 0)
    monkeypatch.setattr("fabricbench.runner.concurrency.available_cores", lambda: 8)
    run, control = claimed(store), SimpleNamespace(places=2)
    phases = run_worker._phases(run, HostsFiles({}, store.root), None)
    assert run_worker._run(phases, run, store, control) == (4, True)  # type: ignore[arg-type]
    started = [content for event, content in told if event == "trial_started"]
    assert [each["number"] for each in started] == [1, 2, 3, 4]
    assert max(each["running"] for each in started) == 2
    assert [content["number"] for event, content in told if event == "trial"] == [1, 2, 3, 4]
    shares = [content["share"] for event, content in told if event == "progress"]
    assert shares == sorted(shares)
    assert len(store.trials(tag="mine")) == 4


def progress(delivered: int) -> Any:
    return {"delivered_bytes": delivered, "total_bytes": 100, "sim_ps": 1, "wall_s": 1.0, "samples": []}


def test_progress_is_that_of_the_first_that_runs_and_the_share_that_of_all(
    store: Workspace, told: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "_TELL_S", 0)
    teller = telling.Teller(claimed(store), store)
    for number in (1, 2):
        facts: Any = SimpleNamespace(id=f"trial{number}", data_size_bytes=number * MB)
        teller.trial_started(facts, number, 4)
    teller.trial_progressed(progress(50), 2)
    assert [event for event, _ in told] == ["trial_started"] * 2
    teller.trial_progressed(progress(50), 1)
    event, content = told[-1]
    assert (event, content["trial"], content["number"], content["running"]) == ("progress", "trial1", 1, 2)
    assert content["trial_share"] == 0.5
    assert content["share"] == pytest.approx((0.5 * 1 + 0.5 * 2) / 10)
    teller.trial_failed(SimpleNamespace(id="trial1"), 1, 4)  # type: ignore[arg-type]
    teller.trial_progressed(progress(60), 2)
    assert told[-1][1]["trial"] == "trial2"


def test_trials_may_begin_in_any_order_and_again(
    store: Workspace, told: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "_TELL_S", float("inf"))
    teller = telling.Teller(claimed(store), store)

    def begin(number: int) -> None:
        facts: Any = SimpleNamespace(id=f"trial{number}", data_size_bytes=number * MB)
        teller.trial_started(facts, number, 4)

    def finish(number: int) -> None:
        trial: Any = SimpleNamespace(id=f"trial{number}", status="complete")
        monkeypatch.setattr(telling, "change_tags", lambda *_, **__: None)
        teller.trial_finished(trial, number, resumed=False)

    begin(2)
    teller.trial_progressed(progress(50), 2)
    begin(1)
    finish(1)  # of which nothing was told
    begin(2)  # its worker was lost
    teller.trial_progressed(progress(10), 2)
    finish(2)
    progressed = [(each["trial"], each["trial_share"]) for event, each in told if event == "progress"]
    assert progressed == [("trial2", 0.1)]
    assert [each["number"] for event, each in told if event == "trial"] == [1, 2]


def test_the_worker_hears_how_many_places_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_worker.Control, "_end", lambda _: None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("places 3\nplaces 2\ncancel\nplaces 7\n"))
    control = run_worker.Control()
    control._thread.join(timeout=10)
    assert (control.places, control.is_cancelled, control.is_over) == (2, True, True)


def test_runs_share_the_places_alike() -> None:
    said: list[str] = []

    def process() -> WorkerProcess:
        made = WorkerProcess.__new__(WorkerProcess)
        made._places, made._say = 0, said.append  # type: ignore[assignment, method-assign]
        return made

    scheduler = Scheduler.__new__(Scheduler)
    scheduler._settings = SimpleNamespace(workers=5)  # type: ignore[assignment]
    scheduler._workers = [process()]
    scheduler._share_places()
    scheduler._share_places()  # nothing has changed
    scheduler._workers.append(process())
    scheduler._share_places()
    assert said == ["places 5\n", "places 2\n", "places 2\n"]
