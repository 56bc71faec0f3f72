"""`explain`: causes and remedies of a trial, and what the remedies come to when they are tried."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import run_plan
from tests.integration.test_remedies import ALL_TO_ALL, HOG, PLANS, SPRAYED, leaves, switch

from fabricbench.cli.main import run
from fabricbench.plan.estimates.cost import Limits
from fabricbench.runner.trials import Outcome, Runner
from fabricbench.store import Trial, Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


def trial_of(root: Path, text: str) -> Trial:
    path = root.parent / "slow.yaml"
    path.write_text(text)
    return run_plan(root, path)[0]


def explained(capsys: pytest.CaptureFixture[str], root: Path, *options: str, status: int = 0) -> str:
    assert run(["explain", *options, "--workspace", str(root)]) == status
    return capsys.readouterr().out


def in_json(capsys: pytest.CaptureFixture[str], root: Path, *options: str) -> Any:
    return json.loads(explained(capsys, root, *options, "--format", "json"))


def test_the_root_comes_first_with_its_remedies(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = trial_of(root, PLANS["lossy-fabric"])
    text = explained(capsys, root)
    assert text.startswith(
        f"trial {trial.id}\nslow, job test: all-to-all parallel, 8 ranks, data size 4 MB: 67.2"
    )
    assert "- lossy fabric: PFC and ECN are both off, and 1,607 frames (12 % of all)" in text
    assert "  remedy: make data lossless: `-s fabric.switch.pfc=on`" in text
    first = in_json(capsys, root, trial.id)["jobs"][0]["causes"][0]
    assert first["cause"] == "lossy-fabric"
    assert first["where"][0] == "leaf1 port 4 to spine0"
    assert first["remedies"][0] == {
        "what": "make data lossless",
        "set": ["fabric.switch.pfc=on"],
        "options": "-s fabric.switch.pfc=on",
    }


def test_remedies_are_tried_and_stay_in_the_workspace(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = trial_of(root, PLANS["lossy-fabric"])
    tried = in_json(capsys, root, trial.id, "--try")["tried"]
    assert tried[0]["set"] == ["fabric.switch.pfc=on"]
    assert tried[0]["helps"]
    assert tried[0]["jobs"][0]["times_faster"] > 500
    times = [each["jobs"][0]["completion_time_ms"] for each in tried]
    assert times == sorted(times)
    assert 2 <= len(tried) <= 3
    store = Workspace.open(root)
    best = store.find(tried[0]["trial"])
    assert best.facts.overrides[-1] == "fabric.switch.pfc=on"
    assert best.facts.run_spec["seed"] == trial.facts.run_spec["seed"]
    assert run(["compare", trial.id, best.id, "--workspace", str(root)]) == 0
    assert "switch" in capsys.readouterr().out
    before = len(store.trials())
    text = explained(capsys, root, trial.id, "--try")
    assert len(store.trials()) == before
    assert f"-s fabric.switch.pfc=on helps most; `fabricbench compare {trial.id} {best.id}`" in text


SWEPT = """
fabricbench: 1
name: swept
fabric:
  topology: {kind: single-switch, hosts: 4, host_link: 100Gbps}
transport: {ack_every: 1}
jobs:
  - {name: test, collective: all-to-all}
sweep: {transport.window: [1, 2], data_size: 1MB}
"""


def test_a_swept_trial_is_tried_with_its_own_values(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root.parent / "swept.yaml"
    path.write_text(SWEPT)
    for trial in run_plan(root, path):
        first, *others = in_json(capsys, root, trial.id, "--try")["tried"]
        assert first["set"] == ["transport.window=8"]
        assert first["helps"]
        assert not others
        found = Workspace.open(root).find(first["trial"])
        changed = {**trial.facts.run_spec, "transport": found.facts.run_spec["transport"]}
        assert found.facts.run_spec == changed


def test_a_remedy_at_the_cost_of_another_job_says_so(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial_of(root, PLANS["pfc-head-of-line-blocking"])
    assert "helps most, and slows job hog down" in explained(capsys, root, "--try")


def test_remedies_that_do_not_help_are_said_not_to(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Thresholds of ECN that are above the one of PFC: nothing is marked."""
    plan = leaves(4) + "  switch: {pfc: on}\n" + SPRAYED + HOG
    trial_of(root, plan.replace("{pfc: on}", "{pfc: on, ecn: {kmin: 8MB, kmax: 9MB, pmax: 1%}, buffer: 4MB}"))
    assert explained(capsys, root, "--try").endswith("none of them helps\n")


def test_where_nothing_is_a_setting_nothing_is_tried(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = leaves(2) + "  switch: {pfc: on}\n" + SPRAYED + ALL_TO_ALL
    trial_of(root, plan)
    assert "nothing to try: no remedy is a setting of the plan" in explained(capsys, root, "--try")


def test_a_healthy_trial_needs_no_explanation(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial_of(root, switch() + ALL_TO_ALL.replace("4MB", "64MB"))
    assert "nothing to explain" in explained(capsys, root, "--try")


def test_a_remedy_beyond_the_limits_is_not_run(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial_of(root, PLANS["lossy-fabric"])
    monkeypatch.setattr("fabricbench.runner.loading.machine_limits", lambda _minutes: Limits(None, 1))
    tried = in_json(capsys, root, "--try")["tried"]
    assert all(each["trial"] is None and "takes up to" in each["refused"] for each in tried)
    assert all(each["trial"] for each in in_json(capsys, root, "--try", "--force")["tried"])


def test_ctrl_c_keeps_what_finished(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial_of(root, PLANS["lossy-fabric"])
    really, calls = Runner.run, []

    def stopped(self: Runner, loaded: Any) -> Outcome:
        calls.append(loaded)
        return really(self, loaded) if len(calls) == 1 else Outcome([], 1, signal.SIGINT)

    monkeypatch.setattr(Runner, "run", stopped)
    text = explained(capsys, root, "--try", status=130)
    assert len(calls) == 2
    assert "-s fabric.switch.pfc=on helps most" in text


def test_what_was_measured_is_explained_and_nothing_tried(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = Path(__file__).parents[1] / "measured/samples"
    sample = next(path for path in sorted(printed.rglob("*")) if path.is_file() and "nccl" in path.name)
    assert run(["import", str(sample), "--workspace", str(root)]) == 0
    capsys.readouterr()
    assert "the record holds no counters of the fabric" in explained(capsys, root)
    assert run(["explain", "--try", "--workspace", str(root)]) == 2
    assert "was measured elsewhere, and remedies are tried in the simulator" in capsys.readouterr().err


def test_csv_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial_of(root, switch() + ALL_TO_ALL)
    assert run(["explain", "--format", "csv", "--workspace", str(root)]) == 2
    assert "found --format csv; allowed: table, json" in capsys.readouterr().err
