"""Routes for plans: shipped plans, JSON Schema, and a plan check: errors, time, memory, topology."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from fabricbench.plan.document.document import read_text
from fabricbench.plan.document.shipped import shipped_plans, shipped_texts
from fabricbench.plan.errors import PlanError
from fabricbench.plan.schema import plan_schema
from fabricbench.runner import loading
from fabricbench.runner.session import ListedTrial
from fabricbench.server.errors import ERRORS, ApiError, Fault, error_404
from fabricbench.server.json_answer import json_answer
from fabricbench.server.state import ServerState, state_of
from fabricbench.server.workers.fabric_map import FabricMap
from fabricbench.server.workers.plan_fabric import plan_fabric
from fabricbench.server.workers.sandbox import SandboxError
from fabricbench.server.workers.sandbox_tasks import PlanCost

router = APIRouter(prefix="/api/v1", tags=["plans"], responses=ERRORS)

PlanName = Annotated[str, Path(pattern="^[a-z0-9-]{1,80}$", description="Name of a shipped plan.")]
Override = Annotated[str, Field(max_length=10_000, examples=["transport.ack_every=4"])]
VariantName = Annotated[str, Field(max_length=200)]


_DEPTH_MAX: Final = 100


def _is_deeper(document: Any, levels: int) -> bool:
    """Return whether mappings and lists are nested deeper than `levels`; iterative, for any depth."""
    layer = [document]
    for _ in range(levels):
        inner = (item.values() if isinstance(item, dict) else item for item in layer)
        layer = [item for values in inner if values for item in values if isinstance(item, dict | list)]
        if not layer:
            return False
    return True


class PlanText(BaseModel):
    """A plan, as YAML or as its fields; with both, the fields count and the YAML keeps its comments."""

    model_config = ConfigDict(extra="forbid")

    yaml: str | None = Field(None, max_length=1 << 20, description="The plan as YAML.")
    document: dict[str, Any] | None = Field(None, description="The plan's fields.")
    set: list[Override] = Field(
        default_factory=list, max_length=200, description="Changes, each FIELD=VALUE."
    )
    variants: list[VariantName] = Field(
        default_factory=list, max_length=200, description="The variants to run; all if none is named."
    )
    backend: str | None = Field(
        None, max_length=80, description="What carries the plan out; by default what the plan says."
    )
    hosts: str | None = Field(
        None,
        max_length=64,
        description="The server's file of hosts, by its name, that backend `hosts` runs the plan on.",
    )
    twin: bool = Field(
        False, description="Also have the simulator predict each trial that another backend measures."
    )

    @property
    def overrides(self) -> list[str]:
        """All changes, the choice of a backend included."""
        return [*self.set, *([] if self.backend is None else [f"backend={json.dumps(self.backend)}"])]

    @model_validator(mode="after")
    def _has_a_plan(self) -> PlanText:
        if self.yaml is None and self.document is None:
            raise ValueError("give the plan as `yaml` or as `document`")
        if _is_deeper(self.document, _DEPTH_MAX):
            raise ValueError(f"found more than {_DEPTH_MAX} levels in `document`; a plan has some ten")
        # JSON can write half of a surrogate pair, which encoded text cannot contain.
        texts = [self.yaml, self.document, self.overrides, self.variants, self.hosts]
        json.dumps(texts, ensure_ascii=False).encode()
        return self


class ShippedPlan(BaseModel):
    """A plan that comes with fabricbench; with an `error` nothing more is known of it than its name."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    name: str
    title: str
    trials: int
    ranks: int
    hosts: int
    variants: list[str]
    data_size_min_bytes: int
    data_size_max_bytes: int
    published: str | None = Field(description="Table of published results that it is set beside.")
    group: str = Field(description="What it is about, such as `jct` or `lb`.")
    description: str
    error: str = Field(
        "", description="Why it cannot be loaded, such as an engine that is older than it; empty if it can."
    )


class ShippedPlans(BaseModel):
    """The shipped plans, by name."""

    plans: list[ShippedPlan]


class GalleryPlan(BaseModel):
    """A shipped plan for a list that is searched."""

    name: str
    title: str
    description: str = Field(description="The question it answers, and how.")
    group: str = Field(description="What it is about, such as `jct` or `lb`.")


class Gallery(BaseModel):
    """The shipped plans, by name."""

    plans: list[GalleryPlan]


class PlanContent(BaseModel):
    """A shipped plan's text and fields."""

    name: str
    yaml: str
    document: dict[str, Any]


