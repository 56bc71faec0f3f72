"""Routes for the expected curves of clusters, like the command `fabricbench expect --cluster`."""

from __future__ import annotations

import json
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from fabricbench.plan.cluster import COLLECTIVES, SERVERS_MAX
from fabricbench.plan.cluster_fabric import TOPOLOGIES
from fabricbench.plan.fabric.server import shipped_servers
from fabricbench.report.studies.cluster_curves import ClusterJson
from fabricbench.server.errors import ERRORS, ApiError
from fabricbench.server.json_answer import json_answer
from fabricbench.server.option_task import run_option_task
from fabricbench.server.routes.plots import PlotlyFigure
from fabricbench.server.state import State

router = APIRouter(prefix="/api/v1", tags=["expected"], responses=ERRORS)

CURVE_SECONDS: Final = 300
"""Time of one processor that the curve of a collective may take [s]."""
_SEEDS_MAX: Final = 20


class ClusterChoices(BaseModel):
    """What a cluster can be."""

    servers: list[str] = Field(description="Shipped servers.")
    topologies: list[str]
    collectives: list[str]
    servers_max: int = Field(description="Most servers of a cluster.")
    seeds_max: int


@router.get("/expected/choices")
def list_cluster_choices() -> ClusterChoices:
    """List the servers, fabrics and collectives of clusters whose curve can be expected."""
    return ClusterChoices(
        servers=list(shipped_servers()),
        topologies=list(TOPOLOGIES),
        collectives=list(COLLECTIVES),
        servers_max=SERVERS_MAX,
        seeds_max=_SEEDS_MAX,
    )


class ExpectedCurve(ClusterJson):
    """Expected curve of a collective on a cluster, as `expect --cluster --json` has it, with its figure."""

    title: str
    source: str
    legend: list[str]
    figure: PlotlyFigure


@router.get("/expected", response_model=ExpectedCurve)
async def expect_cluster(
    state: State,
    cluster: Annotated[str, Query(max_length=80, description="A shipped server.")],
    servers: Annotated[int, Query(ge=1, le=SERVERS_MAX, description="Number of servers.")],
    collective: Annotated[str, Query(max_length=40)] = COLLECTIVES[0],
    topology: Annotated[str, Query(max_length=40)] = TOPOLOGIES[0],
    seeds: Annotated[int, Query(ge=1, le=_SEEDS_MAX, description="Trials of each size.")] = 1,
) -> Response:
    """Return the expected curve of a collective on a cluster."""
    check_server(cluster)
    arguments = {
        "server": cluster,
        "servers": servers,
        "collective": collective,
        "topology": topology,
        "seeds": seeds,
    }
    hint = "fewer servers take less; `fabricbench expect` has no such limits"
    reply = await run_option_task(state, "expect", arguments, "the curve", hint, CURVE_SECONDS)
    return json_answer(json.dumps(reply))


def check_server(name: str) -> None:
    """Check that a server is a shipped one, as others are files."""
    if name not in shipped_servers():
        allowed = ", ".join(shipped_servers())
        raise ApiError(422, f'no shipped server "{name}"', field="cluster", allowed=allowed)
