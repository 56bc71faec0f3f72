"""Routes that compare trials (by size, variant, or with their predictions) and draw the comparison."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from fabricbench.figures.results.compared_trials import compared_plot
from fabricbench.report.documents.comparison import UnknownReferenceError, of_sizes, of_trials, of_variants
from fabricbench.report.documents.twins import NoTwinError, TwinsJson, twins_json, twins_of
from fabricbench.report.output.json_csv import comparison_json
from fabricbench.report.output.json_types import ComparisonJson
from fabricbench.results.curves import compared_curves, shown_metrics
from fabricbench.server.errors import ERRORS, ApiError, error_404
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.metric_list import MetricParameter, chosen_metric
from fabricbench.server.routes.plots import MetricFigure, plot_json
from fabricbench.server.routes.trials import finished_trial
from fabricbench.server.state import ServerState, State

router = APIRouter(prefix="/api/v1", tags=["compare"], responses=ERRORS)

_Id = Annotated[str, Query(pattern="^([0-9a-f]{1,12}|latest(~[0-9]{1,9})?)$")]
_Trials = Annotated[list[_Id], Query(min_length=1, max_length=16, description="The first is the reference.")]


@router.get("/compare", response_model=ComparisonJson | TwinsJson)
def compare_trials(
    state: State,
    trial: _Trials,
    by: Annotated[
        Literal["trial", "size", "variant", "twin"],
        Query(
            description="`size`: two runs, each named by a trial, at every size that both have. `variant`: "
            "the variants of the run of one trial. `twin`: the measured run of one trial beside what the "
            "simulator predicts of it."
        ),
    ] = "trial",
    reference: Annotated[str | None, Query(max_length=200, description="Variant to compare with.")] = None,
) -> Response:
    """Compare trials: `parameters` that differ, and every metric of each pair of `jobs` with its ratio.

    By twin: `twins`, each measured job with its prediction, deviation and likely causes, and `trends`.
    """
    if by == "variant":
        return json_answer(_by_variant(state, trial, reference))
    if reference is not None:
        raise ApiError(
            422, "reference: goes with by=variant", "otherwise the first trial is it", field="reference"
        )
    if by == "twin":
        return json_answer(_by_twin(state, trial))
    if by == "size":
        return json_answer(_by_size(state, trial))
    if len(trial) < 2:
        raise ApiError(422, "trial: found 1", "name two trials or more, or by=variant", field="trial")
    comparison = of_trials([finished_trial(trial_id, state) for trial_id in trial])
    if not comparison.pairs:
        raise ApiError(422, "the trials have no job in common", field="trial")
    return json_answer(comparison_json(comparison))


@router.get("/compare/figure", response_model=MetricFigure)
def draw_comparison(
    state: State,
    trial: _Trials,
    by: Annotated[
        Literal["trial", "size", "variant"],
        Query(description="`trial`: the variants of the trials. `size`, `variant`: all of their runs."),
    ] = "trial",
    metric: MetricParameter = None,
) -> Response:
    """Draw a metric of compared trials against data size."""
    trials = [finished_trial(candidate, state) for candidate in trial]
    curves = compared_curves(trials, state.workspace.suite, every_variant=by != "trial")
    metrics = shown_metrics(curves)
    drawn = chosen_metric(metric, metrics)
    plot = compared_plot(curves, drawn) if drawn else None
    if drawn is None or plot is None:
        raise error_404("nothing to draw: no job has a metric")
    names = [candidate.name for candidate in metrics]
    body = plot_json(plot, title=f"{drawn.title} over sizes", metric=drawn.name, metrics=names)
    return json_answer(body)


def _by_twin(state: ServerState, trials: list[str]) -> str:
    if len(trials) > 1:
        raise ApiError(
            422, "trial: by=twin takes one", "its run is set beside the prediction of it", field="trial"
        )
    run = state.workspace.suite(finished_trial(trials[0], state))
    try:
        return twins_json(twins_of(run, state.workspace.twins(run)))
    except NoTwinError as error:
        raise ApiError(422, str(error), field="trial") from error


def _by_size(state: ServerState, trials: list[str]) -> str:
    if len(trials) != 2:
        raise ApiError(422, "trial: by=size takes two", "name a trial of each of two runs", field="trial")
    first, second = (state.workspace.suite(finished_trial(trial_id, state)) for trial_id in trials)
    comparison = of_sizes(first, second)
    if not comparison.pairs:
        raise ApiError(
            422, "the runs have no collective, number of ranks and data size in common", field="trial"
        )
    return comparison_json(comparison)


def _by_variant(state: ServerState, trials: list[str], reference: str | None) -> str:
    if len(trials) > 1:
        raise ApiError(
            422, "trial: by=variant takes one", "it compares all variants of its run", field="trial"
        )
    focus = finished_trial(trials[0], state)
    if focus.facts.reference is None:
        raise ApiError(422, f"trial {focus.id} is of a plan without variants", field="trial")
    try:
        return comparison_json(of_variants(state.workspace.suite(focus), focus, reference))
    except UnknownReferenceError as error:
        raise ApiError(422, str(error), field="reference") from error
