"""Routes that compare results published in papers and test reports with trials of the shipped plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from fabricbench.figures.results.published import published_plot
from fabricbench.metrics import BUS_BANDWIDTH, BY_NAME, Metric
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.errors import PlanError
from fabricbench.plan.expand import canonical_json
from fabricbench.report.studies.published import PublishedRowJson, published_rows
from fabricbench.results.job_reports import stored_reports
from fabricbench.results.result_source import SIMULATED, made
from fabricbench.runner import loading
from fabricbench.server.errors import ERRORS, error_404
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.metric_list import MetricParameter, chosen_metric
from fabricbench.server.routes.plots import MetricFigure, plot_json
from fabricbench.server.state import ServerState, State
from fabricbench.store import Trial
from fabricbench.store.catalog.schema import FINISHED

router = APIRouter(prefix="/api/v1", tags=["validation"], responses=ERRORS)


class PublishedPlan(BaseModel):
    """A plan, or a variant of one, with published results."""

    plan: str
    title: str
    variant: str
    size_kind: str
    table: str
    source: str = Field(description="Where the figures come from.")
    note: str = Field(description="What the plan says about them.")
    changed: int = Field(
        description="How many trials of the plan do not count here: something was changed for them."
    )
    rows: list[PublishedRowJson] = Field(
        description="Each line of the table, and our newest trial of the plan as it is shipped."
    )


class Validation(BaseModel):
    """Every published table of the shipped plans that can be loaded."""

    plans: list[PublishedPlan]


@cache
def _tables() -> list[dict[str, Any]]:
    """Return the published tables of the shipped plans, without our results."""
    tables = []
    for name, file in shipped_plans().items():
        if "published:" not in file.read_text(encoding="utf-8"):
            continue
        try:
            loaded = loading.load(name)
        except PlanError:  # GET /api/v1/plans returns the error
            continue
        for variant in loaded.variants:
            table = variant.published
            if table is None or variant.case.number:
                continue
            trials = (trial for trial in loaded.trials if trial.variant == variant.label)
            tables.append(
                {
                    "plan": name,
                    "title": loaded.plan.title,
                    "variant": variant.label,
                    "table": table.name,
                    "size_kind": table.size_kind,
                    "source": table.source,
                    "note": variant.plan.published_note or "",
                    "values": table.rows,
                    "specs": frozenset(trial.spec_json for trial in trials),
                    "text": loaded.text,
                }
            )
    return tables


@router.get("/validation")
def list_published(state: State) -> Validation:
    """Return the published results, each with that of the newest trial of this workspace.

    A trial counts if it ran the plan as it is shipped: with another seed or with a parameter
    changed it does not. Whatever chose some of its sizes or variants changed nothing.
    """
    tables = _tables()
    trials = {name: _finished(state, name) for name in {entry["plan"] for entry in tables}}
    return Validation(plans=[_published(entry, trials[entry["plan"]]) for entry in tables])


@router.get("/validation/figure", response_model=MetricFigure)
def draw_published(
    state: State,
    plan: Annotated[str, Query(max_length=200)],
    variant: Annotated[str, Query(max_length=200)] = "base",
    metric: MetricParameter = None,
) -> Response:
    """Draw a metric of a published table and ours against size."""
    matches = (entry for entry in _tables() if (entry["plan"], entry["variant"]) == (plan, variant))
    entry = next(matches, None)
    if entry is None:
        raise error_404(f'no published table of plan "{plan}", variant "{variant}"')
    rows = _published(entry, _finished(state, plan)).rows
    metrics = sorted(_metrics_of(rows), key=lambda candidate: candidate != BUS_BANDWIDTH)
    drawn = chosen_metric(metric, metrics)
    plot = published_plot(rows, drawn, f"{entry['size_kind']} size") if drawn else None
    if drawn is None or plot is None:
        raise error_404("nothing to draw: the table has no metric")
    names = [candidate.name for candidate in metrics]
    body = plot_json(plot, title=drawn.title, metric=drawn.name, metrics=names)
    return json_answer(body)


def _metrics_of(rows: Iterable[Mapping[str, Any]]) -> list[Metric]:
    """Return the metrics that any line of a published table has, in the order of output."""
    names = {name for row in rows for name in row["metrics"]}
    return [metric for name, metric in BY_NAME.items() if name in names]


def _finished(state: ServerState, plan: str) -> list[Trial]:
    """Return the simulated trials of a plan, the newest last."""
    trials = state.workspace.trials(plan=plan, states=FINISHED)
    return [trial for trial in trials if made(trial) == SIMULATED]


def _is_as_shipped(trial: Trial, entry: dict[str, Any]) -> bool:
    """Return whether a trial ran the plan as shipped, by run spec or, for earlier versions, by its text."""
    facts = trial.facts
    changed = {override.partition("=")[0].strip() for override in facts.overrides}
    has_its_text = facts.plan_source == entry["text"] and facts.size_kind == entry["size_kind"]
    return (has_its_text and changed <= _SELECTION_FIELDS) or canonical_json(facts.run_spec) in entry["specs"]


_SELECTION_FIELDS: Final = frozenset({"sweep.data_size", "sweep.message_size", "tag"})
"""Fields that choose among the trials of a plan; a published line belongs to one size of one kind."""


def _published(entry: dict[str, Any], trials: list[Trial]) -> PublishedPlan:
    """Return a published table with the results of the newest trials of the plan as it is shipped."""
    variant_trials = [trial for trial in trials if trial.facts.variant == entry["variant"]]
    as_shipped = [trial for trial in variant_trials if _is_as_shipped(trial, entry)]
    newest_by_size = {trial.facts.data_size_bytes: trial for trial in as_shipped}
    reports_by_size = {
        size: stored_reports(newest_by_size[size])[0] if size in newest_by_size else None
        for size in entry["values"]
    }
    rows = published_rows(entry["values"], reports_by_size)
    return PublishedPlan.model_validate(
        {**entry, "changed": len(variant_trials) - len(as_shipped), "rows": rows}
    )
