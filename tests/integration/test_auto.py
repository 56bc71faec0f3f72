"""`--backend auto`: packets or flows, trial by trial, and what results say of the choice and its error."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support import samples

import fabricbench as fb
from fabricbench.backend.sim import SimBackend
from fabricbench.plan.estimates import flow_error, traffic_kinds
from fabricbench.plan.estimates.flow_error import Measured
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.trial_units import units_of
from fabricbench.runner.loading import backend_of, load, notes_of
from fabricbench.runner.trial_facts import facts_of
from fabricbench.runner.trials import Runner
from fabricbench.store import Trial, Workspace

PLAN = """\
fabricbench: 1
name: both
fabric:
  topology: {kind: single-switch, hosts: 8, host_link: 400Gbps}
  switch: {pfc: on}
jobs:
  - {name: test, ranks: all, collective: all-reduce, algorithm: ring}
sweep: {data_size: [1MB, 64GB]}
"""
"""One trial of which packets take no time, and one of which they take minutes."""
ERROR = "error of completion times against packets, measured for steps: median 0.1 %, 95th percentile 1.0 %"
APPROXIMATE = f"results of a flow model are approximate; {ERROR}, worst 2.0 % of 50 jobs measured"
SHORT = "auto chose packets: they take no more than 10 s"
LONG = (
    "auto chose the flow model: packets take more than 10 s, and its error is known to be small for this "
    "kind of traffic, steps"
)


def call(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with its own simulator."""
    simulator: Any = SimBackend()
    return samples.call(*arguments, cwd=cwd, backend=simulator)


@pytest.fixture(scope="module", autouse=True)
def _measured(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Errors that stay what they are when the flow model changes, also for processes beside this one."""
    folder = tmp_path_factory.mktemp("errors")
    found = json.loads(flow_error.FILE.read_text())
    found["kinds"][traffic_kinds.STEPS] = vars(Measured(50, 0.1, 1.0, 2.0))
    (folder / "flow_error.json").write_text(json.dumps(found))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_error, "FILE", folder / "flow_error.json")
        flow_error._content.cache_clear()
        flow_error._CHOSEN.clear()
        yield
    flow_error._content.cache_clear()
    flow_error._CHOSEN.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the plan ran with `auto`."""
    root = tmp_path_factory.mktemp("auto")
    (root / "both.yaml").write_text(PLAN)
    finished = call("run", "both.yaml", "--backend", "auto", "--format", "json", cwd=root)
    assert finished.returncode == 0, finished.stderr
    (root / "stderr").write_text(finished.stderr)
    (root / "stdout").write_text(finished.stdout)
    return root


def trials_of(folder: Path) -> list[Trial]:
    return Workspace.open(folder / "fabricbench-workspace").trials()


def _without_notes(trial: Trial) -> dict[str, Any]:
    return {name: value for name, value in (trial.summary or {}).items() if name != "notes"}


def test_each_trial_is_that_of_the_backend_which_carried_it_out(folder: Path) -> None:
    found = {trial.facts.data_size_bytes: trial for trial in trials_of(folder)}
    assert [found[size].facts.backend for size in (1 << 20, 64 << 30)] == ["sim", "flow"]
    for trial in found.values():
        loaded = load(str(folder / "both.yaml"), [f"backend={trial.facts.backend}"])
        ids = [facts.id for _, facts in facts_of(loaded, backend_of(loaded))]
        assert trial.id in ids


def test_the_choice_is_told_before_the_run_and_kept_with_its_results(folder: Path) -> None:
    told = (folder / "stderr").read_text()
    for note in (SHORT, LONG, APPROXIMATE):
        assert f"note: 1 of 2 trials: {note}\n" in told
    shown = json.loads((folder / "stdout").read_text())["trials"]
    assert [trial["notes"] for trial in shown] == [[SHORT], [LONG, APPROXIMATE]]


def test_every_view_of_a_result_says_how_far_it_may_be_off(folder: Path) -> None:
    (trial,) = [trial for trial in trials_of(folder) if trial.facts.backend == "flow"]
    assert trial.notes == (LONG, APPROXIMATE)
    shown = call("show", trial.id, cwd=folder).stdout
    assert f"note: {LONG}\nnote: {APPROXIMATE}\n" in shown
    assert json.loads(call("show", trial.id, "--format", "json", cwd=folder).stdout)["trials"][0][
        "notes"
    ] == [
        LONG,
        APPROXIMATE,
    ]
    assert call("report", trial.id, "-o", "report.html", cwd=folder).returncode == 0
    assert f"1 of 2 trials: {APPROXIMATE}." in (folder / "report.html").read_text()
    stored = fb.workspace(folder / "fabricbench-workspace")
    assert stored.trial(trial.id).notes == [LONG, APPROXIMATE]


def test_a_result_keeps_what_was_measured_when_it_was_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow_error, "measured", lambda _: Measured(99, 9.0, 9.0, 9.0))
    (trial,) = [trial for trial in trials_of(folder) if trial.facts.backend == "flow"]
    assert f"note: {APPROXIMATE}\n" in call("show", trial.id, cwd=folder).stdout


