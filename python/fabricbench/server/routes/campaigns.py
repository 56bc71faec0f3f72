"""Routes for campaigns: progress, trials without results, effects of factors, Pareto front of two metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabricbench.figures.campaign.pareto import pareto_plot
from fabricbench.figures.campaign.plots import plots_of
from fabricbench.figures.plot import Plot
from fabricbench.metrics import BY_NAME, Direction, Metric
from fabricbench.report.studies.campaign import (
    EffectJson,
    VarianceShareJson,
    response_object,
    setting_rows,
)
from fabricbench.results.studies.campaign_table import campaign_table
from fabricbench.results.studies.factor_effects import CampaignTable, Response as Effects, front_of
from fabricbench.server.errors import ERRORS, ApiError, error_404
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.metric_list import MetricParameter, chosen_metric
from fabricbench.server.routes.plots import ReducedFigure, plot_json
from fabricbench.server.state import ServerState, State
from fabricbench.store.campaigns import CampaignTrials, campaigns, kept_trials, trials_stamp
from fabricbench.store.queries.measured_values import measured_metrics, values_stamp

router = APIRouter(prefix="/api/v1", tags=["campaigns"], responses=ERRORS)

CampaignName = Annotated[
    str,
    Path(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200, description="Name of a campaign."),
]
JobParameter = Annotated[
    str | None, Query(max_length=200, description="Metrics of this job, not of the one that fares worst.")
]
_MISSING_MAX: Final = 200
"""Number of trials without a record that are listed."""
_EXTREMES_MAX: Final = 10
"""Number of best settings listed, and of worst settings."""
_LOADS_MAX: Final = 200
"""Number of pairs of plan and size whose best settings are listed."""
_FRONT_MAX: Final = 500


class CampaignProgress(BaseModel):
    """How far a campaign is."""

    name: str
    state: str = Field(
        description="`running`, `complete` once all trials have ended, `failed` or `interrupted`."
    )
    trials: int = Field(description="How many trials it has.")
    kept: int = Field(description="How many had their record before.")
    finished: int = Field(description="How many have ended with a record since.")
    failed: int = Field(description="How many have ended without.")
    percent: float = Field(description="Share of the estimated work that is done [%].")
    elapsed_s: float = Field(description="Time since it began [s].")
    left_s: float | None = Field(description="Time that the rest will take [s]; null if not known.")
    cores: int = Field(description="Cores that work on it.")
    waits: str = Field(description="What does not answer and is waited for; nothing if empty.")
    noted_at: str = Field(description="When all this was noted, ISO 8601 in UTC.")


class Campaigns(BaseModel):
    """The campaigns that have run in the workspace, the newest first."""

    campaigns: list[CampaignProgress]


class CampaignFactor(BaseModel):
    """What differs among the trials of a campaign."""

    name: str = Field(description="`plan`, `variant`, `data_size`, `message_size`, or the path of a field.")
    levels: list[str] = Field(description="Its values in words, in their order.")


class MissingTrial(BaseModel):
    """A trial without a record, with the value of each factor by its name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str | int]

    trial: str
    status: str
    iteration: int


class CampaignDetail(BaseModel):
    """A campaign and its trials."""

    progress: CampaignProgress
    has_trials: bool = Field(
        description="Whether it is known which trials it has; campaigns of earlier versions do not tell."
    )
    title: str
    source: str = Field(description="The text of its file.")
    factors: list[CampaignFactor]
    metrics: list[str] = Field(description="Names of the metrics that any trial has, the main one first.")
    jobs: list[str]
    alone: int = Field(description="How many trials more run one job of several alone, and are left out.")
    recorded: int = Field(description="How many trials have a record.")
    missing_total: int = Field(description="How many have none.")
    missing: list[MissingTrial] = Field(description="The first of those.")


