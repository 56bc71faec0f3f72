"""A ring of switches that deadlocks under PFC, through the command line: named in `show` and the report."""

import json
from pathlib import Path

import pytest

from fabricbench.cli.main import run

RING = """
fabricbench: 1
name: ring
fabric:
  topology:
    kind: custom
    switches:
      - {name: s0, hosts: 2}
      - {name: s1, hosts: 2}
      - {name: s2, hosts: 2}
      - {name: s3, hosts: 2}
      - {name: s4, hosts: 2}
    links:
      - {between: [s0, s1]}
      - {between: [s1, s2]}
      - {between: [s2, s3]}
      - {between: [s3, s4]}
      - {between: [s4, s0]}
  switch: {buffer: 2MB, pfc: on}
transport: {timeout: 500us}
# Every rank sends to the host two switches further on, the short way round.
jobs:
  - {name: even, ranks: "0,4,8,2,6", collective: all-gather, data_size: 20MB}
  - {name: odd, ranks: "1,5,9,3,7", collective: all-gather, data_size: 20MB}
"""
PLACES = ("s0 port 2", "s1 port 3", "s2 port 3", "s3 port 3", "s4 port 3", "s0 port 2")
CIRCLE = " waits for ".join(PLACES)
WATCHDOG = "fabric.switch.pfc={watchdog: {detection: 200us, restoration: 200us}}"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ring as it is, and with a watchdog."""
    folder = tmp_path_factory.mktemp("ring")
    plan = folder / "ring.yaml"
    plan.write_text(RING, encoding="utf-8")
    for override in ([], ["-s", WATCHDOG]):
        assert run(["run", str(plan), *override, "--workspace", str(folder / "workspace")]) == 0
    return folder / "workspace"


def trials(workspace: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert run(["trials", "--workspace", str(workspace), "--format", "json"]) == 0
    return [trial["id"] for trial in json.loads(capsys.readouterr().out)["trials"]]


def shown(workspace: Path, trial: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert run(["show", trial, "--workspace", str(workspace), *options]) == 0
    return capsys.readouterr().out


def test_the_circle_is_named_in_show_and_the_report(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stalled = next(
        trial for trial in trials(workspace, capsys) if "stalled" in shown(workspace, trial, capsys)
    )
    text = " ".join(shown(workspace, stalled, capsys).split())
    assert f"PFC deadlock at priority 3: {CIRCLE}" in text
    jobs = json.loads(shown(workspace, stalled, capsys, "--format", "json"))["trials"]
    assert [job["status"] for job in jobs] == ["stalled", "stalled"]
    for job in jobs:
        assert job["diagnosis"][0]["cause"] == "pfc-deadlock"
        assert job["diagnosis"][0]["evidence"]["circle"] == ["s0", "s1", "s2", "s3", "s4"]
    page = tmp_path / "report.html"
    assert run(["report", stalled, "-o", str(page), "--workspace", str(workspace)]) == 0
    assert CIRCLE in page.read_text(encoding="utf-8")


def test_a_watchdog_ends_the_deadlock_and_says_what_it_dropped(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    complete = next(
        trial for trial in trials(workspace, capsys) if "stalled" not in shown(workspace, trial, capsys)
    )
    found = json.loads(shown(workspace, complete, capsys, "--format", "json"))
    assert [job["status"] for job in found["trials"]] == ["complete", "complete"]
    storm = next(each for each in found["trials"][0]["diagnosis"] if each["cause"] == "pfc-storm")
    assert storm["evidence"]["storms"] > 0
    assert storm["evidence"]["frames"] == found["fabric"]["frames_lost"]["PFC watchdog"] > 0
