"""Routes for trials: lists by trial and by run, filter values, details, port map, tags, trash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Path, Query, Response

from fabricbench.metrics import BY_NAME
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.documents.port_map import (
    ABOUT,
    cells_of,
    columns_of,
    is_number,
    ports_of,
    rows_of_port,
)
from fabricbench.report.output.json_csv import shown_json, trial_object
from fabricbench.results.hosts import hosts_of
from fabricbench.results.job_ranking import (
    by_concern,
    kept_of,
    leading_job,
    leading_text,
    total_ranks,
    worst_job,
)
from fabricbench.results.job_reports import ComparisonTrials, JobReport, current_reports, stored_reports
from fabricbench.results.run_outcomes import RunOutcome, outcomes_of
from fabricbench.server.errors import ERRORS, ApiError, error_404
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.trial_models import (
    PortColumn,
    PortMapPage,
    RunListPage,
    RunListRow,
    RunMember,
    TrialChanges,
    TrialChoices,
    TrialDetail,
    TrialPage,
    TrialState,
    TrialStatus,
    TrialTags,
    WorstJob,
)
from fabricbench.server.state import ServerState, State
from fabricbench.store import Trial
from fabricbench.store.queries.listing import (
    COLUMNS,
    THRESHOLDS_MAX,
    Threshold,
    ThresholdError,
    TrialQuery,
    comparable_trials,
    filter_values,
    page,
)
from fabricbench.store.queries.run_list import RunRow, run_page
from fabricbench.store.queries.tags import change_tags, tags_of
from fabricbench.store.trash import TrialRunsError, delete_trial, restore_trial

router = APIRouter(prefix="/api/v1", tags=["trials"], responses=ERRORS)

TrialId = Annotated[
    str, Path(pattern="^([0-9a-f]{1,12}|latest(~[0-9]{1,9})?)$", description="Id of a trial, or `latest`.")
]
SortKey = StrEnum(  # type: ignore[misc]
    "SortKey", {name.upper(): name for name in (*COLUMNS, *BY_NAME)}
)
"""Sort keys of trials: columns of the list, and every metric, of the job that is worst in it."""
_NEWEST = SortKey("started_at")


Where = Annotated[
    Sequence[str],
    Query(
        max_length=THRESHOLDS_MAX,
        description="What a metric has to be, such as `ideal_percent<50`: of the job that fares worst by it, "
        "or of `job`. All of them have to hold.",
    ),
]
Job = Annotated[
    str | None, Query(max_length=200, description="The job whose metrics count in `sort` and `where`.")
]


def trial_query(  # noqa: PLR0913, PLR0917 -- one parameter for each filter
    search: Annotated[str, Query(max_length=200, description="Words, all of which have to occur.")] = "",
    tag: Annotated[str | None, Query(max_length=64)] = None,
    plan: Annotated[str | None, Query(max_length=200)] = None,
    status: Annotated[str | None, Query(max_length=20)] = None,
    variant: Annotated[str | None, Query(max_length=200)] = None,
    backend: Annotated[str | None, Query(max_length=80)] = None,
    suite: Annotated[str | None, Query(max_length=12)] = None,
    deleted: Annotated[bool, Query(description="What is in the trash, and nothing else.")] = False,
    where: Where = (),
    job: Job = None,
    sort: Annotated[SortKey, Query()] = _NEWEST,
    order: Annotated[Literal["asc", "desc"], Query()] = "desc",
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> TrialQuery:
    """Return the query of a list from the request's parameters, without `limit`.

    Raises:
        ApiError: A threshold cannot be read.
    """
    return TrialQuery(
        search=search,
        tag=tag,
        plan=plan,
        status=status,
        variant=variant,
        backend=backend,
        suite=suite,
        deleted=deleted,
        where=thresholds(where),
        job=job,
        sort=sort.value,
        descending=order == "desc",
        offset=offset,
    )


TrialQueryParameters = Annotated[TrialQuery, Depends(trial_query)]


@router.get("/trials", response_model=TrialPage)
def list_trials(
    state: State, query: TrialQueryParameters, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> Response:
    """List trials, unfinished ones included, by default the last started first."""
    total, trials = page(state.workspace, replace(query, limit=limit))
    return json_answer({"total": total, "trials": rows_of(state, trials)})


def thresholds(texts: Sequence[str]) -> list[Threshold]:
    """Parse the thresholds of metrics.

    Raises:
        ApiError: One cannot be read.
    """
    try:
        return [Threshold.read(text) for text in texts]
    except ThresholdError as error:
        raise ApiError(422, f"where: {error}", error.hint, field="where") from error


@router.get("/trials/by-run", response_model=RunListPage)
def list_runs_of_trials(
    state: State, query: TrialQueryParameters, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> RunListPage:
    """List the runs that have a trial that matches, one row for each, counted over those trials.

    By a metric, a run is ordered with its worst trial.
    """
    total, run_rows = run_page(state.workspace, replace(query, limit=limit))
    outcomes = outcomes_of(state.workspace, [run.suite for run in run_rows])
    return RunListPage(
        total=total, runs=[_run_row(run, outcomes.get(run.suite, RunOutcome())) for run in run_rows]
    )


def _run_row(run: RunRow, outcome: RunOutcome) -> RunListRow:
    worst = None if outcome.worst is None else WorstJob(job=outcome.worst[0], kept_percent=outcome.worst[1])
    return RunListRow(**vars(run), verdict=outcome.verdict, worst=worst)


@router.get("/trials/choices")
def list_choices(state: State) -> TrialChoices:
    """Return the values that trials can be filtered by."""
    return TrialChoices.model_validate(filter_values(state.workspace))


def rows_of(state: ServerState, trials: list[Trial]) -> list[dict[str, Any]]:
    """Return trials as rows of a list."""
    tags_by_trial = tags_of(state.workspace, trials)
    comparables = ComparisonTrials(comparable_trials(state.workspace, trials))
    return [_row(trial, stored_reports(trial, comparables), tags_by_trial[trial.id]) for trial in trials]


def _row(trial: Trial, jobs: list[JobReport], tags: list[str]) -> dict[str, Any]:
    facts = trial.facts
    verdicts = {job.verdict for job in jobs} - {None}
    return {
        "id": trial.id,
        "attempt": trial.attempt,
        "plan": facts.plan,
        "title": facts.title,
        "variant": facts.variant,
        "axes": dict(facts.axes),
        "iteration": facts.iteration,
        "suite": facts.suite,
        "position": facts.position,
        "data_size_bytes": facts.data_size_bytes,
        "size_kind": facts.size_kind,
        "status": trial.status,
        "message": trial.message,
        "backend": facts.backend,
        "backend_version": facts.backend_version,
        "engine_version": facts.engine_version,
        "started_at": trial.started_at,
        "ended_at": trial.ended_at,
        "tags": tags,
        "verdict": "fail" if "fail" in verdicts else "pass" if verdicts else None,
        "ranks": total_ranks(trial),
        "worst": _worst(jobs),
        "leading": _leading(jobs),
        "jobs": [trial_object(job) for job in jobs],
    }


def _leading(jobs: list[JobReport]) -> dict[str, Any] | None:
    job = leading_job(jobs)
    if job is None:
        return None
    why = leading_text(job, jobs)
    return {"job": job.summary.job, "data_size_bytes": job.summary.data_size_bytes, "why": why}


def _worst(jobs: list[JobReport]) -> dict[str, Any] | None:
    job = worst_job(jobs)
    return None if job is None else {"job": job.summary.job, "kept_percent": kept_of(job)}


@router.get("/trials/{trial_id}", response_model=TrialDetail)
def show_trial(trial_id: TrialId, state: State) -> Response:
    """Return everything about a trial."""
    trial = trial_by_id(state, trial_id)
    family = state.workspace.family(trial) if trial.is_finished else []
    tags = tags_of(state.workspace, [trial])[trial.id]
    key = ("show", *map(identity, [trial, *family]), tuple(tags))
    body = state.cache.get(key, lambda: _shown(trial, family, tags))
    return json_answer(body)


def _shown(trial: Trial, family: list[Trial], tags: list[str]) -> bytes:
    jobs = current_reports(trial, ComparisonTrials(family)) if trial.is_finished else []
    facts = trial.facts
    content = _row(trial, jobs, tags) | {
        "order": [next(place for place, job in enumerate(jobs) if job is each) for each in by_concern(jobs)],
        "plan_source": facts.plan_source,
        "overrides": facts.overrides,
        "run_spec": facts.run_spec,
        "observed": facts.observed,
        "published": facts.published,
        "reference": facts.reference,
        "engine": _engine(trial),
        "machine": trial.machine,
        "suite_trials": [member_of(sibling) for sibling in family if sibling.facts.suite == facts.suite],
    }
    del content["jobs"]
    insight = insight_of(trial) if trial.is_finished else None
    shown = shown_json(jobs, insight, tags) if trial.is_finished else "null"
    return f'{{"shown": {shown}, {json.dumps(content, allow_nan=False)[1:]}'.encode()


def _engine(trial: Trial) -> dict[str, Any]:
    """Return the backend's facts about a trial, with the counters of its hosts."""
    hosts = hosts_of(trial) if trial.is_finished else []
    return {**trial.engine, **({"hosts": hosts} if hosts else {})}


