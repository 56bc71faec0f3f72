"""Errors of the API as JSON with message, hint, field and line: classes, handlers, conversions."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Self

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from fabricbench.server.workers.sandbox import BusyError
from fabricbench.server.workers.sandbox_tasks import PlanCost
from fabricbench.store import DiskFullError, StoreError, UnknownTrialError

_log = logging.getLogger("fabricbench.server")


class Fault(BaseModel):
    """One thing that is wrong."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    message: str = Field(description="What is wrong, in one line.")
    hint: str = Field("", description="What to do about it.")
    field: str = Field("", description="Dotted path of the field concerned.")
    file: str = Field("", description="Name of the file of the request concerned.")
    line: int | None = Field(None, description="Line of that file, or of the plan's text, from 1.")
    column: int | None = Field(None, description="Column of that line, from 1.")
    found: str = Field("", description="What was found.")
    allowed: str = Field("", description="What is allowed.")


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: Fault
    errors: list[Fault] = Field(default_factory=list, description="Everything wrong with a plan.")
    cost: PlanCost | None = Field(None, description="What a plan that is refused would cost.")


class ApiError(Exception):
    """An error response to a request.

    Attributes:
        status: HTTP status.
        body: JSON content of the response.
        headers: Headers of the response.
    """

    def __init__(self, status: int, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"error": fault(message, hint, **more)}
        self.headers: dict[str, str] = {}

    def retry_after(self, seconds: int) -> Self:
        """Add header Retry-After with a time in seconds (RFC 9110, 10.2.3)."""
        self.headers["Retry-After"] = str(seconds)
        return self


def fault(message: str, hint: str = "", **more: Any) -> dict[str, Any]:
    """Return a `Fault` as a JSON object."""
    return Fault.model_validate({"message": message, "hint": hint, **more}).model_dump()


def option_error(found: Mapping[str, Any]) -> ApiError:
    """Return the error for a fault, with the name of the parameter in place of the command line's option."""
    option, _, message = found["message"].partition(": ")
    if option.startswith("--") and message:
        found = {**found, "message": message, "field": option.removeprefix("--"), "file": ""}
    return ApiError(422, **found)


def plan_error(faults: Sequence[Mapping[str, Any]], cost: Mapping[str, Any] | None) -> ApiError:
    """Return the error for a plan that cannot be run."""
    error = ApiError(422, **faults[0])
    error.body |= {"errors": list(faults), "cost": dict(cost) if cost else None}
    return error


def error_404(message: str, hint: str = "") -> ApiError:
    """Return the error 404 with a message and a hint."""
    return ApiError(404, message, hint)


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The request cannot be read."},
    401: {"model": ErrorBody, "description": "The token is missing or wrong."},
    403: {"model": ErrorBody, "description": "The request came from another site."},
    404: {"model": ErrorBody, "description": "There is no such thing."},
    409: {"model": ErrorBody, "description": "Its state does not allow that."},
    413: {"model": ErrorBody, "description": "The body is too large."},
    422: {"model": ErrorBody, "description": "A value is wrong."},
    429: {"model": ErrorBody, "description": "Too many sign-ins from this address."},
    503: {"model": ErrorBody, "description": "Too much to do at the moment, or the catalog is out of reach."},
}
"""Error responses of all operations, for the OpenAPI schema."""


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers that return every error as JSON of one form."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(BusyError, _busy)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(UnicodeEncodeError, _no_text)
    app.add_exception_handler(Exception, _bug)


class _ErrorResponse(JSONResponse):
    """An error as ASCII JSON: text quoted from a request may include half of a surrogate pair."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()


def answer(status: int, message: str, hint: str = "", **headers: str) -> JSONResponse:
    """Return the response for an error."""
    return _ErrorResponse(ApiError(status, message, hint).body, status, headers=headers)


def _api_error(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, ApiError):
        raise error
    return _ErrorResponse(error.body, error.status, headers=error.headers)


def _store_error(_request: Request, error: Exception) -> JSONResponse:
    """Respond to an error of the workspace without the paths of its files."""
    if not isinstance(error, StoreError):
        raise error
    if isinstance(error, UnknownTrialError):
        status = 404
    else:
        _log.error("%s", error)
        status = 507 if isinstance(error, DiskFullError) else 503
    return answer(status, error.found, error.hint)


def _busy(_request: Request, error: Exception) -> JSONResponse:
    return answer(503, str(error), "ask again in a moment")


def _validation_error(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    faults = [_fault_of(problem) for problem in error.errors()]
    return _ErrorResponse({"error": faults[0], "errors": faults, "cost": None}, 422)


def _fault_of(problem: Mapping[str, Any]) -> dict[str, Any]:
    field_path = ".".join(str(part) for part in problem["loc"][1:])
    message = f"{field_path or problem['loc'][0]}: {problem['msg']}"
    return fault(message, field=field_path)


def _no_text(_request: Request, _error: Exception) -> JSONResponse:
    """Respond to half a surrogate pair, which JSON can write but no encoded text can contain."""
    return answer(422, "found half a surrogate pair in a text", "write characters outside the BMP as two")


def _http_error(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    return answer(error.status_code, str(error.detail), **(error.headers or {}))


def _bug(request: Request, error: Exception) -> JSONResponse:
    _log.error("%s %s", request.method, request.url.path, exc_info=error)
    return answer(
        500, f"this is a bug in fabricbench: {type(error).__name__}", "the log of the server says more"
    )
