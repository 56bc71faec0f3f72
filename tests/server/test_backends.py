"""Two backends, the simulator and one over real sockets, in one workspace: side by side, never mixed up."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.server.conftest import ClientOf
from tests.support.loopback import UNMEASURED, Loopback, build
from tests.support.samples import PLAN

import fabricbench as fb
from fabricbench.backend.registry import BACKENDS, Registered
from fabricbench.backend.sim import RESULTS
from fabricbench.cli.main import run
from fabricbench.store import Trial, Workspace
from fabricbench.store.catalog.sql import Sql
from fabricbench.store.record.schema import RECORD_TABLES

SIZES = [1 << 20, 2 << 20]


@pytest.fixture(scope="session")
def loopback_program() -> Path:
    return build()


@pytest.fixture(scope="module")
def loopback(loopback_program: Path) -> Iterator[Loopback]:
    backend = Loopback(loopback_program)
    with mock.patch.dict(BACKENDS, {"loopback": Registered(lambda: backend)}):
        yield backend


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, loopback: Loopback) -> Path:
    """A workspace in which one plan was run by the simulator and over sockets."""
    root = tmp_path_factory.mktemp("lab")
    (root / "small.yaml").write_text(PLAN)
    for name in ("sim", "loopback"):
        program("run", root / "small.yaml", "--backend", name, root=root)
    assert loopback.runs == 2
    return root


def program(*arguments: str | Path, root: Path) -> None:
    assert run([*map(str, arguments), "--workspace", str(root / "workspace")]) == 0


@pytest.fixture
def told(lab: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in the workspace and return what it printed."""

    def tell(*arguments: str) -> str:
        capsys.readouterr()
        program(*arguments, root=lab)
        return capsys.readouterr().out

    return tell


def trials_of(lab: Path, backend: str) -> list[Trial]:
    found = Workspace.open(lab / "workspace").trials()
    return [trial for trial in found if trial.facts.backend == backend]


def test_the_trials_of_both_are_there_with_the_same_run_specs(lab: Path) -> None:
    simulated, real = trials_of(lab, "sim"), trials_of(lab, "loopback")
    assert [trial.status for trial in simulated + real] == ["complete"] * 4
    assert len({trial.id for trial in simulated + real}) == 4
    assert [trial.facts.run_spec for trial in simulated] == [trial.facts.run_spec for trial in real]
    assert len({trial.facts.suite for trial in simulated + real}) == 2


def test_each_record_says_what_it_holds(lab: Path) -> None:
    simulated, real = trials_of(lab, "sim")[0], trials_of(lab, "loopback")[0]
    assert set(simulated.facts.observed) == {*RECORD_TABLES} - {"counters"}
    assert real.facts.observed == {"chunks": {"at": "endpoint", "unmeasured": list(UNMEASURED)}}
    chunks = real.tables.table("chunks")
    assert chunks.num_rows == 12
    for name in UNMEASURED:
        assert chunks.column(name).null_count == 12
    metadata = real.tables.schema("chunks").metadata
    assert json.loads(metadata[b"fabricbench.observed"]) == real.facts.observed
    assert all(real.tables.table(table).num_rows == 0 for table in RECORD_TABLES if table != "chunks")


def test_resuming_runs_what_the_backend_itself_has_not_run(lab: Path, loopback: Loopback) -> None:
    for name in ("loopback", "sim"):
        before = loopback.runs
        program("run", lab / "small.yaml", "--backend", name, "--resume", root=lab)
        assert loopback.runs == before
    loopback.version = "2"
    try:
        program("run", lab / "small.yaml", "--backend", "loopback", "--resume", root=lab)
        assert loopback.runs == before + 2
        versions = [trial.facts.backend_version for trial in trials_of(lab, "loopback")]
        assert versions == ["1", "1", "2", "2"]
    finally:
        loopback.version = "1"
        for trial in trials_of(lab, "loopback")[2:]:
            with Workspace.open(lab / "workspace").database.writing() as connection:
                connection.execute(Sql("DELETE FROM trials WHERE id = ?", trial.id))


def test_lists_name_the_backend_of_each_trial(told: Any) -> None:
    lines = told("trials").splitlines()
    assert "backend" in lines[0] + lines[1]
    assert [line.split()[2] for line in lines[-4:]] == ["sim", "sim", "loopback", "loopback"]
    listed = json.loads(told("trials", "--format", "json"))["trials"]
    assert [each["backend"] for each in listed] == ["sim", "sim", "loopback", "loopback"]
    assert [each["jobs"][0]["backend"] for each in listed] == [each["backend"] for each in listed]
    rows = list(csv.DictReader(io.StringIO(told("trials", "--format", "csv"))))
    assert [row["backend"] for row in rows] == [each["backend"] for each in listed]


