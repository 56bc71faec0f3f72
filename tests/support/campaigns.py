"""Campaigns with made-up results: the rows of the catalog that trials would have left, without any run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fabricbench.runner.campaign.drive import units_of
from fabricbench.runner.campaign.file import load_campaign
from fabricbench.runner.trials import machine_facts
from fabricbench.store import TrialFacts, Workspace
from fabricbench.store.catalog_schema import COMPLETE, trial_metrics, trials
from fabricbench.store.sql.statement import insert_many, update

Values = Mapping[str, float | None]
AT_ONCE = 150


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
            connection.execute(insert_many(trial_metrics, rows[first : first + AT_ONCE]))
        connection.execute(update(trials).values({"status": COMPLETE, "results": "[]", "summary": "{}"}))
    return workspace