def member_of(trial: Trial) -> RunMember:
    """Return a trial as one of its run."""
    facts = trial.facts
    return {
        "id": facts.id,
        "variant": facts.variant,
        "iteration": facts.iteration,
        "data_size_bytes": facts.data_size_bytes,
        "size_kind": facts.size_kind,
        "position": facts.position,
        "axes": dict(facts.axes),
        "status": cast("TrialStatus", trial.status),
    }


@router.get("/trials/{trial_id}/port-map", response_model=PortMapPage)
def show_port_map(
    trial_id: TrialId,
    state: State,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    at: Annotated[
        str | None,
        Query(
            max_length=200,
            pattern=r"^\S+ port \d{1,6}$",
            description="A port of a host or a switch, such as `leaf0 port 3`, whose rows the page has.",
        ),
    ] = None,
) -> Response:
    """Return the port map of a trial: chassis, port, switch port, addresses, queue pairs, DSCP of each rank.

    The files `port_map` and `queue_pairs` among its downloads have all rows and every queue pair.
    """
    trial = trial_by_id(state, trial_id)
    key = ("port-map", *identity(trial), offset, limit, at)
    body = state.cache.get(key, lambda: _port_map_page(trial, offset, limit, at))
    return json_answer(body)


def _port_map_page(trial: Trial, offset: int, limit: int, at: str | None) -> bytes:
    rows = ports_of(trial)
    if rows is None:
        raise ApiError(409, f"trial {trial.id} was measured elsewhere, so it has no ranks at ports")
    selected: list[int] = []
    if at is not None:
        selected = rows_of_port(trial, at)
        offset = selected[0] // limit * limit if selected else offset
    headings, page_rows = columns_of(rows), rows[offset : offset + limit]
    row_cells = [cells_of(row) for row in page_rows]
    page = PortMapPage(
        total=len(rows),
        offset=offset,
        selected=[index - offset for index in selected if index < offset + limit],
        about=ABOUT,
        columns=[
            PortColumn(name=name, title=" ".join(heading).replace("- ", ""), is_number=is_number(name))
            for name, heading in headings.items()
        ],
        cells=[[cell_texts[name] for name in headings] for cell_texts in row_cells],
        ports=list(page_rows),
    )
    return page.model_dump_json().encode()