def test_what_was_not_measured_is_missing_and_the_rest_is_there(lab: Path, told: Any) -> None:
    real = trials_of(lab, "loopback")[0]
    shown = json.loads(told("show", real.id, "--format", "json"))
    (job,) = shown["trials"]
    assert job["busbw_gb_per_s"] > 0
    assert job["retransmits"] > 0
    assert job["fct_ms"]["p50"] > 0
    for name in ("ecn_ce_rx", "cnp_tx", "pfc_rx", "frames_lost", "queue_max_bytes", "link_load_max_to_mean"):
        assert job[name] is None
    assert job["latency_us"] == {"min": None, "mean": None, "max": None}
    assert (shown["engine"]["backend"], shown["engine"]["packet_hops"]) == ("loopback", None)
    text = told("show", real.id)
    assert "loopback, results 1, engine test" in text
    assert "datagrams" in text


def test_both_are_compared(lab: Path, told: Any) -> None:
    simulated, real = trials_of(lab, "sim")[0].id, trials_of(lab, "loopback")[0].id
    found = json.loads(told("compare", simulated, real, "--format", "json"))
    assert found["parameters"] == [
        {"field": "backend", "values": {simulated: f"sim {RESULTS}", real: "loopback 1"}}
    ]
    (job,) = found["jobs"]
    assert (job["first"]["backend"], job["second"]["backend"]) == ("sim", "loopback")
    assert job["metrics"]["completion_time_ms"]["ratio"] > 0
    assert job["metrics"]["frames_lost"]["second"] is None
    assert told("compare", "--by", "size", simulated, real).startswith(
        "small, simulated (1) and small, loopback (2)"
    )


def test_each_size_has_its_prediction_with_the_likely_causes(lab: Path, told: Any) -> None:
    simulated, real = trials_of(lab, "sim"), trials_of(lab, "loopback")
    for name in (real[0].id, simulated[1].id):
        twins = json.loads(told("compare", "--by", "twin", name, "--format", "json"))["twins"]
        assert [each["measured"]["id"] for each in twins] == [trial.id for trial in real]
        assert [each["predicted"]["id"] for each in twins] == [trial.id for trial in simulated]
        for each in twins:
            one, other = (each[side]["completion_time_ms"] for side in ("measured", "predicted"))
            assert each["deviation_percent"] == pytest.approx(100 * (one / other - 1))
            assert {cause["where"] for cause in each["causes"]} >= {"retransmits", "out_of_order"}
            assert each["slowest"][0]["ratio"] >= each["slowest"][-1]["ratio"] > 1
    rows = list(csv.DictReader(io.StringIO(told("compare", "--by", "twin", real[0].id, "--format", "csv"))))
    assert [row["predicted_id"] for row in rows] == [trial.id for trial in simulated]
    text = told("compare", "--by", "twin", real[0].id)
    assert "loopback beside the simulator" in text
    assert "trend: measured = predicted" in text


def test_a_twin_is_predicted_once_and_measured_each_time(tmp_path: Path, loopback: Loopback) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    command = ("run", str(tmp_path / "small.yaml"), "--backend", "loopback", "--twin", "--format", "json")
    workspace = ("--workspace", str(tmp_path / "twins"))
    before = loopback.runs
    for _ in range(2):
        assert run([*command, *workspace]) == 0
    found = Workspace.open(tmp_path / "twins").trials()
    assert loopback.runs == before + 4
    assert [trial.facts.backend for trial in found] == ["sim", "sim", "loopback", "loopback"]
    assert min(trial.attempt for trial in found if trial.facts.backend == "sim") == 1


def test_the_simulator_is_no_twin_of_itself(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(lab / "small.yaml"), "--twin", "--workspace", str(lab / "workspace")]) == 2
    told = capsys.readouterr().err
    assert "small.yaml:2: backend: found sim" in told
    assert "hint: `--backend NAME`" in told