def test_what_auto_ran_is_there_for_the_backends_themselves(folder: Path) -> None:
    before = {trial.attempt for trial in trials_of(folder)}
    for backend in ("auto", "flow"):
        arguments = ("--backend", backend, "--resume", "-s", "sweep.data_size=64GB")
        assert call("run", "both.yaml", *arguments, cwd=folder).returncode == 0
    assert {trial.attempt for trial in trials_of(folder)} == before


def test_trials_side_by_side_are_the_same(folder: Path, tmp_path: Path) -> None:
    loaded = load(str(folder / "both.yaml"), ["backend=auto"])
    store = Workspace.open(tmp_path / "workspace", create=True)
    outcome = Runner(store, backend_of(loaded), jobs=2).run(loaded)
    alone = {trial.id: trial for trial in trials_of(folder)}
    assert [trial.facts.backend for trial in outcome.trials] == ["sim", "flow"]
    for trial in outcome.trials:
        # Their processes read what was measured for themselves.
        assert trial.notes[:1] == alone[trial.id].notes[:1]
        assert _without_notes(trial) == _without_notes(alone[trial.id])


def test_the_python_api_takes_it(folder: Path, tmp_path: Path) -> None:
    plan = fb.load(str(folder / "both.yaml")).with_(backend="auto")
    found = fb.run(plan, workspace=tmp_path / "workspace")
    assert [trial.notes for trial in found] == [[SHORT], [LONG, APPROXIMATE]]


def test_a_campaign_carries_each_trial_out_by_what_suits_it(folder: Path) -> None:
    (folder / "campaign.yaml").write_text(
        "campaign: 1\nname: both\nplans:\n  - {plan: ./both.yaml, set: {backend: auto}}\n"
    )
    units = units_of(load_campaign(folder / "campaign.yaml"))
    assert [(unit.facts.backend, unit.backend.name, unit.planned.chosen) for unit in units] == [
        ("sim", "sim", SHORT),
        ("flow", "flow", LONG),
    ]


def test_what_is_told_of_a_campaign_says_how_far_its_results_may_be_off(folder: Path) -> None:
    (folder / "told.yaml").write_text(
        "campaign: 1\nname: told\nplans:\n  - {plan: ./both.yaml, set: {backend: auto}}\n"
    )
    told = f"1 of 2 trials: {APPROXIMATE}."
    assert f"note: {told}\n" in call("campaign", "show", "told.yaml", cwd=folder).stdout
    shown = json.loads(call("campaign", "show", "told.yaml", "--format", "json", cwd=folder).stdout)
    assert shown["notes"] == [f"1 of 2 trials: {note}." for note in (SHORT, LONG, APPROXIMATE)]
    assert call("campaign", "report", "told.yaml", "-o", "told.html", cwd=folder).returncode == 0
    assert told in (folder / "told.html").read_text()


def test_estimates_are_those_of_what_carries_a_trial_out(folder: Path) -> None:
    loaded = load(str(folder / "both.yaml"), ["backend=auto"])
    found = [estimate["packet_hops"] for estimate in loaded.estimates if estimate]
    assert found[0] > 0
    assert found[1] == 0


def refused(folder: Path, *arguments: str) -> str:
    finished = call(*arguments, cwd=folder)
    assert finished.returncode == 2, finished.stdout
    assert "Traceback" not in finished.stderr
    return finished.stderr


def test_an_unknown_backend_is_one_error_with_those_there_are(folder: Path) -> None:
    told = refused(folder, "run", "both.yaml", "--backend", "autos")
    assert 'found no backend "autos"; allowed: auto, flow, hosts, sim' in told
    assert told.count("error:") == 1


def test_what_may_be_simulated_has_no_twin(folder: Path) -> None:
    told = refused(folder, "run", "both.yaml", "--backend", "auto", "--twin")
    assert "found auto, of which the twin would be itself; allowed: flow, hosts" in told


def test_frames_of_a_plan_with_auto_are_those_of_the_simulator_alone(folder: Path) -> None:
    told = refused(folder, "capture", "both.yaml", "-s", "backend=auto", "-o", "x.pcapng")
    assert "a backend that can capture, such as sim" in told


def test_settings_of_the_simulator_reach_it(folder: Path) -> None:
    loaded = load(str(folder / "both.yaml"), ["backend=auto"])
    backend: Any = backend_of(loaded, {"path": "exact"})
    assert backend.carriers["sim"].path == "exact"


def test_the_flow_model_itself_states_its_error_for_each_kind(folder: Path) -> None:
    jobs = (
        "jobs=[{name: a, ranks: 0-3, collective: all-reduce, algorithm: ring}, "
        "{name: b, ranks: 4-7, collective: incast}]"
    )
    loaded = load(str(folder / "both.yaml"), ["backend=flow", "sweep.data_size=64MB", jobs])
    (told,) = notes_of(loaded, backend_of(loaded))
    assert ERROR in told
    assert "; one root: " in told
