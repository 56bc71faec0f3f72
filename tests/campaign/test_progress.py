"""How far a campaign is, as another process sees it."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.campaign.driven import LONG, started, waited_for
from tests.support.ray_workers import workers_at
from tests.support.samples import call

from fabricbench.runner.campaign.published_progress import announced
from fabricbench.runner.messages import ClusterError
from fabricbench.store import Workspace
from fabricbench.store.campaigns import CampaignState, campaigns, note_campaign

STATE = CampaignState("long", "running", 6, 1, 2, 0, 50.0, 3.0, 3.0, 2)


def test_a_campaign_is_seen_as_it_was_noted_last(tmp_path: Path) -> None:
    note_campaign(tmp_path, STATE)
    note_campaign(tmp_path, replace(STATE, name="other"))
    note_campaign(tmp_path, replace(STATE, finished=5, state="complete", left_s=None))
    seen = campaigns(tmp_path)
    assert [(each.name, each.state, each.finished) for each in seen] == [
        ("long", "complete", 5),
        ("other", "running", 2),
    ]


def test_a_campaign_whose_process_is_gone_is_interrupted(tmp_path: Path) -> None:
    note_campaign(tmp_path, STATE)
    file = tmp_path / "campaigns" / "long.json"
    noted = json.loads(file.read_text())
    noted["process"]["start"] = "another boot:1"
    file.write_text(json.dumps(noted))
    assert [(each.state, each.left_s) for each in campaigns(tmp_path)] == [("interrupted", None)]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"process": 1}', "\0", '"name"'])
def test_what_no_campaign_has_noted_is_not_shown(tmp_path: Path, text: str) -> None:
    note_campaign(tmp_path, STATE)
    (tmp_path / "campaigns" / "foreign.json").write_text(text)
    assert [each.name for each in campaigns(tmp_path)] == ["long"]


def test_one_that_has_not_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "campaign.yaml").write_text(LONG)
    (tmp_path / "fabricbench-workspace" / "trials").mkdir(parents=True)
    told = call("campaign", "campaign.yaml", "--status", cwd=tmp_path)
    assert told.returncode == 2
    assert "campaign long has not run in this workspace" in told.stderr


@pytest.mark.slow
def test_a_campaign_is_seen_while_it_runs_and_after_it_was_stopped(tmp_path: Path) -> None:
    def told(*more: str) -> str:
        return call("campaign", "campaign.yaml", "--status", *more, cwd=tmp_path).stdout

    def with_cores() -> dict[str, Any] | None:
        # Workers start before their number is reported.
        state: dict[str, Any] | None = json.loads(told("--format", "json") or "null")
        return state if state and state["cores"] else None

    with started(tmp_path, LONG.replace("64MB", "512MB")) as driver:
        waited_for(lambda: next(workers_at(tmp_path), None))
        running = waited_for(with_cores)
        os.kill(driver.pid, signal.SIGINT)
        driver.communicate(timeout=60)
    assert (running["state"], running["trials"], running["cores"]) == ("running", 6, os.cpu_count())
    assert told().startswith("long: interrupted, ")
    assert told("--format", "csv").splitlines()[1].startswith("long,interrupted,6,")


def test_one_that_another_process_carries_out_is_refused(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path, create=True)
    note_campaign(tmp_path, STATE)
    carried_out = announced(workspace, "long", 6)
    with pytest.raises(ClusterError, match="long is carried out by another process"):
        carried_out.__enter__()
    file = tmp_path / "campaigns" / "long.json"
    noted = json.loads(file.read_text())
    noted["process"]["host"] = "another"  # of which nobody knows whether it is up
    noted["noted_at"] = "2026-01-01T00:00:00+00:00"
    file.write_text(json.dumps(noted))
    with announced(workspace, "long", 6):
        (seen,) = campaigns(tmp_path)
        assert (seen.state, seen.percent) == ("running", 0.0)


def test_one_that_cannot_begin_is_as_far_as_it_was(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path, create=True)
    note_campaign(tmp_path, replace(STATE, state="interrupted"))
    with pytest.raises(ClusterError, match="no cluster"), announced(workspace, "long", 6):
        raise ClusterError("no cluster", "")
    assert [(each.state, each.finished) for each in campaigns(tmp_path)] == [("interrupted", 2)]
    with pytest.raises(ClusterError), announced(workspace, "new", 6):
        raise ClusterError("no cluster", "")
    newest = campaigns(tmp_path)[0]
    assert (newest.name, newest.state, newest.percent) == ("new", "failed", 0.0)