class Checked(BaseModel):
    """What can be said of a plan without running it."""

    yaml: str = Field(description="Its YAML, with its comments.")
    document: dict[str, Any] | None = Field(description="Its fields; null if the YAML cannot be read.")
    name: str | None
    title: str | None
    extent: str | None = Field(description="How much there is to run, in words.")
    variants: list[str]
    errors: list[Fault] = Field(description="Why it cannot be run; empty if it can.")
    warnings: list[Fault]
    beyond_machine: bool = Field(description="Whether it only costs too much; `force` runs it.")
    cost: PlanCost | None
    backend: str | None = Field(description="What would carry it out; null where the plan has an error.")
    notes: list[str] = Field(
        description="What to know before it runs on hosts: what of the plan applies, and what does not."
    )
    trials: list[ListedTrial] = Field(
        description="The first thousand trials, in the order in which they run, predictions first; none of a "
        "search, which chooses them as it runs."
    )
    trials_total: int = Field(description="How many trials there are; of a search at most.")
    search: str | None = Field(description="The field that the plan searches; null if it searches none.")
    topology: FabricMap | None = Field(description="Its fabric as a map; null where the plan has an error.")


@cache
def _shipped() -> list[ShippedPlan]:
    plans = []
    for name, path in shipped_plans().items():
        names = {"name": name, "group": path.parent.name}
        try:
            loaded = loading.load(name)
        except PlanError as error:
            plans.append(ShippedPlan.model_validate(_UNLOADABLE | names | {"error": str(error)}))
        else:
            names |= {"description": loaded.plan.description}
            plans.append(ShippedPlan.model_validate(vars(loaded.summary) | names))
    return plans


_UNLOADABLE: Final[dict[str, Any]] = {
    "title": "cannot be loaded",
    "description": "",
    **dict.fromkeys(("trials", "ranks", "hosts", "data_size_min_bytes", "data_size_max_bytes"), 0),
    "variants": [],
    "published": None,
}
"""Fields of a shipped plan that cannot be loaded."""


@cache
def _gallery() -> list[GalleryPlan]:
    """Return the shipped plans without loading them, which takes seconds."""
    titles, descriptions = shipped_texts("title"), shipped_texts("description")
    return [
        GalleryPlan(name=name, title=titles[name], description=descriptions[name], group=path.parent.name)
        for name, path in shipped_plans().items()
    ]


@cache
def _content(name: str) -> PlanContent | None:
    path = shipped_plans().get(name)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    return PlanContent(name=name, yaml=text, document=read_text(text, name).data)


@cache
def _fabric(name: str) -> FabricMap | None:
    try:
        return plan_fabric(loading.load(name)) if name in shipped_plans() else None
    except PlanError:
        return None


_schema = cache(plan_schema)


@router.get("/plans")
def list_plans() -> ShippedPlans:
    """List the shipped plans."""
    return ShippedPlans(plans=_shipped())


@router.get("/plan-gallery")
def list_gallery() -> Gallery:
    """List the shipped plans with titles and descriptions, faster than `/plans`."""
    return Gallery(plans=_gallery())


@router.get("/plans/{name}")
def show_plan(name: PlanName) -> PlanContent:
    """Return a shipped plan."""
    content = _content(name)
    if content is None:
        raise error_404(f'no shipped plan "{name}"', "GET /api/v1/plans lists them")
    return content


@router.get("/plans/{name}/fabric")
def show_fabric(name: PlanName) -> FabricMap:
    """Return the fabric of a shipped plan as a map."""
    drawn = _fabric(name)
    if drawn is None:
        raise error_404(f'no shipped plan "{name}" with a fabric', "GET /api/v1/plans lists them")
    return drawn


@router.get("/plan-schema")
def plan_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan."""
    return _schema()


@router.post("/plans/check", response_model=Checked)
async def check_plan(plan: PlanText, state: Annotated[ServerState, Depends(state_of)]) -> Response:
    """Check a plan; errors are part of the answer."""
    check = await checked(plan, state)
    # The topology may be long, so it is serialised in a thread instead of the event loop.
    return await run_in_threadpool(json_answer, check)


async def checked(plan: PlanText, state: ServerState, *, force: bool = False) -> dict[str, Any]:
    """Check a plan in the sandbox process.

    Raises:
        ApiError: The check exceeds its limits of time or memory.
        BusyError: Too many plans are being checked.
    """
    limits = state.settings.limits
    arguments = {
        "text": plan.yaml,
        "document": plan.document,
        "overrides": plan.overrides,
        "chosen": plan.variants,
        "limits": (None, None) if force else (limits.memory_bytes, limits.time_ms),
        "run_target": {"hosts": plan.hosts, "files": state.hosts_settings, "twin": plan.twin},
    }
    try:
        check: dict[str, Any] = await state.sandbox.run("check", arguments)
    except SandboxError as error:
        hint = "a smaller plan takes less; `fabricbench run` has no such limits"
        raise ApiError(422, f"plan: {error}", hint) from error
    return check