def test_a_measured_trial_without_a_prediction_says_so(
    tmp_path: Path, loopback: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loopback.name == "loopback"
    (tmp_path / "small.yaml").write_text(PLAN)
    program("run", tmp_path / "small.yaml", "--backend", "loopback", root=tmp_path)
    capsys.readouterr()
    program("compare", "--by", "twin", root=tmp_path)
    assert capsys.readouterr().out.count("no complete trial of the simulator has this run spec") == 2
    twins = fb.workspace(tmp_path / "workspace").trials().by_twin()
    assert twins["deviation_percent"].null_count() == twins.height == 2
    assert twins["predicted_id"].null_count() == 2


def test_a_run_that_was_never_measured_has_no_twins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.yaml").write_text(PLAN)
    program("run", tmp_path / "small.yaml", root=tmp_path)
    capsys.readouterr()
    assert run(["compare", "--by", "twin", "--workspace", str(tmp_path / "workspace")]) == 2
    assert "no other backend measured a trial of it" in capsys.readouterr().err


def test_python_has_measured_beside_predicted(lab: Path, loopback: Loopback) -> None:
    workspace = fb.workspace(lab / "workspace")
    before = loopback.runs
    plan = fb.load(lab / "small.yaml").with_(backend="loopback")
    measured = fb.run(plan, workspace=workspace, twin=True, resume=True)
    assert loopback.runs == before
    twins = measured.by_twin()
    assert twins["predicted_backend"].to_list() == ["sim", "sim"]
    assert twins["deviation_percent"].min() > 0  # type: ignore[operator]
    assert [twin.stored.facts.backend for twin in measured[0].twins()] == ["sim"]
    assert [trace.name for trace in measured.plot.twin().data] == ["measured", "predicted", "deviation"]


def test_the_server_has_measured_beside_predicted(lab: Path, client_of: ClientOf) -> None:
    client = client_of(lab / "workspace")
    real, simulated = trials_of(lab, "loopback"), trials_of(lab, "sim")
    for trial in (real[0], simulated[0]):
        answer = client.get("/api/v1/compare", params={"trial": trial.id, "by": "twin"})
        assert [each["measured"]["id"] for each in answer.json()["twins"]] == [each.id for each in real]
        figures = client.get(f"/api/v1/trials/{trial.id}/figures").json()["figures"]
        assert "twin" in [figure["name"] for figure in figures]
        drawn = client.get(f"/api/v1/trials/{trial.id}/figures/twin").json()
        assert [trace["name"] for trace in drawn["data"]] == ["measured", "predicted", "deviation"]
    both = {"trial": [real[0].id, real[1].id], "by": "twin"}
    assert client.get("/api/v1/compare", params=both).status_code == 422
    report = client.get(f"/api/v1/trials/{real[0].id}/downloads/report.html").text
    assert "Prediction beside measurement" in report


def test_reports_have_both_beside_each_other(lab: Path, told: Any) -> None:
    simulated, real = trials_of(lab, "sim")[0].id, trials_of(lab, "loopback")[0].id
    for focus, other in ((simulated, real), (real, simulated)):
        path = lab / f"{focus}.html"
        told("report", focus, "--with", other, "-o", str(path))
        page = path.read_text()
        assert "simulated" in page
        assert "loopback" in page
    assert "Assumptions and limits" in (lab / f"{simulated}.html").read_text()
    assert "Assumptions and limits" not in (lab / f"{real}.html").read_text()


def test_python_has_both(lab: Path) -> None:
    trials = list(fb.workspace(lab / "workspace").trials())
    summaries = [each.summary.row(0, named=True) for each in trials]
    assert [each["backend"] for each in summaries] == ["sim", "sim", "loopback", "loopback"]
    assert [each.get("frames_lost") for each in summaries] == [0, 0, None, None]


def test_the_server_lists_and_shows_both(lab: Path, client_of: ClientOf) -> None:
    client = client_of(lab / "workspace")
    assert client.get("/api/v1/trials/choices").json()["backend"] == ["loopback", "sim"]
    rows = client.get("/api/v1/trials", params={"backend": "loopback"}).json()["trials"]
    assert [row["backend"] for row in rows] == ["loopback"] * 2
    path = f"/api/v1/trials/{rows[0]['id']}"
    real = client.get(path).json()
    assert real["shown"]["trials"][0]["ecn_ce_rx"] is None
    assert real["observed"] == {"chunks": {"at": "endpoint", "unmeasured": list(UNMEASURED)}}
    assert client.get(f"{path}/figures").status_code == 200
    for file in ("report.html", "summary.json", "summary.csv", "notebook.ipynb", "plan.yaml", "chunks.csv"):
        answer = client.get(f"{path}/downloads/{file}")
        assert answer.status_code == 200, (file, answer.text)
    capture = client.get(f"{path}/downloads/capture.pcapng")
    assert capture.status_code == 409
    assert "backend loopback, which shows no frames" in capture.text
