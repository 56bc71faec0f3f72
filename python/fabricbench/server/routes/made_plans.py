"""Routes that make plans: of a cluster, like the command `new`, and of a device's file, like `convert`."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from fabricbench.plan.cluster import COLLECTIVES, SERVERS_MAX
from fabricbench.plan.cluster_fabric import LOAD_BALANCERS, OVERSUBSCRIPTION_MAX, TIERS_MAX, TOPOLOGIES
from fabricbench.plan.fabric.server import shipped_servers
from fabricbench.plan.server import load_server
from fabricbench.server.errors import ERRORS
from fabricbench.server.option_task import run_option_task
from fabricbench.server.routes.expected import check_server
from fabricbench.server.routes.imports import NAME_LENGTH_MAX, NAME_PATTERN
from fabricbench.server.state import State

router = APIRouter(prefix="/api/v1", tags=["plans"], responses=ERRORS)

DEVICE_PATH: Final = "/api/v1/plans/of-device"

_Name = Annotated[str, Field(max_length=NAME_LENGTH_MAX, pattern=NAME_PATTERN)]


class ServerChoice(BaseModel):
    """A shipped server with GPUs."""

    name: str
    description: str
    gpus: int
    adapters: int
    rate_bps: int = Field(description="Rate of an adapter [bit/s].")


class PlanChoices(BaseModel):
    """Values of a plan of a cluster."""

    servers: list[ServerChoice]
    servers_max: int
    topologies: list[str]
    tiers_max: int
    oversubscription_max: int
    load_balancing: list[str]
    collectives: list[str]


class ClusterQuestion(BaseModel):
    """A cluster of GPU servers: the options of `fabricbench new --cluster`."""

    cluster: str = Field(max_length=80, description="A shipped server.")
    servers: int = Field(2, ge=1, le=SERVERS_MAX, description="Number of servers.")
    adapters: int | None = Field(None, description="Adapters of a server that are connected; by default all.")
    topology: str = Field(TOPOLOGIES[0], max_length=40)
    tiers: int | None = Field(None, description="Tiers of switches.")
    oversubscription: int = Field(1, description="N:1 at the leaves.")
    load_balancing: str | None = Field(None, max_length=40)
    collective: str = Field(COLLECTIVES[0], max_length=40)


class DeviceFile(BaseModel):
    """A file of a device."""

    name: _Name = Field(min_length=1, description="Its name, for errors and the name of the plan.")
    text: str


class FieldOfFile(BaseModel):
    """A field of a plan that was read from a file."""

    field: str
    value: str
    origin: str = Field(description="Its origin, by the names of the file.")


class MadePlan(BaseModel):
    """A plan and its origin."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    yaml: str
    source: str = Field(description="The file or the cluster.")
    read: list[str] = Field(default=[], description="What the file has, in words.")
    fields: list[FieldOfFile] = Field(default=[], description="Fields that are in the file.")
    assumed: list[str] = Field(default=[], description="Fields that are not in the file.")
    warnings: list[str] = Field(default=[], description="Differences from the file.")
    not_modelled: list[str] = Field(default=[], description="Settings of the file that the model lacks.")


@cache
def _servers() -> list[ServerChoice]:
    servers = {name: load_server(name) for name in shipped_servers()}
    return [
        ServerChoice(
            name=name,
            description=server.description,
            gpus=server.gpus,
            adapters=server.nics,
            rate_bps=server.nic.rate_bps,
        )
        for name, server in servers.items()
        if server.nic is not None
    ]


@router.get("/plan-choices")
def list_plan_choices() -> PlanChoices:
    """List the values of a plan of a cluster."""
    return PlanChoices(
        servers=_servers(),
        servers_max=SERVERS_MAX,
        topologies=list(TOPOLOGIES),
        tiers_max=TIERS_MAX,
        oversubscription_max=OVERSUBSCRIPTION_MAX,
        load_balancing=list(LOAD_BALANCERS),
        collectives=list(COLLECTIVES),
    )


@router.post("/plans/of-cluster", response_model=MadePlan)
async def make_plan_of_cluster(state: State, cluster: ClusterQuestion) -> dict[str, Any]:
    """Make the plan of a collective on a cluster, as `fabricbench new --cluster` writes it."""
    check_server(cluster.cluster)
    return await _made(state, "make_cluster_plan", {"question": cluster.model_dump()})


@router.post(DEVICE_PATH.removeprefix(router.prefix), response_model=MadePlan)
async def make_plan_of_device(state: State, file: DeviceFile) -> dict[str, Any]:
    """Make a plan of a SONiC, containerlab or NCCL file, as `fabricbench convert --format plan` does."""
    return await _made(state, "make_device_plan", file.model_dump())


async def _made(state: State, task: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return await run_option_task(state, task, arguments, "the plan", "the command line has no such limits")
