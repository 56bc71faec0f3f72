"""Assembles the FastAPI application: routers, middleware, error handlers, response headers, lifespan.

A background thread imports the modules of the first trial page in advance.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Thread
from typing import Final

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabricbench import __version__
from fabricbench.server import web
from fabricbench.server.access.auth import Guard
from fabricbench.server.access.body_limit import BodyLimit
from fabricbench.server.access.logins import FOLDER, Logins
from fabricbench.server.errors import add_error_handlers
from fabricbench.server.queue.events import Events
from fabricbench.server.queue.host_surveys import Surveys
from fabricbench.server.queue.scheduler import Scheduler
from fabricbench.server.routes import (
    campaigns,
    compare,
    downloads,
    expected,
    explained,
    figures,
    hosts,
    imports,
    made_plans,
    metric_list,
    plans,
    run_results,
    runs,
    saved_views,
    server_metrics,
    tables,
    trials,
    validation,
)
from fabricbench.server.settings import Settings
from fabricbench.server.state import ServerState
from fabricbench.server.workers.sandbox import Sandbox
from fabricbench.store import Workspace

_MODULES: Final = (
    "fabricbench.analysis.causes.diagnosis",
    "fabricbench.report.documents.diagnosis",
    "fabricbench.figures.registry",
)
"""Modules that take tenths of a second to load, some of them by imports at their first call."""


def warm_up() -> Thread:
    """Start the thread and return it; it ends after the imports."""
    thread = Thread(target=_load, name="warming", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    import plotly.graph_objects as go

    for module in _MODULES:
        import_module(module)
    # Plotly loads the code of each kind of trace, and of axes, at their first use.
    traces = (go.Scatter(x=[0], y=[0]), go.Bar(x=[0], y=[0]), go.Heatmap(z=[[0]]))
    figure = go.Figure(traces, layout={"xaxis": {"title": {"text": ""}}, "yaxis": {"title": {"text": ""}}})
    figure.to_json(validate=False)


_DESCRIPTION = (
    "A workspace of fabricbench: plans, runs, trials, their tables and figures. See docs/server.md."
)


def create_app(workspace: Workspace, settings: Settings) -> FastAPI:
    """Return the application for a workspace.

    Args:
        workspace: The open workspace; its queued runs are executed as long as the application is up.
        settings: Settings of the server.
    """
    app = FastAPI(
        title="fabricbench",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
    )
    events = Events()
    scheduler = Scheduler(workspace, settings, events)
    logins = Logins(workspace.root / FOLDER, settings)
    surveys = Surveys(scheduler.hosts_files)
    app.state.server = ServerState(workspace, settings, Sandbox(settings), events, scheduler, logins, surveys)
    for module in (
        plans,
        runs,
        run_results,
        trials,
        saved_views,
        tables,
        figures,
        compare,
        downloads,
        imports,
        expected,
        explained,
        campaigns,
        validation,
        hosts,
        made_plans,
        metric_list,
        server_metrics,
        web,
    ):
        app.include_router(module.router)
    app.include_router(web.pages)
    add_error_handlers(app)
    # Starlette calls the middleware added last first.
    app.add_middleware(
        BodyLimit,
        bytes_max=settings.body_bytes_max,
        larger=dict.fromkeys((imports.PATH, explained.PATH, made_plans.DEVICE_PATH), imports.BYTES_MAX),
        together_max=settings.bodies_bytes_max,
    )
    app.add_middleware(Guard, settings=settings, logins=logins)
    app.add_middleware(_Headers)
    app.add_middleware(server_metrics.Timing, requests=app.state.server.requests)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run the scheduler and the sandbox as long as the application is up."""
    state: ServerState = app.state.server
    state.sandbox.start()
    warming = warm_up()
    state.scheduler.start(lambda run_id: runs.send_state(state, run_id))
    yield
    state.events.close()
    await run_in_threadpool(state.scheduler.stop)
    await run_in_threadpool(state.sandbox.stop)
    await run_in_threadpool(warming.join)


class _Headers:
    """ASGI middleware that adds the headers of every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in web.HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)
