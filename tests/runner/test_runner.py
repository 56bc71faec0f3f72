"""The runner: order, results, resuming, and what stops it."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN

from fabricbench.errors import UserError
from fabricbench.plan.errors import PlanError
from fabricbench.runner.loading import backend_of, load
from fabricbench.runner.trial_facts import suite_id, trial_id
from fabricbench.runner.trials import Outcome, Runner
from fabricbench.store import DiskFullError, Trial, TrialFacts, Workspace


class Recorder:
    """A listener that remembers what it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def trial_started(self, facts: TrialFacts, number: int, count: int) -> None:
        self.calls.append(("started", facts.data_size_bytes, number, count))

    def trial_progressed(self, progress: Any, number: int) -> None:  # noqa: ARG002
        self.calls.append(("progressed", progress["delivered_bytes"]))

    def trial_finished(self, trial: Trial, number: int, *, resumed: bool) -> None:  # noqa: ARG002
        self.calls.append(("finished", trial.status, resumed))

    def trial_failed(self, facts: TrialFacts, number: int, count: int) -> None:
        self.calls.append(("failed", facts.data_size_bytes, number, count))


def run(workspace: Workspace, plan: Path, backend: FakeBackend, *overrides: str, **options: Any) -> Outcome:
    return Runner(workspace, backend, **options).run(load(str(plan), overrides))


def test_the_id_is_the_hash_of_spec_backend_and_version(plan: Path) -> None:
    planned = load(str(plan)).trials[0]
    text = f"{planned.spec_json}\nother\n7"
    backend = FakeBackend(name="other", version="7")
    assert trial_id(planned, backend) == hashlib.sha256(text.encode()).hexdigest()[:12]


def test_resuming_never_crosses_backends_or_versions(workspace: Workspace, plan: Path) -> None:
    backends = [FakeBackend(name=name, version=version) for name in ("one", "two") for version in ("1", "2")]
    for backend in backends:
        listener = Recorder()
        run(workspace, plan, backend, resume=True, listener=listener)
        assert [call for call in listener.calls if call[0] == "finished"] == [
            ("finished", "complete", False)
        ] * 2
    made_by = [(trial.facts.backend, trial.facts.backend_version) for trial in workspace.trials()]
    assert made_by == [(backend.name, backend.version) for backend in backends for _ in range(2)]
    again = Recorder()
    run(workspace, plan, backends[1], resume=True, listener=again)
    assert again.calls == [("finished", "complete", True)] * 2


def test_a_new_release_with_the_same_results_resumes_what_is_there(workspace: Workspace, plan: Path) -> None:
    run(workspace, plan, FakeBackend(engine_version="0.1.0"))
    listener = Recorder()
    run(workspace, plan, FakeBackend(engine_version="0.2.0"), resume=True, listener=listener)
    assert listener.calls == [("finished", "complete", True)] * 2


def test_trials_run_in_the_order_of_the_plan(workspace: Workspace, plan: Path) -> None:
    recorder = Recorder()
    outcome = run(workspace, plan, FakeBackend(), "iterations=2", listener=recorder)
    places = [(trial.facts.data_size_bytes, trial.facts.iteration) for trial in outcome.trials]
    assert places == [(1 << 20, 0), (1 << 20, 1), (2 << 20, 0), (2 << 20, 1)]
    assert (outcome.count, outcome.stopped_by) == (4, None)
    assert recorder.calls[:3] == [
        ("started", 1 << 20, 1, 4),
        ("progressed", 0),
        ("finished", "complete", False),
    ]
    assert [call[2] for call in recorder.calls if call[0] == "started"] == [1, 2, 3, 4]


def test_a_trial_knows_what_was_run(workspace: Workspace, plan: Path) -> None:
    outcome = run(workspace, plan, FakeBackend(), "tag=night", "seed=5", threads=3)
    facts = outcome.trials[1].facts
    assert (facts.plan, facts.title, facts.position) == ("small", "A small all-to-all", 1)
    assert (facts.tag, facts.overrides) == ("night", ("tag=night", "seed=5"))
    assert facts.plan_source == PLAN
    assert facts.run_spec["seed"] == 5
    assert outcome.trials[1].engine["threads"] == 3
    assert len(workspace.suite(outcome.trials[0])) == 2


def test_a_published_row_goes_with_its_data_size(workspace: Workspace, plan: Path) -> None:
    table = plan.with_name("table.csv")
    table.write_text("# A lab\ndata_size_bytes,busbw_gb_per_s\n2097152,40\n")
    outcome = run(workspace, plan, FakeBackend(), "published=table.csv")
    first, second = (trial.facts.published for trial in outcome.trials)
    assert first is None
    assert second == {"table": "table.csv", "source": "A lab", "values": {"busbw_gb_per_s": 40.0}}


LOSSLESS = {"metric": "frames_lost", "min": None, "max": 0.0, "job": None}


