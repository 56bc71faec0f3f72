"""Route for metrics of the server in OpenMetrics 1.0; middleware that counts and times requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fabricbench import __version__
from fabricbench.server.errors import ERRORS
from fabricbench.server.http_counters import Requests
from fabricbench.server.state import ServerState, State
from fabricbench.store.catalog.schema import FAILED, INTERRUPTED, QUEUED, RUNNING
from fabricbench.store.queries.listing import counts
from fabricbench.store.runs import ENDED

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

router = APIRouter(tags=["server"], responses=ERRORS)

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"})
_EVENTS: Final = "/api/v1/runs/{run_id}/events"


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {"application/openmetrics-text": {}}}}
)
def read_metrics(state: State) -> Response:
    """Return figures about the server: runs, trials, workers, requests."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gauges(state))
    # Each text ends with the line "# EOF", which must be there once.
    text = _text(registry).removesuffix("# EOF\n") + _text(state.requests.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _text(registry: CollectorRegistry) -> str:
    written: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return written.decode()


class _Gauges(Collector):
    """Gauges of runs, trials and workers, computed at each request."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        info = InfoMetricFamily("fabricbench", "What serves.", {"version": __version__})
        runs = GaugeMetricFamily("fabricbench_runs", "Runs of the workspace.", labels=["state"])
        run_counts = self._state.scheduler.queue.counts()
        for state in (QUEUED, RUNNING, *ENDED):
            runs.add_metric([state], run_counts.get(state, 0))
        trials = GaugeMetricFamily("fabricbench_trials", "Trials of the workspace.", labels=["status"])
        statuses = counts(self._state.workspace)
        for status in dict.fromkeys(("complete", "incomplete", RUNNING, INTERRUPTED, FAILED, *statuses)):
            trials.add_metric([status], statuses.get(status, 0))
        yield info
        yield runs
        yield trials
        yield GaugeMetricFamily("fabricbench_workers", "Worker processes.", self._state.scheduler.busy)
        workers_max = self._state.settings.workers
        yield GaugeMetricFamily("fabricbench_workers_max", "Worker processes at most.", workers_max)


class Timing:
    """Counts and times every request by its route."""

    def __init__(self, app: ASGIApp, requests: Requests) -> None:
        self._app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and record its status and time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            # Routes are few; paths are unbounded.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            seconds = None if route == _EVENTS else time.perf_counter() - began
            self._requests.add(method, route, status, seconds)
