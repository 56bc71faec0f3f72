"""Campaigns with made-up results: the rows of the catalog that trials would have left, without any run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fabricbench.metrics import BY_NAME
from fabricbench.results.studies.campaign_table import campaign_table
from fabricbench.results.studies.factor_effects import CampaignTable, Response
from fabricbench.runner.campaign.campaign_file import load_campaign
from fabricbench.runner.campaign.run import store_campaign_trials
from fabricbench.runner.campaign.trial_table import members_of
from fabricbench.runner.campaign.trial_units import units_of
from fabricbench.runner.trial_facts import machine_facts
from fabricbench.store import TrialFacts, Workspace
from fabricbench.store.campaigns import CampaignState, note_campaign
from fabricbench.store.catalog.schema import COMPLETE
from fabricbench.store.catalog.sql import all_of

Values = Mapping[str, float | None]
AT_ONCE = 150

TIME = BY_NAME["completion_time_ms"]
CAMPAIGN = """\
campaign: 1
name: acknowledge
title: How often to acknowledge
seeds: 3
plans:
  - {plan: jct-alltoall, sweep: {data_size: [1MB, 2MB], transport.ack_every: [1, 4, 16]}}
"""
ACKNOWLEDGE = {1: 10.0, 4: 0.0, 16: -10.0}
"""What each value of the field adds [ms]."""
CHANCE = (-0.5, 0.0, 0.5)
"""What each iteration adds [ms]."""


def measured(file: Path, root: Path, values_of: Callable[[TrialFacts, int], Values | None]) -> Workspace:
    """Fill a workspace with what the trials of a campaign came to.

    Args:
        file: The campaign.
        root: Folder of the workspace.
        values_of: Gives the metrics of a trial by its facts and place; none for one that has no record.
    """
    workspace = Workspace.open(root, create=True)
    found = [
        (unit.facts, values_of(unit.facts, place)) for place, unit in enumerate(units_of(load_campaign(file)))
    ]
    with workspace.database.writing() as connection:
        rows: list[dict[str, Any]] = []
        for facts, values in found:
            if values is None:
                continue
            attempt = workspace.catalog.add_running(connection, facts, facts.id, None, machine_facts())
            rows += [
                {"attempt": attempt, "metric": name, "job": "test", "value": value}
                for name, value in values.items()
                if value is not None
            ]
        for first in range(0, len(rows), AT_ONCE):
            connection.insert("trial_metrics", *rows[first : first + AT_ONCE])
        ended = {"status": COMPLETE, "results": "[]", "summary": "{}"}
        connection.update("trials", ended, all_of())
    return workspace


def made(facts: TrialFacts, _: int) -> Values:
    """100 ms at 1 MB and 200 at 2 MB, each with what acknowledging does, and chance by the iteration."""
    time = 100 * (facts.data_size_bytes >> 20) + ACKNOWLEDGE[dict(facts.axes)["transport.ack_every"]]
    return {"completion_time_ms": time + CHANCE[facts.iteration], "queue_max_bytes": 1e6 / time}


def written(folder: Path, text: str) -> Path:
    """Write the file of a campaign."""
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


def known(file: Path, workspace: Workspace, **progress: Any) -> None:
    """Have a workspace know a campaign as if it had run there to its end, or as far as is said."""
    campaign = load_campaign(file)
    store_campaign_trials(workspace, campaign, file)
    count = len(units_of(campaign))
    state: dict[str, Any] = {"state": "complete", "trials": count, "finished": count, "percent": 100.0}
    state |= {"kept": 0, "failed": 0, "elapsed_s": 60.0, "left_s": None, "cores": 2}
    note_campaign(workspace.root, CampaignState(name=campaign.name, **(state | progress)))


def table_of(file: Path, metrics: list[str] | None = None, job: str | None = None) -> CampaignTable:
    """Return the table of a campaign with the workspace beside its file."""
    found = members_of(load_campaign(file))
    workspace = Workspace.open(file.parent / "fabricbench-workspace")
    return campaign_table(workspace, found.frame, found.factors, metrics, job)


def response_of(file: Path) -> Response:
    """Return what the factors of a campaign do to the completion time."""
    return table_of(file, [TIME.name]).response(TIME)
