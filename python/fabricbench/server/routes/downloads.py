"""Route for downloads of a trial: report, summary, tables, timeline, notebook, plan, output, capture."""

from __future__ import annotations

import shutil
import tempfile
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path as PathParameter, Query, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from fabricbench.backend.protocol import BackendError
from fabricbench.backend.registry import capturing
from fabricbench.report.documents import port_map
from fabricbench.report.documents.diagnosis import insight_of
from fabricbench.report.html.run_page import write_report
from fabricbench.report.output.json_csv import shown_json, trials_csv
from fabricbench.report.output.notebook import write_notebook
from fabricbench.report.output.pcapng import LINKTYPE_ETHERNET, LINKTYPE_INFINIBAND, by_sender, write_pcapng
from fabricbench.report.output.perfetto import Chosen, TooManyChunksError, has_chunks, write_trace
from fabricbench.report.output.record_tables import export_table
from fabricbench.results.job_reports import ComparisonTrials, current_reports
from fabricbench.server.errors import ERRORS, ApiError, error_404
from fabricbench.server.routes.trials import FinishedTrial
from fabricbench.server.state import ServerState, State
from fabricbench.server.workers.sandbox import SandboxError
from fabricbench.store import Trial
from fabricbench.store.queries.tags import tags_of
from fabricbench.store.record.schema import TABLES

router = APIRouter(prefix="/api/v1", tags=["downloads"], responses=ERRORS)

FRAMES_MAX: Final = 5000
_TYPES: Final = {
    ".html": "text/html",
    ".json": "application/json",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".ipynb": "application/x-ipynb+json",
    ".yaml": "application/yaml",
    ".txt": "text/plain; charset=utf-8",
    ".pcapng": "application/octet-stream",
}
_KINDS: Final = ("parquet", "csv", "json")
_TABLE_FILES: Final = tuple(f"{table}.{kind}" for table in TABLES for kind in _KINDS)
_SPEC_FILES: Final = tuple(f"{table}.{kind}" for table in port_map.TABLES for kind in _KINDS)
FILES: Final = (
    *("report.html", "summary.json", "summary.csv", "notebook.ipynb", "plan.yaml", "output.txt"),
    "capture.pcapng",
    "timeline.json",
    *_TABLE_FILES,
    *_SPEC_FILES,
)
"""File names of the downloads of a finished trial."""

_Writer = Callable[[Trial, ServerState, Path], object]


