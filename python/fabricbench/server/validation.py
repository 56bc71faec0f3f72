"""Published results and ours beside them, for every shipped plan that has some."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from fabricbench import runner
from fabricbench.report.published import published_rows
from fabricbench.report.trials import Beside, stored_reports
from fabricbench.server.errors import ERRORS
from fabricbench.server.trials import State
from fabricbench.store.catalog_schema import FINISHED

router = APIRouter(prefix="/api/v1", tags=["validation"], responses=ERRORS)


class PublishedResult(BaseModel):
    """A line of a published table, and our newest trial of it."""

    data_size_bytes: int
    trial: str | None = Field(description="Id of our trial; null if none has finished in this workspace.")
    metrics: dict[str, dict[str, Any]] = Field(
        description="By name: `unit`, `published`, `ours` and `deviation_percent`, null where not measured."
    )


class PublishedPlan(BaseModel):
    """A plan, or a variant of one, with published results."""

    plan: str
    title: str
    variant: str
    size_kind: str
    table: str
    source: str = Field(description="Where the figures come from.")
    note: str = Field(description="What the plan says about them.")
    rows: list[PublishedResult]


class Validation(BaseModel):
    """Every published table."""

    plans: list[PublishedPlan]


@cache
def _tables() -> list[dict[str, Any]]:
    """Return the published tables of the shipped plans, without our results."""
    from fabricbench.plan.shipped import shipped_plans

    found = []
    for name in shipped_plans():
        loaded = runner.load(name)
        for variant in loaded.variants:
            if variant.published is not None:
                table = variant.published
                about = {
                    "plan": name,
                    "title": loaded.plan.title,
                    "variant": variant.label,
                    "table": table.name,
                }
                about |= {"size_kind": table.size_kind, "source": table.source}
                about |= {"note": variant.plan.published_note or ""}
                found.append(about | {"values": table.rows})
    return found


@router.get("/validation")
def list_published(state: State) -> Validation:
    """Return the published results, with what the newest trials of this workspace say to each.

    A trial counts whatever it was run with: compare its parameters where a deviation surprises.
    """
    tables = _tables()
    newest: dict[tuple[str, str, int], Any] = {}
    for plan in {about["plan"] for about in tables}:
        for trial in state.workspace.trials(plan=plan, states=FINISHED):
            if trial.facts.published is not None:
                newest[plan, trial.facts.variant, trial.facts.data_size_bytes] = trial
    jobs = {place: stored_reports(trial, Beside())[0] for place, trial in newest.items()}
    plans = []
    for about in tables:
        own = {size: jobs.get((about["plan"], about["variant"], size)) for size in about["values"]}
        rows = published_rows(about["values"], own)
        plans.append(PublishedPlan.model_validate({**about, "rows": rows}))
    return Validation(plans=plans)
