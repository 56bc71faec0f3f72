"""State shared by requests: workspace, queue, settings, cache, events, logins; accessors from a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fastapi import Request

from fabricbench.server.cache import Cache
from fabricbench.server.events import Events
from fabricbench.server.logins import Logins
from fabricbench.server.requests import Requests
from fabricbench.server.sandbox import Sandbox
from fabricbench.server.scheduler import Scheduler
from fabricbench.server.settings import Settings
from fabricbench.server.surveys import Surveys
from fabricbench.server.throttle import Throttle
from fabricbench.store import Workspace


@dataclass
class ServerState:
    """What requests share.

    Attributes:
        workspace: The open workspace.
        settings: How the server is set up.
        sandbox: Where plans are parsed.
        events: What happens to runs.
        scheduler: Has runs carried out.
        logins: What cookies stand for.
        surveys: What the agents of hosts say.
        throttle: How often each address signs in.
        requests: How many requests there were, and how long they took.
        cache: Answers that take long to compute, and stay the same as long as their trial does.
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
        """What backend `hosts` is told to run on the hosts of each file, by the name of the file."""
        return {name: self.surveys.files.settings_of(name) for name in self.surveys.files.files}


def state_of(request: Request) -> ServerState:
    """Return what requests share."""
    state: ServerState = request.app.state.server
    return state


def user_of(request: Request) -> str:
    """Return the name of the user who asks; empty for the server's own token."""
    user: str = request.state.user
    return user
