"""Reads campaign files: plans, with changed fields, sweep and number of seeds for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from fabricbench.plan.document.document import Document, read_file
from fabricbench.plan.document.overrides import apply_overrides
from fabricbench.plan.document.shipped import find_plan
from fabricbench.plan.document.validate import read_model
from fabricbench.plan.errors import PlanError, Problem
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Name
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.sweep.model import SIZE_FIELDS
from fabricbench.runner.loading import check_no_search, entry_plan, entry_problems, load

PLANS_MAX = 1_000
SEEDS_MAX = 10_000


class PlanEntry(PlanModel):
    """A plan of the campaign."""

    plan: str = Field(
        min_length=1, max_length=1_000, description="A shipped plan's name, or a file beside this one."
    )
    seeds: int | None = Field(
        default=None, ge=1, le=SEEDS_MAX, description="Iterations of it, each with a seed of its own."
    )
    changes: dict[str, Any] = Field(
        default={}, alias="set", description="Fields of the plan and what they are here."
    )
    sweep: dict[str, Any] | None = Field(
        default=None,
        description="What is swept in place of the plan's own sweep; its sizes stay unless there are others.",
    )


class CampaignFile(PlanModel):
    """Plans whose trials run as one campaign."""

    campaign: Literal[1] = Field(description="Version of the format: 1.")
    name: Name = Field(description="Name of the campaign.")
    title: str = Field(default="", max_length=200, description="One line for tables and reports.")
    seeds: int | None = Field(
        default=None, ge=1, le=SEEDS_MAX, description="Iterations of each plan that does not say how many."
    )
    changes: dict[str, Any] = Field(
        default={},
        alias="set",
        description="Fields and what they are in every plan; a plan's own come after.",
    )
    plans: list[PlanEntry] = Field(min_length=1, max_length=PLANS_MAX, description="The plans.")


@dataclass(frozen=True)
class Campaign:
    """A loaded campaign that can run.

    Attributes:
        name: Its name.
        title: One-line description.
        plans: Its plans, with the changes and sweeps of the campaign applied.
        uncounted: Number of plans that were not loaded because the campaign is already too large.
    """

    name: str
    title: str
    plans: tuple[LoadedPlan, ...]
    uncounted: int = 0


def load_campaign(path: Path, limits: Limits | None = None, trials_max: int | None = None) -> Campaign:
    """Load a campaign.

    Args:
        path: Its file; paths of plans are relative to its folder.
        limits: Limits on the cost of each trial; None for no limits.
        trials_max: Number of trials after which no more plans are loaded: a million would take minutes.

    Raises:
        PlanError: It cannot be read, or one of its plans cannot run within the limits.
    """
    document, campaign_file = _read_campaign(path)
    problems: list[Problem] = []
    loaded: list[LoadedPlan] = []
    for index, entry in enumerate(campaign_file.plans):
        if trials_max is not None and sum(len(plan.trials) for plan in loaded) > trials_max:
            break
        try:
            name = entry_plan(entry.plan, path)
            loaded.append(load(name, list(_overrides(campaign_file, entry, name)), limits))
            check_no_search(loaded[-1], "a campaign")
        except PlanError as error:
            problems += entry_problems(error, document, ("plans", index, "plan"))
    if problems:
        raise PlanError(problems)
    return Campaign(
        campaign_file.name, campaign_file.title, tuple(loaded), len(campaign_file.plans) - len(loaded)
    )


def campaign_name(path: Path) -> str:
    """Return the name of a campaign without loading its plans.

    Raises:
        PlanError: The file cannot be read.
    """
    return _read_campaign(path)[1].name


def _read_campaign(path: Path) -> tuple[Document, CampaignFile]:
    document = read_file(path, str(path))
    return document, read_model(document, CampaignFile)


def _overrides(campaign_file: CampaignFile, entry: PlanEntry, name: str) -> Iterator[str]:
    """Yield the overrides of a plan in the form of `run -s`."""
    changes: Mapping[str, Any] = {**campaign_file.changes, **entry.changes}
    changed_fields = [f"{field}={json.dumps(value)}" for field, value in changes.items()]
    yield from changed_fields
    if entry.sweep is not None:
        sizes = {} if _has_sizes(entry.sweep) else _sizes_of(name, changed_fields)
        yield f"sweep={json.dumps({**sizes, **entry.sweep})}"
    if (seeds := entry.seeds or campaign_file.seeds) is not None:
        yield f"iterations={seeds}"


def _has_sizes(sweep: Mapping[str, Any]) -> bool:
    """Check whether a sweep contains sizes, by themselves or zipped with other fields."""
    zipped = sweep.get("zip")
    groups = (sweep, zipped if isinstance(zipped, Mapping) else {})
    return any(name in group for group in groups for name in SIZE_FIELDS)


def _sizes_of(name: str, changes: list[str]) -> dict[str, Any]:
    """Return the sizes that a plan sweeps, after its changes; empty if its jobs have sizes or it zips them.

    Raises:
        PlanError: The plan cannot be read.
    """
    file, source = find_plan(name)
    sweep = apply_overrides(read_file(file, source), changes).value(("sweep",))
    return {field: sweep[field] for field in SIZE_FIELDS if field in sweep} if isinstance(sweep, dict) else {}
