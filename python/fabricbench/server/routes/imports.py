"""Route that imports measured results as trials, like the command `fabricbench import`."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Query, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from fabricbench import importing
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.runner import loading
from fabricbench.server.errors import ERRORS, ApiError
from fabricbench.server.json_answer import json_answer
from fabricbench.server.routes.trial_models import Tag, TrialRow
from fabricbench.server.routes.trials import rows_of
from fabricbench.server.state import ServerState, State
from fabricbench.server.workers.sandbox import SandboxError
from fabricbench.store.queries.tags import change_tags

router = APIRouter(prefix="/api/v1", tags=["imports"], responses=ERRORS)

PATH: Final = "/api/v1/imports"
BYTES_MAX: Final = 16 << 20
"""Largest file [bytes], the same limit as that of `fabricbench import`."""

NAME_LENGTH_MAX: Final = 100
NAME_PATTERN: Final = r"^[^\x00-\x1f\x7f]*$"
"""A line of text without control characters."""

_Name = Annotated[str, Query(max_length=NAME_LENGTH_MAX, pattern=NAME_PATTERN)]


class Imported(BaseModel):
    """What became of a file."""

    format: str
    trials: list[TrialRow]
    warnings: list[str] = Field(description="What was left out, with the line.")


@router.post("/imports", status_code=201, response_model=Imported)
async def import_results(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    state: State,
    content: Annotated[bytes, Body(media_type="application/octet-stream", description="The output itself.")],
    file: Annotated[_Name, Query(description="Its name, for errors.")] = "upload",
    format: Annotated[  # noqa: A002 -- the name of the command line's option
        Literal["nccl-tests", "perftest", "osu", "imb", "nccom-test", "nccl-inspector"] | None,
        Query(description="Detected by default."),
    ] = None,
    name: Annotated[_Name, Query(description="What to call the trials.")] = "",
    tag: Annotated[list[Tag] | None, Query(max_length=20, description="Labels, to find them again.")] = None,
    ranks: Annotated[
        int | None, Query(ge=1, le=1 << 24, description="Where the output does not say it.")
    ] = None,
    benchmark: Annotated[_Name, Query(description="Where the output does not say it.")] = "",
    plan: Annotated[str | None, Query(max_length=80, description="Shipped plan that simulates it.")] = None,
) -> Response:
    """Import the output of a benchmark, or of NCCL Inspector, as text or JSON.

    Each result becomes a trial; a file is imported whole or, where a line cannot be read, not at all.
    """
    if plan is not None:
        check_plan(plan)
    await _check_file(
        state,
        {"name": file, "format_name": format, "ranks": ranks, "benchmark": benchmark, "plan": plan},
        content,
    )
    user_facts = importing.UserFacts(ranks, benchmark)
    source = importing.Source(file, content)
    imported = await run_in_threadpool(
        _imported, state, source, user_facts, (format, name, plan), tag or [""]
    )
    return json_answer(imported, 201)


def check_plan(name: str) -> None:
    """Check that a plan is a shipped one, as others are files."""
    if name not in shipped_plans():
        raise ApiError(422, f'no shipped plan "{name}"', "GET /api/v1/plans lists them", field="plan")


def _imported(
    state: ServerState,
    source: importing.Source,
    user_facts: importing.UserFacts,
    naming: tuple[str | None, str, str | None],
    tags: list[str],
) -> dict[str, Any]:
    """Store the results of a checked file as trials; `naming` is its format, the trials' name and plan."""
    format_name, name, plan = naming
    first_tag, *other_tags = tags
    loaded = loading.load(plan) if plan else None
    options = importing.Options(format_name, name, first_tag, user_facts, loaded)
    imported = importing.import_results(state.workspace, source, options)
    change_tags(state.workspace, [trial.id for trial in imported.trials], add=other_tags)
    return {
        "format": imported.format,
        "trials": rows_of(state, list(imported.trials)),
        "warnings": [str(warning) for warning in imported.warnings],
    }


async def _check_file(state: ServerState, arguments: dict[str, Any], content: bytes) -> None:
    """Parse the file in the sandbox first, which detects errors and files that take too long."""
    try:
        reply = await state.sandbox.run("measure", {**arguments, "text": b64encode(content).decode()})
    except SandboxError as error:
        raise ApiError(
            422, f"the file: {error}", "split it; `fabricbench import` has no such limits"
        ) from error
    if "error" in reply:
        raise ApiError(422, **reply["error"])