@router.patch("/trials/{trial_id}")
def change_trial(trial_id: TrialId, changes: TrialChanges, state: State) -> TrialTags:
    """Give tags to a trial, or take them away."""
    trial = trial_by_id(state, trial_id)
    change_tags(state.workspace, [trial.id], add=changes.tags.add, remove=changes.tags.remove)
    changed = trial_by_id(state, trial.id)
    return TrialTags(id=trial.id, tags=tags_of(state.workspace, [changed])[trial.id])


@router.delete("/trials/{trial_id}")
def remove_trial(trial_id: TrialId, state: State) -> TrialState:
    """Put a trial into the trash; `restore` takes it out again, `fabricbench workspace purge` removes it."""
    trial = trial_by_id(state, trial_id)
    try:
        delete_trial(state.workspace, trial.id)
    except TrialRunsError as error:
        raise ApiError(409, f"trial {trial.id} is running", "cancel its run first") from error
    return TrialState(id=trial.id, deleted=True)


@router.post("/trials/{trial_id}/restore")
def put_back(trial_id: Annotated[str, Path(pattern="^[0-9a-f]{12}$")], state: State) -> TrialState:
    """Take a trial out of the trash."""
    if not restore_trial(state.workspace, trial_id):
        raise error_404(f"trial {trial_id} is not in the trash")
    return TrialState(id=trial_id, deleted=False)


def identity(trial: Trial) -> tuple[object, ...]:
    """Return a cache key of an attempt; its number alone is not unique, as numbers are reused."""
    return (trial.id, trial.attempt, trial.started_at, trial.status, trial.facts.suite)


def trial_by_id(state: ServerState, name: str) -> Trial:
    """Return the trial of an id: the finished attempt, or else the last one.

    Raises:
        ApiError: No trial has this id, or several ids start with it.
        StoreError: No trial has this id, or the catalog cannot be read.
    """
    if name.startswith("latest"):
        return state.workspace.find(name)
    with state.workspace.database.reading() as connection:
        matches = state.workspace.catalog.select(connection, prefix=name)
    if len({trial.id for trial in matches}) > 1:
        raise error_404(f'"{name}" is the beginning of several trials', "write more digits of the id")
    if not matches:
        raise error_404(f'no trial "{name}"', "GET /api/v1/trials lists them")
    return next((trial for trial in matches if trial.is_finished), matches[-1])


def finished_trial(trial_id: TrialId, state: State) -> Trial:
    """Return a trial that has a record.

    Raises:
        ApiError: No trial has this id, several ids start with it, or the trial has no record.
    """
    trial = trial_by_id(state, trial_id)
    if not trial.is_finished:
        raise error_404(f"trial {trial.id} has no record: it is {trial.status}", "run its plan again")
    return trial


FinishedTrial = Annotated[Trial, Depends(finished_trial)]
