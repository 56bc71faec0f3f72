"""Runs a task of the sandbox for a route; errors of its input name options of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricbench.server.errors import ApiError, option_error
from fabricbench.server.state import ServerState
from fabricbench.server.workers.sandbox import SandboxError


async def run_option_task(
    state: ServerState,
    task: str,
    arguments: Mapping[str, Any],
    result: str,
    hint: str,
    seconds: int | None = None,
) -> dict[str, Any]:
    """Return the result of a task.

    Args:
        state: State of the server.
        task: Name of the task, whose result has `error` if its input is refused.
        arguments: Its arguments.
        result: What it makes, in words, for an error of its limits.
        hint: What to do then.
        seconds: Time of one processor that it may take, in place of that of checks [s].

    Raises:
        ApiError: The input is refused, or the task exceeds its limits.
        BusyError: Too many other tasks are running.
    """
    try:
        reply: dict[str, Any] = await state.sandbox.run(task, arguments, seconds)
    except SandboxError as error:
        raise ApiError(422, f"{result}: {error}", hint) from error
    if "error" in reply:
        raise option_error(reply["error"])
    return reply
