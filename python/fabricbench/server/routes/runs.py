"""Routes for runs: queue, list, show (also those that other programs started), cancel, resume, events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from fabricbench.results.run_outcomes import verdicts_of
from fabricbench.runner.limits import THREADS_MAX
from fabricbench.runner.session import ListedTrial
from fabricbench.server.errors import ERRORS, ApiError, error_404, plan_error
from fabricbench.server.queue.events import STREAMS_MAX, Events
from fabricbench.server.routes.plans import PlanText, checked
from fabricbench.server.routes.trial_models import Tag, TrialStatus
from fabricbench.server.routes.trials import member_of
from fabricbench.server.state import ServerState, State, user_of
from fabricbench.server.workers.progress_events import RunProgress, RunSamples, TrialEnded, TrialStarted
from fabricbench.store import Trial
from fabricbench.store.catalog.schema import (
    FINISHED,
    IS_FINISHED,
    NOT_IN_TRASH,
    QUEUED,
    RUNNING,
)
from fabricbench.store.catalog.sql import all_of, one_of
from fabricbench.store.runs import QueuedRun, RunQueue

router = APIRouter(prefix="/api/v1", tags=["runs"], responses=ERRORS)

RunId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="Id of a run.")]
RunState = Literal["queued", "running", "complete", "cancelled", "failed", "interrupted"]
_QUEUE_MAX: Final = 1000
_POLL_S: Final = 0.2
_CATALOG_POLL_S: Final = 2.0
_HEARTBEAT_S: Final = 15.0


class NewRun(PlanText):
    """A plan that is to be run."""

    tags: list[Tag] = Field(default_factory=list, max_length=20, description="Tags for its trials.")
    threads: int = Field(
        1, ge=1, le=THREADS_MAX, description="Threads of each trial; the results are the same."
    )
    force: bool = Field(False, description="Run though a trial is estimated to be beyond the machine.")


class Run(BaseModel):
    """A run of a plan."""

    id: str
    state: RunState
    plan: str
    title: str
    owner: str = Field(description="Who asked for it; empty for the server's own token.")
    message: str = Field(description="Why it ended as it did; empty if it is complete.")
    backend: str = Field(description="What carries it out; empty of runs of earlier versions.")
    hosts: str | None = Field(description="The server's file of hosts that it runs on; null if on none.")
    twin: bool = Field(description="Whether the simulator predicts each of its trials first.")
    waits_for: str = Field(
        description="Why it cannot start though its turn may have come: its hosts are in use, or are not "
        "those of this server; empty if nothing but its place keeps it."
    )
    created_at: str
    queued_at: str
    started_at: str | None
    ended_at: str | None
    position: int | None = Field(description="Place in the queue, from 1; null unless queued.")
    trials_total: int = Field(description="How many trials it has; of a search at most, until it has ended.")
    trials_finished: int
    verdict: str | None = Field(
        description="`fail` where one of its trials fails a criterion of the plan, `pass` where all meet "
        "them; null without criteria or finished trials, and beyond a thousand trials of a list."
    )
    tags: list[str]
    cancel_requested: bool
    progress: RunProgress | None = Field(
        description="The last report, as the event `progress` has it; null before the first, and of runs "
        "that ended before the server was started."
    )


class SearchedCase(BaseModel):
    """What a search found in one case: a variant, at a size and values of swept fields."""

    field: str = Field(description="The field that was searched.")
    find: Literal["highest", "lowest"]
    variant: str
    axes: dict[str, str] = Field(description="The swept fields with their values.")
    data_size_bytes: int | None = Field(description="Null where no sizes are swept.")
    holds: str | None = Field(
        description="The value with which the criteria hold; null if none does that was tried."
    )
    fails: str | None = Field(
        description="The nearest one tried with which they do not; null if the end of the range holds."
    )
    tried: int = Field(description="How many values were tried.")


class RunTrial(ListedTrial):
    """A trial of a run, `waiting` until it starts; its verdict is null without criteria."""

    status: TrialStatus | Literal["waiting"]
    verdict: str | None


class RunDetail(Run):
    """A run with its plan and its trials."""

    in_queue: bool = Field(
        description="Whether the server's queue has it, so that it can be cancelled and resumed; false for "
        "runs of the command line, campaigns and imports."
    )

    plan_source: str
    overrides: list[str]
    variants: list[str]
    trials: list[RunTrial] = Field(
        description="The first thousand. Those of a search are there from when it has chosen them."
    )
    search: list[SearchedCase] | None = Field(
        description="What the search of the plan has found, once it has ended; null of a plan without one."
    )


class RunPage(BaseModel):
    """Some of the runs."""

    total: int
    runs: list[Run]


class _EventStream(StreamingResponse):
    """An event stream that counts as open until it ends, also after a disconnect or an error."""

    def __init__(self, *arguments: Any, events: Events, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._events.close_stream()


@router.post("/runs", status_code=202)
async def queue_run(new: NewRun, request: Request, state: State) -> RunDetail:
    """Queue a plan to be run; an error says why it cannot be, and what it would cost."""
    check = await checked(new, state, force=new.force)
    if check["errors"]:
        raise plan_error(check["errors"], check["cost"])
    return await run_in_threadpool(_queued, new, check, user_of(request), state)


def _queued(new: NewRun, check: Mapping[str, Any], owner: str, state: ServerState) -> RunDetail:
    queue = state.scheduler.queue
    if queue.counts().get(QUEUED, 0) >= _QUEUE_MAX:
        raise ApiError(503, f"{_QUEUE_MAX} runs are waiting", "cancel some, or come back later")
    options = {
        "overrides": new.overrides,
        "variants": new.variants,
        "tags": new.tags,
        "threads": new.threads,
        "force": new.force,
        "twin": new.twin,
        "count": check["trials_total"],
    }
    options |= {} if check["search"] is None else {"search": []}
    run = queue.add(
        plan=check["name"],
        title=check["title"],
        plan_source=check["yaml"],
        options=options,
        planned=check["trials"],
        owner=owner,
        backend=check["backend"],
        hosts=state.scheduler.hosts_files.host_set(new.hosts) if new.hosts is not None else None,
    )
    state.scheduler.wake()
    send_state(state, run.id)
    return detail_of(state, run)


@router.get("/runs")
def list_runs(
    state: State,
    status: Annotated[list[RunState] | None, Query(alias="state", max_length=6)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> RunPage:
    """List runs, the newest first."""
    total, queued_runs = state.scheduler.queue.page(states=status or (), limit=limit, offset=offset)
    return RunPage(total=total, runs=[Run.model_validate(row) for row in rows_of(state, queued_runs)])


@router.get("/runs/{run_id}")
def show_run(run_id: RunId, state: State) -> RunDetail:
    """Return a run, its trials and how far each is.

    The id is that of a run of the queue, or the `suite` of any trials of the workspace.
    """
    run = state.scheduler.queue.find(run_id)
    return detail_of(state, run) if run else _detail_of_suite(state, run_id)


@router.post("/runs/{run_id}/cancel")
def cancel_run(run_id: RunId, state: State) -> Run:
    """Take a run out of the queue, or end it; the trials that have finished stay."""
    run = state.scheduler.queue.cancel(run_id)
    if run is None:
        raise error_404(f"no run {run_id}")
    if run.has_ended and run.state != "cancelled":
        raise ApiError(409, f"run {run_id} has ended: it is {run.state}")
    state.scheduler.wake()
    send_state(state, run_id)
    return Run.model_validate(rows_of(state, [run])[0])


@router.post("/runs/{run_id}/resume", status_code=202)
def resume_run(run_id: RunId, state: State) -> Run:
    """Queue a run again that was cancelled, failed or interrupted; only the trials it lacks are run."""
    previous = _run_by_id(state, run_id)
    state.events.forget_progress(run_id)
    run = state.scheduler.queue.resume(run_id)
    if run is None or run.state != QUEUED or previous.state == QUEUED:
        raise ApiError(
            409, f"run {run_id} is {previous.state}", "only what ended without its trials is resumed"
        )
    state.scheduler.wake()
    send_state(state, run_id)
    return Run.model_validate(rows_of(state, [run])[0])


@router.get(
    "/runs/{run_id}/events",
    status_code=200,
    response_class=_EventStream,
    response_model=Run | RunProgress | RunSamples | TrialStarted | TrialEnded,  # the data of an event
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "It has ended."}},
)
async def watch_run(
    run_id: RunId, state: State, last_event_id: Annotated[str, Header(max_length=40)] = ""
) -> Response:
    """Follow a run: events `state` (the run), `trial_started`, `progress`, `samples` and `trial`.

    The stream ends after the state in which the run has ended. A client that comes back with Last-Event-ID
    gets what it has missed, and 204 if that is nothing and nothing more will come.
    """
    run = await run_in_threadpool(_run_by_id, state, run_id)
    last_number = int(last_event_id) if last_event_id.isdecimal() else 0
    if last_number and run.has_ended and not state.events.since(run_id, last_number):
        return Response(status_code=204)
    if not state.events.open_stream():
        message = f"{STREAMS_MAX} event streams are open, as many as there may be"
        raise ApiError(503, message, "close some pages; `GET /runs/ID` needs no stream").retry_after(5)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return _EventStream(
        _stream(state, run_id, last_number),
        media_type="text/event-stream",
        headers=headers,
        events=state.events,
    )


async def _stream(state: ServerState, run_id: str, last_number: int) -> AsyncIterator[str]:
    """Yield stored events and new ones, until the run or the server ends."""
    loop = asyncio.get_running_loop()
    sent_state = state.events.last_state(run_id) if last_number else ""
    polled_at, sent_at, catalog_state = -_CATALOG_POLL_S, loop.time(), ""
    yield "retry: 1000\n\n"
    while not state.events.is_closed:
        for event in state.events.since(run_id, last_number):
            last_number, sent_at = event.number, loop.time()
            sent_state = json.loads(event.data)["state"] if event.kind == "state" else sent_state
            yield event.text()
        if loop.time() - polled_at >= _CATALOG_POLL_S or sent_state in ENDED_STATES:
            # Another server on the same catalog may run it. Events of this server may be a moment late.
            polled_at = loop.time()
            run = await run_in_threadpool(_run_by_id, state, run_id)
            catalog_state, state_before = run.state, catalog_state
            if catalog_state != sent_state and (not sent_state or catalog_state == state_before):
                sent_state = catalog_state
                (row,) = await run_in_threadpool(rows_of, state, [run])
                yield f"event: state\ndata: {json.dumps(row)}\n\n"
            if sent_state in ENDED_STATES and not state.events.since(run_id, last_number):
                return
        if loop.time() - sent_at >= _HEARTBEAT_S:
            sent_at = loop.time()
            yield ": still here\n\n"
        await asyncio.sleep(_POLL_S)


ENDED_STATES: Final = frozenset({"complete", "cancelled", "failed", "interrupted"})


def send_state(state: ServerState, run_id: str) -> None:
    """Send the state of a run to its event streams."""
    run = state.scheduler.queue.find(run_id)
    if run is not None:
        state.events.add(run_id, "state", rows_of(state, [run])[0])


def _run_by_id(state: ServerState, run_id: str) -> QueuedRun:
    run = state.scheduler.queue.find(run_id)
    if run is None:
        raise error_404(f"no run {run_id}", "GET /api/v1/runs lists them")
    return run


def rows_of(state: ServerState, runs: Sequence[QueuedRun]) -> list[dict[str, Any]]:
    """Return runs as rows of a list."""
    if not runs:
        return []
    return _rows(state, runs, _attempts(runs, state.scheduler.queue), _verdicts(state, runs))


def _verdicts(state: ServerState, runs: Sequence[QueuedRun]) -> dict[str, str]:
    return verdicts_of(state.workspace, [trial["id"] for run in runs for trial in run.trials])


def _rows(
    state: ServerState, runs: Sequence[QueuedRun], attempts: Attempts, verdicts: Mapping[str, str]
) -> list[dict[str, Any]]:
    queue = state.scheduler.queue
    positions = {run_id: position for position, run_id in enumerate(queue.waiting(), 1)}
    obstacles = queue.obstacles(state.scheduler.hosts_files.offered()) if _any_waits_for_hosts(runs) else {}
    return [
        _content(run, attempts, state)
        | {"verdict": _worst([verdicts.get(trial["id"]) for trial in run.trials])}
        | {"position": positions.get(run.id) if run.state == QUEUED else None}
        | {"waits_for": obstacles.get(run.id, "") if run.state == QUEUED else ""}
        for run in runs
    ]


def _worst(verdicts: Sequence[str | None]) -> str | None:
    return next((verdict for verdict in ("fail", "pass") if verdict in verdicts), None)


def _any_waits_for_hosts(runs: Sequence[QueuedRun]) -> bool:
    """Return whether any of the runs is queued and needs hosts."""
    return any(run.state == QUEUED and run.hosts is not None for run in runs)


def _attempts(runs: Sequence[QueuedRun], queue: RunQueue) -> Attempts:
    """Return the attempts at trials of some runs, including attempts at their predictions by earlier runs."""
    predicted = {trial["id"] for run in runs for trial in run.trials if _is_prediction(trial, run)}
    return queue.attempts(min(run.created_at for run in runs), predicted)


def _is_prediction(trial: Mapping[str, Any], run: QueuedRun) -> bool:
    """Return whether a trial is a prediction of a run by the simulator; one of an earlier run counts too."""
    return bool(run.options.get("twin", False)) and trial.get("backend") != run.backend


Attempts = Mapping[str, Sequence[tuple[str, str]]]


def _content(run: QueuedRun, attempts: Attempts, state: ServerState) -> dict[str, Any]:
    finished = sum(1 for trial in run.trials if _status(trial, run, attempts) in FINISHED)
    names = ("id", "state", "plan", "title", "owner", "message", "cancel_requested")
    times = ("created_at", "queued_at", "started_at", "ended_at")
    return {name: getattr(run, name) for name in (*names, *times)} | {
        "backend": run.backend,
        "hosts": run.hosts.name if run.hosts else None,
        "twin": run.options.get("twin", False),
        "trials_total": run.options["count"],
        "trials_finished": finished,
        "tags": run.options["tags"],
        "progress": state.events.progress(run.id) if run.state != QUEUED else None,
    }


def _status(trial: Mapping[str, Any], run: QueuedRun, attempts: Attempts) -> str:
    """Return the status of a trial since its run was requested; of a prediction at any time."""
    since = "" if _is_prediction(trial, run) else run.created_at
    statuses = [status for status, started_at in attempts.get(trial["id"], ()) if started_at >= since]
    return next(
        (status for status in statuses if status in FINISHED), statuses[-1] if statuses else "waiting"
    )


def _detail_of_suite(state: ServerState, suite: str) -> RunDetail:
    """Return a run that the queue does not have, from its trials."""
    trials = trials_of_suite(state, suite)
    if not trials:
        raise error_404(f"no run {suite}", "GET /api/v1/runs and GET /api/v1/trials/by-run list them")
    verdicts = verdicts_of(state.workspace, [trial.id for trial in trials])
    rows: list[RunTrial] = [
        {**member_of(trial), "backend": trial.facts.backend, "verdict": verdicts.get(trial.id)}
        for trial in trials
    ]
    last, statuses = trials[-1], [trial.status for trial in trials]
    started_at = min(trial.started_at for trial in trials)
    ended = [trial.ended_at for trial in trials if trial.ended_at is not None]
    unfinished: tuple[RunState, ...] = ("running", "failed", "interrupted")
    run_state: RunState = next((name for name in unfinished if name in statuses), "complete")
    return RunDetail(
        id=suite,
        in_queue=False,
        state=run_state,
        plan=last.facts.plan,
        title=last.facts.title,
        owner="",
        message=next((trial.message for trial in trials if trial.status == run_state), ""),
        backend=last.facts.backend,
        hosts=None,
        twin=False,
        waits_for="",
        created_at=started_at,
        queued_at=started_at,
        started_at=started_at,
        ended_at=None if run_state == RUNNING else max(ended, default=None),
        position=None,
        trials_total=len(trials),
        trials_finished=sum(status in FINISHED for status in statuses),
        verdict=_worst(list(verdicts.values())),
        tags=[last.facts.tag] if last.facts.tag else [],
        cancel_requested=False,
        progress=None,
        plan_source=last.facts.plan_source,
        overrides=list(last.facts.overrides),
        variants=[],
        trials=rows,
        search=None,
    )


def trials_of_suite(state: ServerState, suite: str) -> list[Trial]:
    """Return the trials of a run in the order of its plan, the last attempt of each."""
    with state.workspace.database.reading() as connection:
        attempts = state.workspace.catalog.select(connection, suite=suite)
    return sorted({trial.id: trial for trial in attempts}.values(), key=lambda trial: trial.facts.position)


def finished_trials_of(state: ServerState, run_id: str) -> list[Trial]:
    """Return the finished trials of a run of the queue, without predictions, or of a suite.

    Raises:
        ApiError: There is no such run.
    """
    run = state.scheduler.queue.find(run_id)
    if run is None:
        trials = trials_of_suite(state, run_id)
        if not trials:
            raise error_404(f"no run {run_id}", "GET /api/v1/trials/by-run lists them")
        return [trial for trial in trials if trial.is_finished]
    attempts = _attempts([run], state.scheduler.queue)
    ids = [
        trial["id"]
        for trial in run.trials
        if not _is_prediction(trial, run) and _status(trial, run, attempts) in FINISHED
    ]
    condition = all_of(one_of("id", ids), IS_FINISHED, NOT_IN_TRASH)
    with state.workspace.database.reading() as connection:
        found = state.workspace.catalog.where(connection, condition) if ids else []
    newest = {trial.id: trial for trial in reversed(found)}
    return sorted(newest.values(), key=lambda trial: trial.facts.position)


def detail_of(state: ServerState, run: QueuedRun) -> RunDetail:
    """Return a run with its plan and its trials."""
    attempts = _attempts([run], state.scheduler.queue)
    verdicts = _verdicts(state, [run])
    content = _rows(state, [run], attempts, verdicts)[0] | {
        "in_queue": True,
        "plan_source": run.plan_source,
        "overrides": run.options["overrides"],
        "variants": run.options["variants"],
        "trials": [
            {**trial, "status": _status(trial, run, attempts), "verdict": verdicts.get(trial["id"])}
            for trial in run.trials
        ],
        "search": run.options.get("search"),
    }
    return RunDetail.model_validate(content)
