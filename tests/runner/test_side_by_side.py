"""Trials side by side: the same records in the same order, and what happens when one does not end well."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend, SharedFakeBackend

from fabricbench.backend.protocol import Backend, RefusedError
from fabricbench.runner.concurrency import Pace, SharedResources
from fabricbench.runner.listener import Quiet
from fabricbench.runner.loading import backend_of, load
from fabricbench.runner.messages import Failed, TrialProcessError
from fabricbench.runner.trials import Outcome, Runner
from fabricbench.store import DiskFullError, Trial, TrialFacts, Workspace

MB = 1 << 20
SIZES = "sweep.data_size=[1MB, 2MB, 3MB, 4MB]"
OF_THE_MACHINE = {"wall_s", "cpu_s", "peak_rss_bytes", "threads"}


class Recorder(Quiet):
    """Remembers what began, failed and finished, by number."""

    def __init__(self, gate: Path) -> None:
        self.calls: list[tuple[str, int]] = []
        self.gate = gate

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002
        self.calls.append(("started", number))

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:  # noqa: ARG002
        self.calls.append(("failed", number))
        (self.gate / "failed").touch()

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:  # noqa: ARG002
        self.calls.append(("resumed" if resumed else "finished", number))


def run(
    workspace: Workspace, plan: Path, backend: Backend, *overrides: str, jobs: int | None = 2, **options: Any
) -> Outcome:
    loaded = load(str(plan), [SIZES, *overrides])
    return Runner(workspace, backend, jobs=jobs, **options).run(loaded)


def statuses(workspace: Workspace) -> list[tuple[int, str]]:
    return [(trial.facts.data_size_bytes // MB, trial.status) for trial in workspace.trials()]


def files(workspace: Workspace) -> dict[str, bytes]:
    found = (path for path in workspace.records.rglob("*") if path.is_file())
    return {str(path.relative_to(workspace.records)): path.read_bytes() for path in found}


def rows(workspace: Workspace) -> list[tuple[Any, ...]]:
    return [
        (trial.attempt, trial.facts, trial.status, trial.summary, trial.results)
        for trial in workspace.trials()
    ]


def test_records_and_catalog_are_the_same_as_one_after_the_other(tmp_path: Path, plan: Path) -> None:
    spaces = [Workspace.open(tmp_path / name, create=True) for name in ("one", "two")]
    backend = backend_of(load(str(plan)))
    for jobs, workspace in enumerate(spaces, 1):
        run(workspace, plan, backend, "iterations=2", jobs=jobs)
    assert len(files(spaces[0])) > 8 * 8
    assert files(spaces[0]) == files(spaces[1])
    assert rows(spaces[0]) == rows(spaces[1])
    assert spaces[0].find("latest").id == spaces[1].find("latest").id


def test_a_trial_that_is_done_early_waits_for_those_ahead_of_it(
    workspace: Workspace, plan: Path, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path)
    backend = SharedFakeBackend(gate=tmp_path, after={MB: str(2 * MB), 2 * MB: str(4 * MB)})
    outcome = run(workspace, plan, backend, jobs=4, listener=recorder)
    assert [call for call in recorder.calls if call[0] == "finished"] == [
        ("finished", number) for number in (1, 2, 3, 4)
    ]
    assert [trial.attempt for trial in outcome.trials] == [1, 2, 3, 4]
    ended = [trial.ended_at or "" for trial in outcome.trials]
    assert ended == sorted(ended)
    assert outcome.trials[3].started_at < ended[0]  # they did run at once
    assert workspace.find("latest").facts.data_size_bytes == 4 * MB


def test_each_shares_the_cores_with_as_many_as_run_beside_it(
    workspace: Workspace, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricbench.runner.concurrency.available_cores", lambda: 12)
    outcome = run(workspace, plan, SharedFakeBackend(), jobs=3)
    assert [(trial.summary or {})["window_ps"] for trial in outcome.trials][:3] == [4, 4, 4]


def test_a_failing_trial_lets_those_beside_it_end_and_starts_no_other(
    workspace: Workspace, plan: Path, tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path)
    backend = SharedFakeBackend(gate=tmp_path, after={2 * MB: "failed"}, refused=(MB,))
    with pytest.raises(RefusedError) as caught:
        run(workspace, plan, backend, listener=recorder)
    assert (caught.value.field, caught.value.hint) == ("jobs", "do c")
    assert "the backend refuses the trial: jobs: found a; allowed: b" in caught.value.text()
    assert statuses(workspace) == [(1, "failed"), (2, "complete")]
    assert recorder.calls == [("started", 1), ("started", 2), ("failed", 1), ("finished", 2)]
    assert "jobs: found a" in workspace.trials()[0].message
    assert list(workspace.records.glob(".*")) == []


def test_a_process_that_is_killed_is_told_with_its_trial(
    workspace: Workspace, plan: Path, tmp_path: Path
) -> None:
    backend = SharedFakeBackend(gate=tmp_path, after={MB: "failed"}, killed=(2 * MB,))
    with pytest.raises(TrialProcessError) as caught:
        run(workspace, plan, backend, listener=Recorder(tmp_path))
    text = caught.value.text()
    assert text.startswith("error: the process of trial 2 of 4 (2 MB) was ended by SIGKILL\nhint: ")
    assert statuses(workspace) == [(1, "complete"), (2, "failed")]
    # What was not run is run by --resume, and nothing else.
    recorder = Recorder(tmp_path)
    outcome = run(workspace, plan, SharedFakeBackend(), listener=recorder, resume=True)
    assert recorder.calls[0] == ("started", 2)
    assert sorted(recorder.calls)[:5] == [
        *(("finished", number) for number in (2, 3, 4)),
        ("resumed", 1),
        ("started", 2),
    ]
    assert [trial.facts.data_size_bytes // MB for trial in outcome.trials] == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_is_whole_and_resuming_runs_the_rest(
    workspace: Workspace, plan: Path, tmp_path: Path, number: signal.Signals
) -> None:
    class StopAtFourth(Recorder):
        def trial_started(self, facts: TrialFacts, number_: int, count: int) -> None:
            super().trial_started(facts, number_, count)
            if number_ == 4:  # so that one of the others beside the first has ended
                os.kill(os.getpid(), number)

    handler = signal.getsignal(signal.SIGTERM)
    backend = SharedFakeBackend(gate=tmp_path, after={MB: "never", 4 * MB: "never"})
    outcome = run(workspace, plan, backend, listener=StopAtFourth(tmp_path))
    assert outcome.stopped_by == number
    assert [trial.facts.data_size_bytes // MB for trial in outcome.trials] == [2, 3]
    assert statuses(workspace) == [(1, "interrupted"), (2, "complete"), (3, "complete"), (4, "interrupted")]
    assert list(workspace.records.glob(".*")) == []
    assert signal.getsignal(signal.SIGTERM) == handler
    again = run(workspace, plan, SharedFakeBackend(), resume=True)
    assert [trial.facts.data_size_bytes // MB for trial in again.trials] == [1, 2, 3, 4]
    assert all(status == "complete" for _, status in statuses(workspace))


def test_what_a_listener_raises_ends_all_and_comes_out(workspace: Workspace, plan: Path) -> None:
    class Broken(Quiet):
        def trial_progressed(self, progress: Any, number: int) -> None:  # noqa: ARG002 -- its signature
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        run(workspace, plan, SharedFakeBackend(after={2 * MB: "never"}), listener=Broken())
    assert statuses(workspace) == [(1, "failed"), (2, "failed")]


def test_a_backend_that_cannot_share_and_one_job_stay_in_this_process(
    workspace: Workspace, plan: Path
) -> None:
    seen: list[int] = []
    for backend, jobs in (
        (FakeBackend(on_first_batch=lambda: seen.append(os.getpid())), 4),
        (SharedFakeBackend(on_first_batch=lambda: seen.append(os.getpid())), 1),
        (SharedFakeBackend(on_first_batch=lambda: seen.append(os.getpid())), None),  # short by its estimate
    ):
        run(workspace, plan, backend, jobs=jobs)
    assert seen == [os.getpid()] * 12


class OddError(Exception):
    def __init__(self, given: object) -> None:
        super().__init__("odd")
        self.given = given


@pytest.mark.parametrize(
    "error",
    [
        DiskFullError(Path("x"), "full"),
        RefusedError("a", "b", "c", "d"),
        MemoryError(),
        FileNotFoundError(2, "none", "file"),
        OddError(7),
    ],
)
def test_an_error_arrives_as_it_was(error: Exception) -> None:
    arrived = Failed.by(error).error
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived).keys() - {"__notes__"} == vars(error).keys() - {"__notes__"}


def test_an_error_that_cannot_be_sent_says_what_it_was() -> None:
    arrived = Failed.by(OddError(lambda: 1)).error
    assert type(arrived) is RuntimeError
    assert str(arrived) == "OddError: odd"
    assert "OddError: odd" in arrived.__notes__[0]


@pytest.mark.parametrize(
    ("running", "wanted", "fits"),
    [
        ([], 1000, True),  # one alone always may
        ([40], 60, True),
        ([40], 61, False),
        ([40, 30], 30, True),
        ([40, 30, 1], 1, False),  # three places
        ([None], 1, False),
        ([1], None, False),
    ],
)
def test_memory_and_places_limit_what_runs_at_once(
    running: list[int | None], wanted: int | None, *, fits: bool
) -> None:
    assert SharedResources(3, 8, 100).has_room(running, wanted) is fits


def test_places_that_are_taken_back_and_a_machine_that_tells_no_memory() -> None:
    allowed = 2
    shared = SharedResources(8, 8, None, lambda: allowed)
    assert shared.has_room([10**15], 10**15)
    assert not shared.has_room([1, 1], 1)
    allowed = 0
    assert shared.has_room([], 1)


def test_cores_are_for_as_many_as_fit() -> None:
    machine = SharedResources(4, 16, 100)
    assert [machine.cores_of(memory, left=8) for memory in (1, 25, 34, 60, 200, None)] == [4, 4, 8, 16, 16, 4]
    assert [machine.cores_of(1, left) for left in (1, 2, 3)] == [16, 8, 5]


def pace(*times_ms: int, is_forced: bool = False) -> Pace:
    estimates: list[Any] = [{"time_ms": each} for each in times_ms]
    return Pace(SharedResources(2, 2, None), estimates, is_forced=is_forced)


def test_short_trials_begin_one_after_the_other_until_they_prove_long() -> None:
    short = pace(*[3000] * 10)
    assert not short.is_concurrent(0)
    short.took(0, 0.1)  # what repeats is skipped
    assert not short.is_concurrent(1)
    short.took(1, 3.0)
    assert short.is_concurrent(2)
    assert not short.is_concurrent(9), "the last one is alone"


def test_long_trials_run_side_by_side_at_once_unless_nothing_is_saved() -> None:
    assert pace(20_000, 20_000).is_concurrent(0)
    assert not pace(20_000, 1_000).is_concurrent(0)
    assert pace(1, 1, is_forced=True).is_concurrent(0)


def test_a_plan_larger_than_the_memory_runs_one_at_a_time(
    workspace: Workspace, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricbench.runner.concurrency.available_memory_bytes", lambda: 1)
    outcome = run(workspace, plan, SharedFakeBackend(), jobs=4)
    times = [(trial.started_at, trial.ended_at or "") for trial in outcome.trials]
    assert all(first[1] <= second[0] for first, second in pairwise(times))
    assert [(trial.summary or {})["window_ps"] for trial in outcome.trials] == [
        len(os.sched_getaffinity(0))
    ] * 4
