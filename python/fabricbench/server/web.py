"""Routes other than those of resources: web application files, login, logout, health, server facts."""

from __future__ import annotations

import html
import math
import os
import re
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from pydantic import BaseModel, Field

from fabricbench import __version__
from fabricbench.backend.registry import BACKENDS
from fabricbench.figures.plotly_script import plotly_script_file
from fabricbench.plan import engine
from fabricbench.server.access.auth import cookie_name, login_of, user_of
from fabricbench.server.access.logins import LOGIN_S
from fabricbench.server.errors import ERRORS, ApiError, error_404
from fabricbench.server.state import ServerState, State

router = APIRouter(responses=ERRORS)
pages = APIRouter(include_in_schema=False)

_NOT_PAGES: Final = ("api/", "assets/", "vendor/")
"""Beginnings of paths that are no page of the web application, which routes all others itself."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "worker-src 'self' blob:; font-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every response. A report is a page of its own and is offered for download, not shown."""


class Login(BaseModel):
    """A token."""

    token: str = Field(max_length=1000)


class About(BaseModel):
    """What this server is."""

    version: str
    engine: str = Field(description="Version of the simulator.")
    backends: list[str] = Field(description="Names of what can carry plans out.")
    workspace: str = Field(description="Name of the workspace's folder.")
    cores: int
    workers: int = Field(description="How many runs are carried out at once.")
    user: str = Field(description="Who asks; empty for the server's own token.")


class Health(BaseModel):
    """Whether the server works."""

    status: str


@router.get("/healthz", tags=["server"])
async def health() -> Health:
    """Tell that the server answers; needs no token."""
    # Asynchronous, without a thread: all threads may be waiting for the catalog.
    return Health(status="ok")


@router.get("/api/v1/about", tags=["server"])
def about(request: Request, state: State) -> About:
    """Return what this server is."""
    return About(
        version=__version__,
        engine=engine.version(),
        backends=sorted(BACKENDS),
        workspace=state.workspace.root.resolve().name,
        cores=os.cpu_count() or 1,
        workers=state.settings.workers,
        user=request.state.user,
    )


@router.post("/api/v1/login", tags=["server"], status_code=204)
def login(given: Login, request: Request, state: State) -> Response:
    """Take a token and answer with the cookie that stands for it."""
    _throttle(request, state)
    user = user_of(given.token, state.settings)
    if user is None:
        raise ApiError(401, "the token is wrong", "the server printed it when it started")
    return _logged_in(Response(status_code=204), user, request, state)


@router.post("/api/v1/logout", tags=["server"], status_code=204)
def logout(request: Request, state: State) -> Response:
    """End the login of the cookie, and have the browser forget it."""
    state.logins.end(login_of(request, state.settings))
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(state.settings))
    return response


def _throttle(request: Request, state: ServerState) -> None:
    """Refuse a sign-in from an address with too many attempts."""
    wait_s = state.throttle.wait_s(request.client.host if request.client else "")
    if wait_s:
        seconds = math.ceil(wait_s)
        error = ApiError(429, "too many sign-ins from this address", f"try again in {seconds} s")
        raise error.retry_after(seconds)


def _logged_in(response: Response, user: str, request: Request, state: ServerState) -> Response:
    """Add the cookie of a new login to a response, and end the login that the request has."""
    state.logins.end(login_of(request, state.settings))
    response.set_cookie(
        cookie_name(state.settings),
        state.logins.begin(user),
        max_age=LOGIN_S,
        httponly=True,
        samesite="strict",
        secure=state.settings.scheme == "https",
    )
    return response


Token = Annotated[str | None, Query(max_length=1000, description="Logs in, as in the printed address.")]


@pages.get("/", response_model=None)
def start_page(request: Request, state: State, token: Token = None) -> Response:
    """Serve the web application."""
    if token is None and not _index(state).is_file():
        return HTMLResponse(_without_application())
    return _page(request, state, token)


def _index(state: ServerState) -> Path:
    return state.settings.static / "index.html"


def _page(request: Request, state: ServerState, token: str | None) -> Response:
    """Serve the web application; with a token in the address, log in and take it out of there."""
    if token is None:
        return FileResponse(_index(state), headers={"Cache-Control": "no-cache"})
    _throttle(request, state)
    user = user_of(token, state.settings)
    if user is None:
        return RedirectResponse("/?denied", 303)
    return _logged_in(RedirectResponse(_without_token(request), 303), user, request, state)


def _without_token(request: Request) -> str:
    """Return the address of a request on this server without its token."""
    # An address with two slashes in front would be that of another server.
    path = "/" + quote(request.scope["path"].lstrip("/"))
    others = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    return f"{path}?{urlencode(others)}" if others else path


@pages.get("/vendor/plotly.min.js")
def plotly_script() -> Response:
    """Serve Plotly's library; a browser keeps it for a day."""
    caching = {"Cache-Control": "public, max-age=86400"}
    return FileResponse(plotly_script_file(), media_type="text/javascript", headers=caching)


@pages.get("/{path:path}", response_model=None)
def static_file(
    path: str, request: Request, state: State, token: Token = None, accept: Annotated[str, Header()] = ""
) -> Response:
    """Serve a file of the web application, and its start page for any address that a browser opens."""
    file = _file_in(state.settings.static, path)
    if file is not None:
        cache = "public, max-age=31536000, immutable" if path.startswith("assets/") else "no-cache"
        return FileResponse(file, headers={"Cache-Control": cache})
    is_page = "text/html" in accept and not path.startswith(_NOT_PAGES)
    if is_page and _index(state).is_file():
        return _page(request, state, token)
    raise error_404(f"nothing at /{path[:100]}")


def _file_in(folder: Path, path: str) -> Path | None:
    """Return a file below a folder; none for a path outside of it, symbolic links resolved."""
    parts = path.split("/")
    if not all(_NAME.fullmatch(part) for part in parts):
        return None
    file = folder.joinpath(*parts)
    try:
        is_inside = file.resolve().is_relative_to(folder.resolve())
        return file if is_inside and file.is_file() else None
    except OSError:
        return None


def _without_application() -> str:
    facts: dict[str, Any] = {"version": html.escape(__version__)}
    return _PAGE.format(**facts)


_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>fabricbench</title>
<body style="font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 4em auto; padding: 0 1em">
<h1>fabricbench {version}</h1>
<p>The server works; the web application is not built. In a source tree, <code>make build</code> builds it;
packages bring it along.</p>
<p>The interface for programs is described by <a href="/openapi.json">/openapi.json</a>,
which needs the token.</p>
</body></html>
"""
