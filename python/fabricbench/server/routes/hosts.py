"""Route that lists the files of hosts: state, checks and facts of each host, from surveys of the agents."""

from __future__ import annotations

import time
from typing import Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from fabricbench.hosts.control.hosts_file import Host
from fabricbench.hosts.control.survey import HostReport
from fabricbench.hosts.protocol import RefusedError
from fabricbench.plan.errors import PlanError
from fabricbench.server.errors import ERRORS
from fabricbench.server.queue.host_surveys import Survey, Surveys
from fabricbench.server.state import State

router = APIRouter(prefix="/api/v1", tags=["hosts"], responses=ERRORS)

_PATIENCE_S: Final = 3.0

CheckState = Literal["ok", "unknown", "warning", "problem"]


class HostCheck(BaseModel):
    """Something that was looked at on a host, as `fabricbench hosts check` prints it."""

    check: str
    state: CheckState
    found: str
    hint: str = Field(description="What to do; empty if there is nothing.")


class HostState(BaseModel):
    """A host and its agent."""

    name: str
    agent: str = Field(description="Where its agent listens.")
    address: str = Field(description="IP address that its data comes from and goes to.")
    plays: list[int] = Field(description="Hosts of a plan's fabric whose ranks it carries, by number.")
    driver: str = Field(description="What moves its data.")
    state: Literal["asking", "ready", "busy", "warning", "problem"] = Field(
        description="`asking` until its agent answers, `busy` with a run, `problem` if it cannot run."
    )
    version: str = Field(description="Version of its agent; empty if it did not answer.")
    facts: dict[str, str] = Field(description="What it is: kernel, interface, firmware, MTU and so on.")
    checks: list[HostCheck]


class HostsFileState(BaseModel):
    """A file of hosts, by the name that the server was given for it."""

    name: str
    tls: bool | None = Field(description="Whether agents show certificates; null if the file cannot be read.")
    error: str = Field(description="Why its hosts cannot be asked; empty if they can.")
    hosts: list[HostState]


class HostsFiles(BaseModel):
    """The files of hosts of the server, in the order of its options."""

    files: list[HostsFileState]


@router.get("/hosts")
def list_hosts(state: State) -> HostsFiles:
    """Return the state of each host and its agent, a few seconds old at most."""
    surveys = state.surveys
    surveys_by_name = {name: _survey_of(surveys, name) for name in surveys.files.files}
    until = time.monotonic() + _PATIENCE_S
    return HostsFiles(files=[_file_state(name, survey, until) for name, survey in surveys_by_name.items()])


def _survey_of(surveys: Surveys, name: str) -> Survey | str:
    """Return the newest survey of a file, or the error message if there is none."""
    try:
        return surveys.newest(name)
    except PlanError as error:
        return surveys.files.without_paths(str(error).removeprefix("error: "))
    except RefusedError as error:
        return surveys.files.without_paths(f"{error}\nhint: {error.hint}" if error.hint else str(error))


def _file_state(name: str, survey: Survey | str, until: float) -> HostsFileState:
    if isinstance(survey, str):
        return HostsFileState(name=name, tls=None, error=survey, hosts=[])
    survey.wait(until)
    reports = survey.reports()
    states = [_host_state(host, reports.get(host.name)) for host in survey.hosts.hosts]
    return HostsFileState(name=name, tls=survey.hosts.has_tls, error="", hosts=states)


def _host_state(host: Host, report: HostReport | None) -> HostState:
    rows = [] if report is None else [row | {"state": row["state"].lower()} for row in report.rows()]
    description = None if report is None else report.description
    states = {row["state"] for row in rows}
    if report is None:
        state = "asking"
    elif "problem" in states:
        state = "problem"
    elif description is not None and description.held_by:
        state = "busy"
    else:
        state = "warning" if "warning" in states else "ready"
    return HostState.model_validate(
        {
            "name": host.name,
            "agent": host.entry.agent,
            "address": host.entry.address,
            "plays": host.plays,
            "driver": host.driver,
            "state": state,
            "version": description.version if description else "",
            "facts": dict(sorted(description.facts.items())) if description else {},
            "checks": rows,
        }
    )
