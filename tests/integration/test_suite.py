"""Suites with the real engine: run, reported in seven sections, as data, stopped, and mistaken."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pytest

from fabricbench.cli.main import run
from fabricbench.figures.registry import FIGURES
from fabricbench.plan.document.shipped import shipped_plans, shipped_suites
from fabricbench.plan.errors import PlanError
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import suite as suites
from fabricbench.runner.trials import Runner

PLAN = """
fabricbench: 1
name: {name}
title: A test
description: What {name} is about.
fabric:
  topology: {{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}}
jobs:
  - {{name: all, collective: permutation, data_size: 1MB}}
iterations: 3
quick: {{iterations: 1}}
"""
SEARCH = """
search: {field: transport.window, from: 2, to: 64}
criteria:
  - {metric: completion_time_ms, max: 0.05}
"""
SUITE = """
suite: 1
name: own
title: Acceptance of fabric 7
document: Our own method
kpis:
  - {metric: busbw_gb_per_s, name: Bandwidth, reference: about 40}
  - {metric: completion_time_ms, name: Time}
categories:
  - {name: first, title: First things}
  - {name: second, title: Second things}
tests:
  - plan: one.yaml
    category: first
    title: Test one
    primary: busbw_gb_per_s
    kpis: [completion_time_ms, frames_lost, slowdown_p50]
    figures: [topology, bandwidth]
    deviations: [shorter than asked for]
  - plan: two.yaml
    category: second
    title: Test two
    primary: completion_time_ms
    names: {completion_time_ms: Time of two}
    set: {transport.message_size: 64KB}
omitted:
  - {category: second, title: Test three, reason: there is no third}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.yaml").write_text(PLAN.format(name="one"))
    (tmp_path / "two.yaml").write_text(PLAN.format(name="two") + SEARCH)
    (tmp_path / "own.yaml").write_text(SUITE)
    return tmp_path