def test_criteria_are_kept_with_the_trials_and_resuming_takes_the_new_ones(
    workspace: Workspace, plan: Path
) -> None:
    first = run(workspace, plan, FakeBackend(), "criteria=[{metric: frames_lost, max: 0}]")
    assert [trial.facts.criteria for trial in first.trials] == [(LOSSLESS,)] * 2
    second = run(workspace, plan, FakeBackend(), resume=True)
    assert [trial.facts.criteria for trial in second.trials] == [()] * 2
    assert [trial.attempt for trial in second.trials] == [trial.attempt for trial in first.trials]


def test_a_job_alone_is_not_judged(workspace: Workspace, plan: Path) -> None:
    jobs = (
        "jobs=[{name: a, ranks: 0-1, collective: all-to-all}, {name: b, ranks: 2-3, collective: all-to-all}]"
    )
    criteria = "criteria=[{metric: frames_lost, max: 0}]"
    outcome = run(workspace, plan, FakeBackend(), jobs, criteria, "solo=true", "sweep.data_size=1MB")
    told = {trial.facts.variant: trial.facts.criteria for trial in outcome.trials}
    assert told == {"solo/a": (), "solo/b": (), "base": (LOSSLESS,)}


def test_resuming_runs_only_what_has_no_record(workspace: Workspace, plan: Path) -> None:
    first = run(workspace, plan, FakeBackend(), "sweep.data_size=1MB")
    recorder = Recorder()
    second = run(workspace, plan, FakeBackend(), listener=recorder, resume=True)
    assert [trial.attempt for trial in second.trials] == [
        first.trials[0].attempt,
        first.trials[0].attempt + 1,
    ]
    finished = [call for call in recorder.calls if call[0] == "finished"]
    assert finished == [("finished", "complete", True), ("finished", "complete", False)]
    # Both belong to the larger plan now.
    assert len(workspace.suite(second.trials[0])) == 2


def test_without_resume_everything_runs_again(workspace: Workspace, plan: Path) -> None:
    first = run(workspace, plan, FakeBackend())
    second = run(workspace, plan, FakeBackend())
    assert [trial.id for trial in first.trials] == [trial.id for trial in second.trials]
    assert [trial.attempt for trial in second.trials] == [3, 4]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_has_finished(workspace: Workspace, plan: Path, sent: signal.Signals) -> None:
    class StopAtSecond(Recorder):
        def trial_progressed(self, progress: Any, number: int) -> None:  # noqa: ARG002 -- its signature
            if sum(call[0] == "started" for call in self.calls) == 2:
                os.kill(os.getpid(), sent)

    handler = signal.getsignal(signal.SIGTERM)
    outcome = run(workspace, plan, FakeBackend(), listener=StopAtSecond())
    assert outcome.stopped_by == sent
    assert [trial.facts.data_size_bytes for trial in outcome.trials] == [1 << 20]
    assert [trial.status for trial in workspace.trials()] == ["complete", "interrupted"]
    assert workspace.trials()[1].message == "stopped by the user"
    assert signal.getsignal(signal.SIGTERM) == handler


def test_an_error_of_the_backend_comes_out_and_marks_the_trial(workspace: Workspace, plan: Path) -> None:
    with pytest.raises(RuntimeError, match="broken"):
        run(workspace, plan, FakeBackend(error=RuntimeError("broken")))
    assert [trial.status for trial in workspace.trials()] == ["failed"]


def test_a_full_disk_comes_out_of_the_backend_as_it_is(workspace: Workspace, plan: Path) -> None:
    with pytest.raises(DiskFullError):
        run(workspace, plan, FakeBackend(error=DiskFullError(workspace.root, "full")))


def test_a_suite_depends_on_its_plan_its_trials_and_its_tag() -> None:
    given = [("p", ["a", "b"], ""), ("p", ["b", "a"], ""), ("p", ["a", "b"], "x"), ("p", ["ab"], "")]
    suites = {suite_id(*each) for each in [*given, ("q", ["a", "b"], ""), given[0]]}
    assert len(suites) == 5


def test_an_error_of_the_plan_has_the_text_of_its_problems(plan: Path) -> None:
    with pytest.raises(PlanError, match="10 ranks on 4 hosts") as caught:
        load(str(plan), ["jobs.0.ranks=0-9"])
    assert caught.value.text() == str(caught.value)


def test_the_simulator_refuses_a_spec_it_cannot_run(workspace: Workspace, plan: Path) -> None:
    loaded = load(str(plan))
    broken = dataclasses.replace(loaded.trials[0], run_spec=loaded.trials[0].run_spec | {"jobs": []})
    with pytest.raises(UserError, match="jobs") as caught:
        Runner(workspace, backend_of(loaded)).run(dataclasses.replace(loaded, trials=[broken]))
    text = caught.value.text()
    assert "the backend refuses the trial: jobs" in text
    assert "hint:" in text
