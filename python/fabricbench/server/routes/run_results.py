"""Route for the results of a run: verdict, best and worst, maps and table of results, first causes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from fabricbench.metrics import METRICS, Metric, View
from fabricbench.report.documents.criteria import missed_text
from fabricbench.report.documents.diagnosis import FindingJson, finding_object
from fabricbench.report.documents.run_results import LabelledResult, RunResults, run_results
from fabricbench.results.job_ranking import kept_of
from fabricbench.results.job_reports import JobReport
from fabricbench.results.studies.sweep import JobGrid
from fabricbench.server.errors import ERRORS
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.runs import RunId, finished_trials_of
from fabricbench.server.routes.trials import identity
from fabricbench.server.state import State
from fabricbench.server.workers.fabric_map import FabricMap
from fabricbench.server.workers.plan_fabric import spec_fabric

router = APIRouter(prefix="/api/v1", tags=["runs"], responses=ERRORS)

_RESULTS_MAX = 500
"""Results of a run in one response, those of most concern."""
_MAPS_MAX = 12
_SHOWN = [metric for metric in METRICS if View.TRIALS_PAGE in metric.views]


class RunResult(BaseModel):
    """One job of one trial."""

    trial: str
    job: str
    iteration: int
    status: str
    verdict: str | None = Field(description="`pass` or `fail` by the plan's criteria; null without any.")
    missed: str = Field(description="The first criterion that is not met; empty if all are.")
    kept_percent: float | None = Field(description="Bus bandwidth relative to alone [%].")
    values: list[str] = Field(description="Value of each of the run's dimensions.")
    metrics: dict[str, float | None]


class LabelledRunResult(BaseModel):
    """The best or the worst result of a run."""

    trial: str
    job: str
    label: str = Field(description="What it is of: job, size, variant, swept values.")
    value: str
    why: str


class MapCell(BaseModel):
    """A result in a map; the median over the iterations."""

    trial: str = Field(description="The trial of the first iteration.")
    value: float | None = Field(description="Null where it was not measured, or the job is not complete.")
    status: str
    verdict: str | None


class RunMap(BaseModel):
    """Results over two dimensions."""

    about: str = Field(description="Values of the other dimensions; empty without any.")
    row_title: str
    column_title: str
    rows: list[str]
    columns: list[str]
    cells: list[list[MapCell | None]] = Field(description="By row and column; null where there is no trial.")


class ResultsOfRun(BaseModel):
    """Results of a run; empty texts and lists while it has none."""

    question: str = Field(description="Title of the plan, or what differs between its trials.")
    headline: str = Field(description="The verdict in one line.")
    sentences: list[str]
    focus: str | None = Field(description="The trial with the worst result, for the figures of the run.")
    best: LabelledRunResult | None
    worst: LabelledRunResult | None
    findings: list[FindingJson] = Field(
        description="Likely causes of the worst result, as `shown` of a trial has them."
    )
    metric: str = Field(description="Metric of the maps.")
    maps: list[RunMap]
    dimensions: list[str] = Field(description="Titles of what differs between the results.")
    total: int = Field(description="How many results there are.")
    results: list[RunResult] = Field(description="Failed ones first, then by the share of the ideal.")


@router.get("/runs/{run_id}/results", response_model=ResultsOfRun)
def show_results(run_id: RunId, state: State) -> Response:
    """Return the results of a run so far, without jobs run alone."""
    trials = finished_trials_of(state, run_id)
    others = state.workspace.family(trials[0]) if trials else []
    key = ("run-results", *map(identity, [*trials, *others]))
    body = state.cache.get(key, lambda: _content(run_results(trials, others)).model_dump_json().encode())
    return json_answer(body)


@router.get("/runs/{run_id}/fabric")
def show_fabric_of_run(run_id: RunId, state: State) -> FabricMap | None:
    """Return the fabric of the first finished trial of a run as a map; null without one, as of imports."""
    trials = finished_trials_of(state, run_id)
    spec = trials[0].facts.run_spec if trials else {}
    return spec_fabric(spec) if "fabric" in spec else None


def _content(results: RunResults | None) -> ResultsOfRun:
    if results is None:
        return _NONE
    return ResultsOfRun(
        question=results.question,
        headline=results.headline,
        sentences=list(results.sentences),
        focus=results.worst.report.trial.id,
        best=_labelled(results.best) if results.best else None,
        worst=_labelled(results.worst),
        findings=[finding_object(finding) for finding in results.findings],
        metric=results.metric.name,
        maps=[_map(part, results.metric) for part in results.maps[:_MAPS_MAX]],
        dimensions=list(results.dimensions),
        total=len(results.results),
        results=[
            _result(job, values)
            for job, values in zip(results.results[:_RESULTS_MAX], results.values[:_RESULTS_MAX], strict=True)
        ],
    )


_NONE = ResultsOfRun(
    question="",
    headline="",
    sentences=[],
    focus=None,
    best=None,
    worst=None,
    findings=[],
    metric="",
    maps=[],
    dimensions=[],
    total=0,
    results=[],
)


def _labelled(result: LabelledResult) -> LabelledRunResult:
    return LabelledRunResult(
        trial=result.report.trial.id,
        job=result.report.summary.job,
        label=result.label,
        value=result.value,
        why=result.why,
    )


def _result(job: JobReport, values: Sequence[str]) -> RunResult:
    missed = [judgement for judgement in job.judgements if not judgement.passed]
    return RunResult(
        trial=job.trial.id,
        job=job.summary.job,
        iteration=job.trial.facts.iteration,
        status=job.summary.status,
        verdict=job.verdict,
        missed=missed_text(job, missed[0]) if missed else "",
        kept_percent=kept_of(job),
        values=list(values),
        metrics={metric.name: job.summary.value(metric.name) for metric in _SHOWN},
    )


def _map(part: JobGrid, metric: Metric) -> RunMap:
    return RunMap(
        about=part.about,
        row_title=part.rows.title,
        column_title=part.columns.title,
        rows=list(part.rows.values),
        columns=list(part.columns.values),
        cells=[
            [_cell(part.values.get((row, column), ()), metric) for column in part.columns.values]
            for row in part.rows.values
        ],
    )


def _cell(jobs: Sequence[JobReport], metric: Metric) -> MapCell | None:
    if not jobs:
        return None
    values = [value for job in jobs if (value := job.summary.value(metric.name)) is not None]
    unfinished = [job.summary.status for job in jobs if not job.is_complete]
    verdicts = {job.verdict for job in jobs}
    return MapCell(
        trial=jobs[0].trial.id,
        value=median(values) if values and not unfinished else None,
        status=unfinished[0] if unfinished else jobs[0].summary.status,
        verdict=next((verdict for verdict in ("fail", "pass") if verdict in verdicts), None),
    )
