"""Routes for saved views: named filters and orders of the list of trials."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, ConfigDict, Field

from fabricbench.server.errors import ERRORS, ApiError, not_found
from fabricbench.server.state import State
from fabricbench.store.catalog.schema import VIEW_LENGTH_MAX
from fabricbench.store.queries.listing import ThresholdError
from fabricbench.store.queries.views import (
    UnknownViewError,
    View,
    ViewError,
    delete_view,
    save_view,
    saved_views,
)

router = APIRouter(prefix="/api/v1", tags=["trials"], responses=ERRORS)

Name = Annotated[str, Path(min_length=1, max_length=VIEW_LENGTH_MAX, description="Name of the view.")]


class SavedView(BaseModel):
    """A list of trials under a name."""

    name: str
    asked: dict[str, str | list[str]] = Field(
        description="What it asks for: parameters of `GET /api/v1/trials` with their values, and `view`, "
        "`runs` or `trials`; what is not there is left to whoever lists."
    )
    saved_at: str


class SavedViews(BaseModel):
    """Every view."""

    views: list[SavedView] = Field(description="By name.")


class ViewContent(BaseModel):
    """What a view is to ask for."""

    model_config = ConfigDict(extra="forbid")

    asked: dict[str, str | list[str]] = Field(max_length=20)


@router.get("/views")
def list_views(state: State) -> SavedViews:
    """List the saved views of the workspace."""
    return SavedViews(views=[_shown(view) for view in saved_views(state.workspace)])


@router.put("/views/{name}")
def put_view(name: Name, content: Annotated[ViewContent, Body()], state: State) -> SavedView:
    """Keep a view, in place of one of the same name."""
    try:
        return _shown(save_view(state.workspace, name, content.asked))
    except ViewError as error:
        raise ApiError(422, str(error), error.hint, field=error.field) from error
    except ThresholdError as error:
        raise ApiError(422, str(error), error.hint, field="asked") from error


@router.delete("/views/{name}")
def remove_view(name: Name, state: State) -> SavedViews:
    """Forget a view; its trials stay. Answers with those that are left."""
    try:
        delete_view(state.workspace, name)
    except UnknownViewError as error:
        raise not_found(error.found, "GET /api/v1/views lists them") from error
    return list_views(state)


def _shown(view: View) -> SavedView:
    values: dict[str, Any] = vars(view)
    return SavedView(**values)
