"""How far the campaigns are that run in the workspace."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, Field, ValidationError

from fabricbench.server.errors import ERRORS
from fabricbench.server.trials import State
from fabricbench.store.campaigns import campaigns

router = APIRouter(prefix="/api/v1", tags=["campaigns"], responses=ERRORS)


class CampaignProgress(BaseModel):
    """How far a campaign is."""

    name: str
    state: str = Field(
        description="`running`, `complete` once all trials have ended, `failed` or `interrupted`."
    )
    trials: int = Field(description="How many trials it has.")
    kept: int = Field(description="How many had their record before.")
    finished: int = Field(description="How many have ended with a record since.")
    failed: int = Field(description="How many have ended without.")
    percent: float = Field(description="Share of the estimated work that is done [%].")
    elapsed_s: float = Field(description="Time since it began [s].")
    left_s: float | None = Field(description="Time that the rest will take [s]; null if not known.")
    cores: int = Field(description="Cores that work on it.")
    waits: str = Field(description="What does not answer and is waited for; nothing if empty.")
    noted_at: str = Field(description="When all this was noted, ISO 8601 in UTC.")


class Campaigns(BaseModel):
    """The campaigns that have run in the workspace, the newest first."""

    campaigns: list[CampaignProgress]


@router.get("/campaigns")
def list_campaigns(state: State) -> Campaigns:
    """Return how far each campaign is that has run in the workspace by `fabricbench campaign`."""
    found = []
    for each in campaigns(state.workspace.root):
        with suppress(ValidationError):  # somebody has changed its file
            found.append(CampaignProgress.model_validate(asdict(each)))
    return Campaigns(campaigns=found)
