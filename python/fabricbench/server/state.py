"""State shared by requests: workspace, queue, settings, cache, events, logins; access from a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Request

from fabricbench.server.access.logins import Logins, Throttle
from fabricbench.server.http_counters import Requests
from fabricbench.server.queue.events import Events
from fabricbench.server.queue.host_surveys import Surveys
from fabricbench.server.queue.scheduler import Scheduler
from fabricbench.server.response_cache import Cache
from fabricbench.server.settings import Settings
from fabricbench.server.workers.sandbox import Sandbox
from fabricbench.store import Workspace


@dataclass
class ServerState:
    """State shared by all requests.

    Attributes:
        workspace: The open workspace.
        settings: Settings of the server.
        sandbox: Processes that parse plans.
        events: Events of runs, for event streams.
        scheduler: Executes the queued runs.
        logins: Logins of browsers, by the secret of a cookie.
        surveys: State of hosts, reported by their agents.
        throttle: Rate limit of sign-ins by address.
        requests: Counter and times of requests.
        cache: Responses that take long to compute and stay valid until their trial changes.
    """

    workspace: Workspace
    settings: Settings
    sandbox: Sandbox
    events: Events
    scheduler: Scheduler
    logins: Logins
    surveys: Surveys
    throttle: Throttle = field(default_factory=Throttle)
    requests: Requests = field(default_factory=Requests)
    cache: Cache = field(default_factory=Cache)

    @property
    def hosts_settings(self) -> dict[str, dict[str, Any]]:
        """Settings of backend `hosts` for each file of hosts, by the name of the file."""
        return {name: self.surveys.files.settings_of(name) for name in self.surveys.files.files}


def state_of(request: Request) -> ServerState:
    """Return the state shared by all requests."""
    state: ServerState = request.app.state.server
    return state


def user_of(request: Request) -> str:
    """Return the name of the user who sent a request; empty for the server's own token."""
    user: str = request.state.user
    return user


State = Annotated[ServerState, Depends(state_of)]