class CampaignSetting(BaseModel):
    """A setting, the value of each factor by its name, and the result of its trials."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str | float | None]

    mean: float
    margin: float | None = Field(description="Half of the 95 % confidence interval; null without repeats.")
    seeds: int


class BestSetting(CampaignSetting):
    """The best setting of a plan and size."""

    as_good: int = Field(description="How many settings are not significantly different.")


class CampaignFigure(ReducedFigure):
    """A figure of `fabricbench campaign report`."""

    name: str


class CampaignAnalysis(BaseModel):
    """Effects of the factors of a campaign on a metric, as `fabricbench campaign show` has them as JSON."""

    metric: str
    title: str
    unit: str
    relative: bool = Field(description="Whether values are shares of the mean of their plan and size.")
    better: Direction
    factors: list[str]
    trials: int
    unmeasured: int
    notes: list[str]
    mean: float | None
    effects: list[EffectJson] = Field(description="The strongest factor first.")
    variance: list[VarianceShareJson]
    best_of_each: list[BestSetting] = Field(description="The best setting of each plan and size.")
    best: list[CampaignSetting]
    worst: list[CampaignSetting]
    settings_total: int
    figures: list[CampaignFigure]


class CampaignPareto(ReducedFigure):
    """Two metrics of the settings of a campaign against each other."""

    metrics: list[str] = Field(description="Names of the two.")
    front: list[dict[str, str | float]] = Field(
        description="The settings that no other is better than in both: each factor and both metrics."
    )
    front_total: int


@router.get("/campaigns")
def list_campaigns(state: State) -> Campaigns:
    """Return how far each campaign is that has run in the workspace by `fabricbench campaign`."""
    return Campaigns(campaigns=_progress(state))


@router.get("/campaigns/{name}")
def show_campaign(name: CampaignName, state: State) -> CampaignDetail:
    """Return how far a campaign is, what differs among its trials, and which have no record."""
    progress = next((report for report in _progress(state) if report.name == name), None)
    if progress is None:
        raise error_404(f'no campaign "{name}" has run here', "GET /api/v1/campaigns lists them")
    campaign_trials = kept_trials(state.workspace.root, name)
    if campaign_trials is None:
        return CampaignDetail(progress=progress, has_trials=False, **_WITHOUT_TRIALS)
    key = ("campaign", _stamp(state, name))
    facts = json.loads(
        state.cache.get(key, lambda: json.dumps(_trial_facts(state, campaign_trials)).encode())
    )
    return CampaignDetail(progress=progress, has_trials=True, **facts)


_WITHOUT_TRIALS: Final[dict[str, Any]] = {
    "title": "",
    "source": "",
    "factors": [],
    "metrics": [],
    "jobs": [],
    "alone": 0,
    "recorded": 0,
    "missing_total": 0,
    "missing": [],
}


def _progress(state: ServerState) -> list[CampaignProgress]:
    reports = []
    for campaign in campaigns(state.workspace.root):
        with suppress(ValidationError):  # its file was edited by hand
            reports.append(CampaignProgress.model_validate(asdict(campaign)))
    return reports


def _stamp(state: ServerState, name: str) -> tuple[object, ...]:
    """Return a cache key of a campaign: it changes with its trials and with their results."""
    return (name, trials_stamp(state.workspace.root, name), *values_stamp(state.workspace))


def _trial_facts(state: ServerState, campaign_trials: CampaignTrials) -> dict[str, Any]:
    """Return the factors of a campaign, its metrics and jobs, and its trials without a record."""
    table = _table(state, campaign_trials, [], None)
    missing = table.missing.select("trial", "status", *table.factors, "iteration")
    return {
        "title": campaign_trials.title,
        "source": campaign_trials.source,
        "factors": [{"name": name, "levels": levels} for name, levels in table.factors.items()],
        "metrics": [metric.name for metric in _metrics(state, campaign_trials)],
        "jobs": list(campaign_trials.jobs),
        "alone": campaign_trials.alone,
        "recorded": table.trials - missing.height,
        "missing_total": missing.height,
        "missing": missing.head(_MISSING_MAX).to_dicts(),
    }


def _metrics(state: ServerState, campaign_trials: CampaignTrials) -> list[Metric]:
    """Return the metrics measured in any trial of a campaign, the main one first."""
    ids: list[str] = campaign_trials.members["trial"].unique().to_pylist()
    measured_names = measured_metrics(state.workspace, ids)
    metrics = [metric for name, metric in BY_NAME.items() if name in measured_names]
    return sorted(metrics, key=lambda metric: metric.name != campaign_trials.metric)


def _table(
    state: ServerState, campaign_trials: CampaignTrials, metrics: Sequence[str], job: str | None
) -> CampaignTable:
    import polars as pl

    if job is not None and job not in campaign_trials.jobs:
        raise ApiError(422, f'job: found "{job}"', field="job", allowed=", ".join(campaign_trials.jobs))
    members = pl.DataFrame(campaign_trials.members)
    return campaign_table(state.workspace, members, campaign_trials.factors, metrics, job)


def _trials_of(state: ServerState, name: str) -> CampaignTrials:
    campaign_trials = kept_trials(state.workspace.root, name)
    if campaign_trials is None:
        hint = f"`fabricbench campaign` with the file of {name} tells, and runs no trial again"
        raise error_404(f'it is not known which trials campaign "{name}" has', hint)
    return campaign_trials


@router.get("/campaigns/{name}/analysis", response_model=CampaignAnalysis)
def analyse_campaign(
    name: CampaignName,
    state: State,
    metric: MetricParameter = None,
    job: JobParameter = None,
    relative: Annotated[
        bool, Query(description="Values as shares of the mean of their plan and size.")
    ] = False,
) -> Response:
    """Return the effects of the factors of a campaign on a metric, and its best and worst settings."""
    campaign_trials = _trials_of(state, name)
    key = ("analysis", _stamp(state, name), metric, job, relative)
    body = state.cache.get(key, lambda: _analysis(state, campaign_trials, metric, job, relative=relative))
    return json_answer(body)


def _analysis(
    state: ServerState,
    campaign_trials: CampaignTrials,
    metric_name: str | None,
    job: str | None,
    *,
    relative: bool,
) -> bytes:
    metric = chosen_metric(metric_name, _metrics(state, campaign_trials))
    if metric is None:
        raise error_404("nothing to analyse: no trial has a record")
    response = _table(state, campaign_trials, [metric.name], job).response(metric, relative=relative)
    head = json.dumps(_response_content(response))
    figures = [plot_json(plot, name=name) for name, plot in plots_of(response).items()]
    return b"".join((head[:-1].encode(), b', "figures": [', b", ".join(figures), b"]}"))


def _response_content(response: Effects) -> dict[str, Any]:
    ranked = setting_rows(response)
    content = response_object(response)
    return content | {
        "title": response.title,
        "factors": response.names,
        "best": ranked[:_EXTREMES_MAX],
        "worst": ranked[_EXTREMES_MAX:][-_EXTREMES_MAX:],
        "settings_total": len(ranked),
        "best_of_each": content["best_of_each"][:_LOADS_MAX],
    }


@router.get("/campaigns/{name}/pareto", response_model=CampaignPareto)
def compare_metrics(
    name: CampaignName,
    state: State,
    first: MetricParameter = None,
    second: MetricParameter = None,
    job: JobParameter = None,
) -> Response:
    """Set two metrics of the settings of a campaign against each other; by default the first two."""
    campaign_trials = _trials_of(state, name)
    key = ("pareto", _stamp(state, name), first, second, job)
    body = state.cache.get(key, lambda: _pareto(state, campaign_trials, (first, second), job))
    return json_answer(body)


def _pareto(
    state: ServerState,
    campaign_trials: CampaignTrials,
    metric_names: tuple[str | None, str | None],
    job: str | None,
) -> bytes:
    metrics = _metrics(state, campaign_trials)
    first_metric = chosen_metric(metric_names[0], metrics)
    second_metric = chosen_metric(
        metric_names[1], [metric for metric in metrics if metric is not first_metric]
    )
    if first_metric is None or second_metric is None:
        raise error_404("nothing to draw: trials have fewer than two metrics")
    table = _table(state, campaign_trials, [first_metric.name, second_metric.name], job)
    front = front_of(table.response(first_metric), table.response(second_metric))
    plot: Plot | None = pareto_plot(front)
    if plot is None:
        raise error_404("nothing to draw: no setting has both metrics")
    rows = front.rows()
    head = {
        "metrics": [first_metric.name, second_metric.name],
        "front": rows[:_FRONT_MAX],
        "front_total": len(rows),
    }
    return plot_json(plot, **head)
