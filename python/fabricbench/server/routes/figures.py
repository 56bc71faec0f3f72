"""Routes for the figures of a trial: their list, and each as Plotly JSON thinned for browsers."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from fabricbench.figures.chunks.timeline_lanes import Window
from fabricbench.figures.registry import FIGURES, drawn
from fabricbench.figures.trial_data import subject_of
from fabricbench.server.errors import ERRORS, ApiError, error_404
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.plots import ReducedFigure, plot_json
from fabricbench.server.routes.trials import FinishedTrial, identity
from fabricbench.server.state import State
from fabricbench.store import Trial

router = APIRouter(prefix="/api/v1", tags=["figures"], responses=ERRORS)

FigureName = StrEnum(  # type: ignore[misc]
    "FigureName", {name.upper().replace("-", "_"): name for name in FIGURES}
)
FigureSection = StrEnum(  # type: ignore[misc]
    "FigureSection", {figure.section.key.upper(): figure.section.key for figure in FIGURES.values()}
)
_PS_MAX = 1 << 62


class FigureInfo(BaseModel):
    """A figure that a trial has."""

    name: FigureName
    title: str
    section: FigureSection = Field(description="The section of the report that it belongs to.")
    of_run: bool = Field(description="Whether it shows the whole run that the trial belongs to.")
    over_time: bool = Field(description="Whether it is drawn over the time of the run.")
    zooms: bool = Field(description="Whether `from_ps` and `to_ps` bring out more of it.")


class FigureList(BaseModel):
    """The figures of a trial."""

    figures: list[FigureInfo]


class TrialFigure(ReducedFigure):
    """A figure of a trial."""

    name: FigureName
    title: str
    end_ps: int | None = Field(description="End of the run, and of every axis of time [ps].")


@router.get("/trials/{trial_id}/figures")
def list_figures(trial: FinishedTrial, state: State) -> FigureList:
    """List the figures of a trial."""
    run = state.workspace.suite(trial)
    twins = state.workspace.twins(run)
    key = ("figures", *map(identity, [trial, *run, *twins]))
    names: list[str] = json.loads(state.cache.get(key, lambda: _names(trial, run, twins)))
    figures = [(name, FIGURES[name]) for name in names]
    return FigureList(
        figures=[
            FigureInfo(
                name=FigureName(name),
                title=figure.title,
                section=FigureSection(figure.section.key),
                of_run=figure.of_run,
                over_time=figure.over_time,
                zooms=figure.zooms,
            )
            for name, figure in figures
        ]
    )


def _names(trial: Trial, run: list[Trial], twins: list[Trial]) -> bytes:
    alone, whole_run = subject_of(trial, [trial]), subject_of(trial, run)
    with_twins = subject_of(trial, [*run, *twins])
    names = [
        name
        for name, figure in FIGURES.items()
        if figure.is_there(with_twins if figure.has_twins else whole_run if figure.of_run else alone)
    ]
    return json.dumps(names).encode()


@router.get("/trials/{trial_id}/figures/{name}", response_model=TrialFigure)
def draw_figure(
    trial: FinishedTrial,
    name: FigureName,
    state: State,
    from_ps: Annotated[
        int | None, Query(ge=0, le=_PS_MAX, description="Timeline: begin of a window.")
    ] = None,
    to_ps: Annotated[int | None, Query(ge=0, le=_PS_MAX, description="Timeline: end of it.")] = None,
    job: Annotated[
        str | None, Query(max_length=200, description="Timeline, ratio: of this job only.")
    ] = None,
    rank: Annotated[
        list[int] | None, Query(max_length=256, description="Timeline: of these sending ranks only.")
    ] = None,
    status: Annotated[str | None, Query(max_length=40, description="Timeline: that ended so only.")] = None,
) -> Response:
    """Draw a figure."""
    if to_ps is not None and to_ps < (from_ps or 0):
        raise ApiError(422, f"to_ps: found {to_ps}", field="to_ps", allowed="from_ps or more")
    ranks = tuple(sorted(set(rank or [])))
    window = Window(from_ps or 0, to_ps, job, [number for number in ranks if 0 <= number < _PS_MAX], status)
    is_whole = window == Window(ranks=[])
    window_key = () if is_whole else (window.from_ps, to_ps, job, ranks, status)
    figure = FIGURES[name.value]
    run = state.workspace.suite(trial) if figure.of_run else [trial]
    run += state.workspace.twins(run) if figure.has_twins else []
    key = ("figure", name.value, window_key, *map(identity, [trial, *run]))
    body = state.cache.get(key, lambda: _drawn(trial, name.value, None if is_whole else window, run))
    return json_answer(body)


def _drawn(trial: Trial, name: str, window: Window | None, run: list[Trial]) -> bytes:
    plot = drawn(name, trial, run, window)
    if plot is None:
        raise error_404(f"nothing to draw: {FIGURES[name].title}")
    end_ps = (trial.summary or {}).get("end_ps")
    return plot_json(plot, name=name, title=FIGURES[name].title, end_ps=end_ps)