def called(
    folder: Path, capsys: pytest.CaptureFixture[str], *options: str, name: str = "own.yaml"
) -> tuple[int, str, str]:
    capsys.readouterr()
    status = run(["suite", str(folder / name), "--workspace", str(folder / "w"), *options])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_a_suite_is_run_and_reported_in_the_seven_sections(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = folder / "r.html"
    status, out, err = called(folder, capsys, "-o", str(page))
    assert status == 0
    assert out.startswith("Acceptance of fabric 7: 2 tests, ")
    assert "2 of 2: Test two (two)" in err
    text = page.read_text()
    heads = ["1 DUT identification", "2 Test topology", "3 Test configuration", "4 Host configuration"]
    heads += ["5 Test results", "5.1 Test one", "5.2 Test two", "6 Anomalies", "7 Repeatability statement"]
    places = [text.index(f"<h2>{head}") for head in heads]
    assert places == sorted(places)
    for words in (
        "shorter than asked for",
        "there is no third",
        "about 40",
        "what each observation point tells of the run",
        "at endpoint",
    ):
        assert words in text
    assert "Not measured here: Slowdown P50: only open-loop jobs have it." in text
    assert "smallest latency_min_ps" not in text  # of what no test shows
    assert "algbw_gb_per_s * bus factor of the collective" in text


def test_json_and_csv_have_means_and_variation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = called(folder, capsys, "--format", "json")
    content = json.loads(out)
    one, two = content["tests"]
    assert (status, content["omitted"][0]["reason"]) == (0, "there is no third")
    (case,) = one["results"]
    bandwidth = case["kpis"]["busbw_gb_per_s"]
    assert bandwidth["count"] == len(case["trials"]) == one["iterations"] == 3
    assert bandwidth["least"] <= bandwidth["mean"] <= bandwidth["most"]
    assert one["cv_percent"] == bandwidth["cv_percent"] > 0, bandwidth
    assert case["kpis"]["slowdown_p50"] is None
    assert case["absent"] == {"slowdown_p50": "only open-loop jobs have it"}
    (formula,) = (kpi["formula"] for kpi in one["kpis"] if kpi["metric"] == "frames_lost")
    assert formula == "sum of frames_lost over its causes in the run's summary"
    assert [kpi["name"] for kpi in one["kpis"]] == ["Bandwidth", "Time", "Frames lost", "Slowdown P50"]
    assert [kpi["name"] for kpi in two["kpis"]] == ["Time of two"]
    # Of a search only what holds is a result: the trials of one value.
    (found,) = two["search"]
    (case,) = two["results"]
    assert case["axes"] == {"transport.window": int(found["holds"])}
    assert case["kpis"]["completion_time_ms"]["most"] <= 0.05
    _, out, _ = called(folder, capsys, "--resume", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    primary = next(row for row in rows if row["plan"] == "one" and row["is_primary"] == "True")
    assert float(primary["mean"]) == bandwidth["mean"]
    assert primary["name"] == "Bandwidth"
    assert {(row["metric"], row["absent"]) for row in rows if not row["mean"]} == {
        ("slowdown_p50", "only open-loop jobs have it")
    }


def test_a_value_that_there_is_not_has_its_reason_where_it_would_stand(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The job of one variant loses frames for good.
    plan = PLAN.format(name="one").replace(
        "name: all, collective: permutation", 'name: all, ranks: "0-4", collective: incast'
    )
    variants = "variants:\n  - {name: whole, reference: true}\n"
    variants += "  - {name: lossy, set: {fabric.switch.buffer: 256KB, transport.recovery: none}}\n"
    (folder / "one.yaml").write_text(plan + variants)
    (folder / "own.yaml").write_text(
        SUITE.replace(
            "[completion_time_ms, frames_lost, slowdown_p50]",
            "[completion_time_ms, convergence_us, completion_time_ratio]",
        )
    )
    page = folder / "r.html"
    _, out, _ = called(folder, capsys, "--only", "first", "--format", "json", "-o", str(page))
    whole, lossy = json.loads(out)["tests"][0]["results"]
    assert whole["absent"] == {"convergence_us": "no job begins while another one sends"}
    assert lossy["kpis"]["completion_time_ms"] is None
    assert "frames lost on 3 queue pairs without recovery" in lossy["absent"]["completion_time_ms"]
    assert lossy["absent"]["completion_time_ratio"] == lossy["absent"]["completion_time_ms"]
    text = page.read_text()
    assert "– [1]" in text
    assert "– [2]" in text
    assert f"[2] No Time: {lossy['absent']['completion_time_ms']}." in text
    assert "Not measured here: Congestion control convergence: no job begins while another one sends." in text


def test_a_part_of_a_suite_and_its_quick_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = called(folder, capsys, "--only", "first", "--quick", "--format", "json")
    content = json.loads(out)
    assert status == 0
    assert [(test["plan"], test["iterations"]) for test in content["tests"]] == [("one", 1)]
    assert content["notes"]
    assert called(folder, capsys, "--only", "two.yaml", "--dry-run")[1].startswith("two: ")


def test_a_test_that_fails_does_not_end_the_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Runner.run

    def broken(runner: Runner, loaded: LoadedPlan) -> object:
        if loaded.plan.name == "one":
            raise RuntimeError("a wheel has come off")
        return whole(runner, loaded)

    with mock.patch.object(Runner, "run", broken):
        junit = folder / "junit.xml"
        status, out, err = called(folder, capsys, "-o", str(folder / "r.html"), "--junit", str(junit))
    assert status == 1  # it is our fault
    root = ElementTree.parse(junit).getroot()
    (error,) = root.iter("error")
    assert error.get("message") == "RuntimeError: a wheel has come off"
    assert root.get("errors") == "1"
    assert [suite.get("name") for suite in root if suite.get("errors") == "0"] == ["two"]
    assert "failed: one: RuntimeError: a wheel has come off" in err
    assert "one failed: RuntimeError: a wheel has come off" in " ".join(out.split())
    text = (folder / "r.html").read_text()
    assert "failed: RuntimeError: a wheel has come off" in text[text.index("6 Anomalies") :]


def test_criteria_that_are_not_met_are_anomalies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.yaml").write_text(
        PLAN.format(name="one") + "criteria: [{metric: completion_time_ms, max: 0.001}]"
    )
    status, out, _ = called(folder, capsys, "--only", "first")
    assert status == 3
    assert "criterion of the plan" in out


def test_a_suite_that_is_stopped_goes_on_where_it_was(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "one.yaml").write_text(PLAN.format(name="one").replace("1MB", "64MB"))
    main = "from fabricbench.cli.main import main; main()"
    command = [sys.executable, "-c", main, "suite", "own.yaml", "--jobs", "1", "-o", "r.html"]
    command += ["--workspace", "w"]
    process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list((folder / "w" / "trials").glob("*[!l]")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("it was faster than the signal")
    assert process.returncode == 130
    assert "hint: the same command with --resume runs the rest" in err
    assert (folder / "r.html").exists()
    assert called(folder, capsys, "--resume")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("primary: busbw_gb_per_s", "primary: busbw", "tests.0.primary: found \"busbw\""),
        ("slowdown_p50]", "slowdwn_p50]", "did you mean `slowdown_p50`?"),
        ("metric: completion_time_ms", "metric: jct", "kpis.1.metric: found \"jct\""),
        ("figures: [topology", "figures: [topolgy", "did you mean `topology`?"),
        ("category: second\n    title: Test two", "category: third\n    title: Test two", "tests.1.category"),
        ("names: {completion_time_ms", "names: {busbw_gb_per_s", "tests.1.names.busbw_gb_per_s"),
        ("plan: two.yaml", "plan: three.yaml", "no such plan"),
        ("plan: two.yaml", "plan: one.yaml", "each plan once"),
        ("set: {transport.message_size: 64KB}", "set: {transport.mesage: 64KB}", "a mistake: "),
        ("suite: 1", "suite: 2", "suite: found 2"),
        ("title: Acceptance of fabric 7\n", "", "title: found nothing"),
        ("omitted:", "left_out:", "left_out: found an unknown key"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str
) -> None:
    assert old in SUITE
    (folder / "own.yaml").write_text(SUITE.replace(old, new, 1))
    status, _, err = called(folder, capsys)
    assert status == 2
    assert told in err
    assert f"{folder / 'own.yaml'}:" in err
    assert not (folder / "w").exists()


def test_there_is_no_such_suite_or_category(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "bwmg"]) == 2
    assert "did you mean `bmwg`?" in capsys.readouterr().err
    status, _, err = called(folder, capsys, "--only", "third")
    assert (status, "no such category; allowed: first, second, or a plan" in err) == (2, True)
    status, _, err = called(folder, capsys, "-o", str(folder / "r.pdf"))
    assert status == 2


@pytest.mark.parametrize("name", shipped_suites())
def test_every_shipped_suite_can_be_carried_out(name: str) -> None:
    loaded = suites.load_suite(name, figures=tuple(FIGURES))
    plans = {part.loaded.plan.name for part in loaded.tests}
    others = [f"{other}-" for other in shipped_suites() if other.startswith(f"{name}-")]
    own = {plan for plan in shipped_plans() if plan.startswith(f"{name}-")}
    assert plans == {plan for plan in own if not plan.startswith(tuple(others))}
    assert all(each.reason for each in loaded.file.omitted)


def test_changes_reach_every_plan_of_a_suite(folder: Path) -> None:
    loaded = suites.load_suite(str(folder / "own.yaml"), ["transport.mtu=1024"])
    assert {part.loaded.plan.transport.mtu_bytes for part in loaded.tests} == {1024}
    with pytest.raises(PlanError):
        suites.load_suite(str(folder / "own.yaml"), ["transport.mtu=1"])