@router.get(
    "/trials/{trial_id}/downloads/{file}",
    response_class=FileResponse,
    responses={200: {"content": {kind: {} for kind in _TYPES.values()}}},
)
async def download(
    trial: FinishedTrial,
    file: Annotated[str, PathParameter(json_schema_extra={"enum": list(FILES)}, max_length=40)],
    state: State,
    qp: Annotated[
        list[int] | None,
        Query(max_length=64, description="Capture: of these queue pairs; by default the first."),
    ] = None,
    frames: Annotated[int, Query(ge=1, le=FRAMES_MAX, description="Capture: so many frames.")] = 1000,
) -> Response:
    """Download a file about a trial; each is what the command line writes.

    `report.html` is about the run that the trial belongs to, `timeline.json` a trace for Perfetto. A measured
    trial has `output.txt`, what the benchmark printed, in place of `plan.yaml`. `capture.pcapng` is made by
    running the trial again until some queue pairs have sent some frames.
    """
    if file not in FILES:
        raise error_404(
            f"no file {file}", f"there are {', '.join(FILES[:8])} and the tables as parquet, csv, json"
        )
    folder = Path(tempfile.mkdtemp(prefix="fabricbench-"))
    try:
        target = folder / file
        if file == "capture.pcapng":
            captured = await _captured(trial, state, qp or [], frames)
            await run_in_threadpool(_write_capture, trial, target, captured)
        else:
            await run_in_threadpool(_write, trial, state, target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    name = f"{trial.facts.plan}-{trial.id}-{file}"
    removal = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(target, media_type=_TYPES[target.suffix], filename=name, background=removal)


def _write(trial: Trial, state: ServerState, path: Path) -> None:
    with state.cache.slots:
        _writer(path.name)(trial, state, path)


def _writer(file: str) -> _Writer:
    if file in _TABLE_FILES:
        return _write_table
    if file in _SPEC_FILES:
        return _write_spec_table
    return {
        "report.html": _write_report,
        "summary.json": _write_json,
        "summary.csv": _write_csv,
        "notebook.ipynb": _write_notebook,
        "plan.yaml": _write_plan,
        "output.txt": _write_output,
        "timeline.json": _write_timeline,
    }[file]


def _write_table(trial: Trial, _state: ServerState, path: Path) -> None:
    with path.open("wb") as stream:
        export_table(trial.tables, path.stem, path.suffix[1:], stream)


def _write_spec_table(trial: Trial, _state: ServerState, path: Path) -> None:
    rows = port_map.table_of_trial(trial, path.stem)
    if rows is None:
        raise ApiError(409, f"trial {trial.id} was measured elsewhere, so it has no ranks at ports")
    with path.open("wb") as stream:
        port_map.write_table(rows, path.suffix[1:], stream)


def _write_report(trial: Trial, state: ServerState, path: Path) -> None:
    store = state.workspace
    write_report(store.family(trial), trial, path, twins=store.twins(store.suite(trial)))


def _write_json(trial: Trial, state: ServerState, path: Path) -> None:
    jobs = current_reports(trial, ComparisonTrials(state.workspace.family(trial)))
    insight = insight_of(trial)
    tags = tags_of(state.workspace, [trial])[trial.id]
    path.write_text(shown_json(jobs, insight, tags) + "\n", encoding="utf-8")


def _write_csv(trial: Trial, state: ServerState, path: Path) -> None:
    jobs = current_reports(trial, ComparisonTrials(state.workspace.family(trial)))
    path.write_text(trials_csv(jobs), encoding="utf-8")


def _write_timeline(trial: Trial, _state: ServerState, path: Path) -> None:
    if not has_chunks(trial):
        raise ApiError(409, f"trial {trial.id} has no rows of chunks")
    try:
        with path.open("wb") as stream:
            write_trace(trial, Chosen(), stream)
    except TooManyChunksError as error:
        raise ApiError(
            409,
            f"a trace of {error.count:,} chunks is too large to be opened",
            f"choose some: `fabricbench export {trial.id} --table timeline --ranks 0-7 -o trace.json.gz`",
        ) from error


def _write_notebook(trial: Trial, state: ServerState, path: Path) -> None:
    write_notebook(trial, state.workspace.suite(trial), state.workspace.root.resolve(), path)


def _write_plan(trial: Trial, _state: ServerState, path: Path) -> None:
    if trial.is_printed:
        raise ApiError(409, f"trial {trial.id} was measured, so it has no plan", "output.txt is what it has")
    path.write_text(trial.facts.plan_source, encoding="utf-8")


def _write_output(trial: Trial, _state: ServerState, path: Path) -> None:
    if not trial.is_printed:
        raise ApiError(409, f"trial {trial.id} was run, so no benchmark printed it")
    path.write_text(trial.facts.plan_source, encoding="utf-8")


async def _captured(trial: Trial, state: ServerState, qps: list[int], count: int) -> dict[str, Any]:
    """Run a trial again and return the first frames that some queue pairs send."""
    facts = trial.facts
    try:
        capturing(facts.backend)
    except BackendError as error:
        raise ApiError(409, f"trial {trial.id} has no frames to capture: {error.found}") from error
    arguments = {"spec": dict(facts.run_spec), "backend": facts.backend, "qps": qps, "count": count}
    try:
        capture: dict[str, Any] = await state.sandbox.run("capture", arguments)
    except SandboxError as error:
        hint = "capture fewer frames, or with `fabricbench capture`, which takes what the machine has"
        raise ApiError(422, f"the capture: {error}", hint) from error
    if "error" in capture:
        raise ApiError(422, capture["error"], allowed=capture["allowed"], field="qp")
    return capture


def _write_capture(trial: Trial, path: Path, capture: dict[str, Any]) -> None:
    facts = trial.facts
    is_infiniband = facts.run_spec["fabric"]["link_layer"]["kind"] == "infiniband"
    addresses = capture["lids"] if is_infiniband else capture["addresses"]
    link_type = LINKTYPE_INFINIBAND if is_infiniband else LINKTYPE_ETHERNET
    frames = [(time_ps, b64decode(data)) for time_ps, data in capture["frames"]]
    interfaces, captured = by_sender(frames, addresses, capture["rates_bps"], link_type)
    size = f"{facts.size_kind} size {facts.data_size_bytes} bytes"
    comment = f"plan {facts.plan}, {size}, trial {trial.id}, seed {facts.run_spec['seed']}"
    write_pcapng(
        path, interfaces, captured, comment=comment, application=f"fabricbench {facts.engine_version}"
    )
