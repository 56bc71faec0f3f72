"""The verdict on a run as its user reads it, and the exit status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, call

MET = "criteria:\n  - {metric: frames_lost, max: 2}\n  - {metric: completion_time_ms, max: 1000}\n"
MISSED = "criteria:\n  - {metric: frames_lost, max: 2}\n  - {metric: completion_time_ms, max: 0.001}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, criteria in (("none", ""), ("met", MET), ("missed", MISSED)):
        (tmp_path / f"{name}.yaml").write_text(PLAN + criteria)
    return tmp_path


def shown_json(folder: Path) -> dict[str, Any]:
    trial: dict[str, Any] = json.loads(call("show", "--format", "json", cwd=folder).stdout)["trials"][0]
    return trial


def test_a_plan_whose_criteria_are_met(folder: Path) -> None:
    finished = call("run", "met.yaml", cwd=folder)
    assert (finished.returncode, finished.stdout.splitlines()[-1]) == (0, "criteria: all met")
    shown = shown_json(folder)
    assert shown["verdict"] == "pass"
    assert [(each["metric"], each["min"], each["max"], each["passed"]) for each in shown["criteria"]] == [
        ("frames_lost", None, 2, True),
        ("completion_time_ms", None, 1000, True),
    ]
    assert "criterion: frames_lost of 2 or less: met, it is 2" in call("show", cwd=folder).stdout


def test_a_plan_of_which_a_criterion_is_not_met(folder: Path) -> None:
    finished = call("run", "missed.yaml", cwd=folder)
    time_ms = shown_json(folder)["completion_time_ms"]
    last = f"2 of 4 criteria not met: time of test {time_ms:.3g} for 0.001 ms (2 MB)\n"
    assert (finished.returncode, finished.stderr) == (3, last)
    lines = finished.stdout.splitlines()[-2:]
    assert [line.partition(":")[0] for line in lines] == ["1 MB", "2 MB"]
    expected = f"2 MB: completion_time_ms of 0.001 or less: not met, it is {time_ms:.10g}"
    assert lines[1] == expected
    assert shown_json(folder)["verdict"] == "fail"
    finished = call("run", "missed.yaml", "--resume", "--format", "json", cwd=folder)
    assert (finished.returncode, len(json.loads(finished.stdout)["trials"])) == (3, 2)
    assert finished.stderr == last
    assert call("run", "met.yaml", "--resume", cwd=folder).returncode == 0
    assert call("show", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("criterion", "found"),
    [
        ("ideal_percent, min: 900", "min: found 900, which ideal_percent never reaches; allowed: 0 to 100"),
        ("jain_fairness, min: 1.5", "min: found 1.5, which jain_fairness never reaches; allowed: 0 to 1"),
        ("out_of_order_percent, min: 101", "out_of_order_percent never reaches; allowed: 0 to 100"),
        ("pfc_rx, max: -1", "max: found -1, which pfc_rx is always above; allowed: 0 or more"),
        ("link_load_max_to_mean, max: 0.5", "is always above; allowed: 1 or more"),
    ],
)
def test_a_criterion_that_can_never_hold_is_refused(folder: Path, criterion: str, found: str) -> None:
    (folder / "never.yaml").write_text(f"{PLAN}criteria:\n  - {{metric: {criterion}}}\n")
    finished = call("plan", "check", "never.yaml", cwd=folder)
    assert finished.returncode == 2
    assert found in finished.stderr
    assert finished.stderr.count("error: ") == 1


def test_links_within_servers_may_make_a_job_faster_than_its_port(folder: Path) -> None:
    plan = PLAN.replace(
        "{kind: single-switch, hosts: 4, host_link: 400Gbps}",
        "{kind: rail-optimised, servers: 2, rails: 2, spines: 1, scale_up_link: 3600Gbps}",
    )
    (folder / "rails.yaml").write_text(f"{plan}criteria:\n  - {{metric: ideal_percent, min: 110}}\n")
    assert call("plan", "check", "rails.yaml", cwd=folder).returncode == 0


def test_a_plan_without_criteria_has_no_verdict(folder: Path) -> None:
    finished = call("run", "none.yaml", cwd=folder)
    assert finished.returncode == 0
    assert "criteri" not in finished.stdout
    assert (shown_json(folder)["criteria"], shown_json(folder)["verdict"]) == ([], None)


def test_an_incomplete_trial_fails_where_there_are_criteria(folder: Path) -> None:
    finished = call("run", "met.yaml", cwd=folder, backend=FakeBackend(unfinished=2))
    assert finished.returncode == 3
    assert "1 MB: frames_lost of 2 or less: not met, it is 2 of an incomplete job" in finished.stdout
    assert "completion_time_ms of 1000 or less: not met, it could not be measured" in finished.stdout


@pytest.mark.parametrize("command", ["show", "trials"])
@pytest.mark.parametrize(("plan", "verdict"), [("none", ""), ("met", "pass"), ("missed", "fail")])
def test_csv_has_the_verdict(folder: Path, command: str, plan: str, verdict: str) -> None:
    call("run", f"{plan}.yaml", cwd=folder)
    rows = list(csv.DictReader(io.StringIO(call(command, "--format", "csv", cwd=folder).stdout)))
    assert {row["verdict"] for row in rows} == {verdict}


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ("met", "criteria: all met"),
        ("missed", "1 MB: completion_time_ms of 0.001 or less: not met"),
    ],
)
def test_the_report_has_the_verdict(folder: Path, plan: str, text: str) -> None:
    call("run", f"{plan}.yaml", cwd=folder)
    finished = call("report", "latest", "-o", "report.html", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    assert text in (folder / "report.html").read_text()
