"""`run` and `suite` in a pipeline: JUnit XML, incomplete trials that fail, `--quiet` and `--verbose`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.fake_backend import FakeBackend
from tests.support.samples import PLAN, call

MISSED = "criteria:\n  - {metric: completion_time_ms, max: 0.001}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(PLAN)
    (tmp_path / "missed.yaml").write_text(PLAN + MISSED)
    return tmp_path


def suites(folder: Path) -> ElementTree.Element:
    return ElementTree.parse(folder / "junit.xml").getroot()


def test_a_criterion_that_is_not_met_is_a_failure(folder: Path) -> None:
    assert call("run", "missed.yaml", "--junit", "junit.xml", cwd=folder).returncode == 3
    root = suites(folder)
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("2", "2", "0")
    (suite,) = root
    assert [case.get("name") for case in suite] == ["test, 1 MB", "test, 2 MB"]
    (failure,) = suite[0].iter("failure")
    assert failure.get("type") == "criterion"
    assert (failure.get("message") or "").endswith("for 0.001 ms")
    values = {each.get("name"): each.get("value") for each in suite[0].iter("property")}
    assert values.keys() == {"trial", "completion_time_ms"}


def test_without_criteria_complete_trials_pass(folder: Path) -> None:
    assert call("run", "small.yaml", "--junit", "junit.xml", cwd=folder).returncode == 0
    assert suites(folder).get("failures") == "0"


def test_an_incomplete_trial_is_skipped_or_fails(folder: Path) -> None:
    run = ("run", "small.yaml", "--junit", "junit.xml")
    assert call(*run, cwd=folder, backend=FakeBackend(unfinished=2)).returncode == 0
    assert (suites(folder).get("skipped"), suites(folder).get("failures")) == ("2", "0")
    finished = call(*run, "--fail-incomplete", cwd=folder, backend=FakeBackend(unfinished=2))
    assert finished.returncode == 3
    assert (suites(folder).get("skipped"), suites(folder).get("failures")) == ("0", "2")


@pytest.mark.parametrize("name", [".", "nowhere/junit.xml"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(folder: Path, name: str) -> None:
    finished = call("run", "small.yaml", "--junit", name, cwd=folder)
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert not (folder / "fabricbench-workspace").exists()


def test_verbose_has_a_line_for_each_trial_that_starts_and_ends(folder: Path) -> None:
    lines = call("run", "small.yaml", "-v", cwd=folder).stderr.splitlines()
    assert [line.partition(" of ")[0] for line in lines] == [
        "started: trial 1",
        "ended: trial 1",
        "started: trial 2",
        "ended: trial 2",
    ]
    assert lines[1].endswith(" ms")


def test_quiet_leaves_the_verdict(folder: Path) -> None:
    assert call("run", "small.yaml", "-q", cwd=folder).stderr == ""
    assert "criteria not met" in call("run", "missed.yaml", "-q", cwd=folder).stderr
    finished = call("run", "small.yaml", "-q", "-v", cwd=folder)
    assert finished.returncode == 2
    assert "found --quiet and --verbose" in finished.stderr
