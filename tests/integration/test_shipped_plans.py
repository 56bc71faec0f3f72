"""Every shipped plan runs from the command line as its `quick` says, and its report is written.

`.ci/run` runs these tests; `make test` leaves them out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.document.shipped import shipped_plans

pytestmark = pytest.mark.soak

PROGRAM = Path(sys.executable).with_name("fabricbench")
NOT_MET = 3
"""Exit status when criteria are not met, as may be at a smaller size."""
LOSING = {"cx5-buffer", "imb-out-of-service"}
"""Plans whose queues lose frames that nobody sends again."""
MAY_LOSE = {"bmwg-burst", "cc-alltoall-ecn"}
"""Plans that lose such frames in some trials."""
STALLED = ("bmwg-pfc-deadlock", "ring")
"""Plan and variant whose pause frames form a cycle for good, without a watchdog."""
SHARED_PORTS = "imb-dynamic-ecn"
"""Plans with several ranks behind a port, whose ideal is unknown."""


OTHER_JOBS = {
    "bmwg-zero-loss",
    "bmwg-pfc-deadlock",
    "bmwg-inference-balance",
    "isolation-background",
    "whole-cluster",
}
"""Plans whose variants differ in their jobs, as those of `cx5-*`, or whose search tries other values."""


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def expected_status(trial: dict[str, Any]) -> set[str]:
    if trial["plan"] in LOSING:
        return {"incomplete"}
    if (trial["plan"], trial["variant"]) == STALLED:
        return {"stalled"}
    return {"complete", "incomplete"} if trial["plan"] in MAY_LOSE else {"complete"}


def check(trial: dict[str, Any]) -> None:
    assert trial["status"] in expected_status(trial), trial["status"]
    if trial["status"] == "incomplete":
        assert trial["frames_lost"] > 0
    if trial["status"] != "complete":
        return
    if trial["offered_gb_per_s"] is not None:
        assert 0 < trial["delivered_gb_per_s"] <= trial["offered_gb_per_s"]
        assert 1 <= trial["slowdown"]["p50"] <= trial["slowdown"]["p99"]
    elif trial["iops"] is not None:
        operation = trial["operation_us"]
        assert operation["min"] <= operation["p50"] <= operation["max"]
    elif trial["plan"].startswith(SHARED_PORTS):
        assert trial["ideal_percent"] is None
    else:
        assert 0 < trial["ideal_percent"] <= 100


def check_ratios(trials: list[dict[str, Any]]) -> None:
    """Check that a variant is the reference of itself, and has ratios to the reference otherwise."""
    for trial in trials:
        if trial["plan"].startswith("cx5-") or trial["plan"] in OTHER_JOBS:
            continue
        reference = trial["reference"]
        ratios = set(reference["ratios"].values())
        assert any(ratios), trial["variant"]
        if trial["variant"] == reference["variant"]:
            assert ratios <= {1, None}


@pytest.mark.parametrize("plan", shipped_plans())
def test_a_shipped_plan_runs_and_has_a_report(plan: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    finished = program("run", plan, "--quick", "--workspace", workspace, "--format", "json")
    assert finished.returncode in {0, NOT_MET}, finished.stderr
    trials = json.loads(finished.stdout)["trials"]
    assert trials
    for trial in trials:
        check(trial)
    check_ratios([trial for trial in trials if "/" not in trial["variant"] and trial["variant"] != "base"])
    finished = program("report", "latest", "--workspace", workspace, "-o", tmp_path / "report.html")
    assert finished.returncode == 0, finished.stderr
    assert "</html>" in (tmp_path / "report.html").read_text().lower()
