"""Saves, reads and deletes views: named queries for lists of trials (command line, Python, web)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.errors import UserError
from fabricbench.store.catalog.schema import VIEW_LENGTH_MAX
from fabricbench.store.catalog.sql import Row, Sql
from fabricbench.store.catalog.trials import now
from fabricbench.store.errors import StoreError
from fabricbench.store.queries.listing import COLUMNS, THRESHOLDS_MAX, Threshold, TrialQuery, check_metric
from fabricbench.store.workspace import Workspace
from fabricbench.words import close_match_hint, one_line

TEXTS: Final = ("search", "tag", "plan", "status", "variant", "backend", "suite", "job")
"""Filters whose value is a text."""
_CHOICES: Final = {"order": ("asc", "desc"), "deleted": ("true",), "view": ("runs", "trials")}
"""Parameters with a fixed set of values; `view` selects whether the web lists runs or trials."""
NAMES: Final = (*TEXTS, *_CHOICES, "sort", "where")
"""Parameters of a view: those of `GET /api/v1/trials`, and `view`."""
_TEXT_LENGTH_MAX: Final = 200
_NAME: Final = re.compile(r"[^\s/]([^\r\n\t/]*[^\s/])?")

ListParameters = Mapping[str, str | Sequence[str]]
"""Parameters of a list: a list of texts for `where`, one text for the others."""


class UnknownViewError(StoreError):
    """No view has the given name."""


class ViewError(UserError, ValueError):
    """A view that cannot be saved.

    Attributes:
        field: `name`, or the invalid parameter of a list.
        hint: Suggested remedy.
    """

    def __init__(self, field: str, found: str, hint: str) -> None:
        super().__init__(found)
        self.field = field
        self.hint = hint


@dataclass(frozen=True)
class View:
    """A saved list of trials.

    Attributes:
        name: Its name.
        asked: Its parameters; others have the defaults of the list.
        saved_at: When it was saved.
    """

    name: str
    asked: ListParameters
    saved_at: str = ""

    def __str__(self) -> str:
        return parameters_text(self.asked)


def parameters_text(parameters: ListParameters) -> str:
    """Return the parameters of a list as one line of text."""
    parts = [f"{name} {parameters[name]}" for name in TEXTS if name in parameters]
    parts += parameters.get("where", ())
    parts += ["deleted"] if "deleted" in parameters else []
    order_words = {"asc": "the smallest first", "desc": "the largest first"}
    order = [f"by {parameters['sort']}"] if "sort" in parameters else []
    order += [order_words[str(parameters["order"])]] if "order" in parameters else []
    return "; ".join(filter(None, [", ".join(parts) or "all", ", ".join(order)]))


def merged_parameters(
    workspace: Workspace,
    view: str | None,
    overrides: Mapping[str, str | Sequence[str] | None],
    *,
    descending: bool | None = None,
) -> ListParameters:
    """Return the parameters of a view combined with overrides: thresholds are added, all others replaced.

    Raises:
        UnknownViewError: There is none of that name.
        StoreError: The catalog cannot be read.
    """
    parameters = dict(saved_view(workspace, view).asked) if view is not None else {}
    thresholds = [*parameters.get("where", ()), *(overrides.get("where") or ())]
    parameters |= {name: value for name, value in overrides.items() if value}
    if descending is not None:
        parameters["order"] = "desc" if descending else "asc"
    return parameters | {"where": thresholds} if thresholds else parameters


def query_of(parameters: ListParameters) -> TrialQuery:
    """Return the query of a list's parameters: all its trials, oldest first by default.

    Raises:
        ThresholdError: A metric is unknown, or a threshold cannot be parsed.
    """
    texts: dict[str, Any] = {name: parameters[name] for name in TEXTS if name in parameters}
    return TrialQuery(
        **texts,
        deleted="deleted" in parameters,
        where=[Threshold.read(text) for text in parameters.get("where", ())],
        sort=str(parameters.get("sort", "attempt")),
        descending=parameters.get("order") == "desc",
        limit=None,
    )


def check_view(name: str, parameters: Mapping[str, object]) -> None:
    """Check that a view can be saved.

    Raises:
        ViewError: Its name is invalid, or it has a parameter that lists do not have.
        ThresholdError: A metric is unknown, or a threshold cannot be parsed.
    """
    if len(name) > VIEW_LENGTH_MAX or not _NAME.fullmatch(name):
        allowed = f"1 to {VIEW_LENGTH_MAX} characters in one line, without / and blanks at its ends"
        raise ViewError("name", f'"{one_line(name, 80)}" is no name for a view', f"allowed: {allowed}")
    for field, value in parameters.items():
        _check_field(field, value)
    check_metric(str(parameters.get("sort", COLUMNS[0])), COLUMNS)
    for text in parameters.get("where", ()):  # type: ignore[attr-defined]
        Threshold.read(text)


def _check_field(field: str, value: object) -> None:
    if field not in NAMES:
        hint = close_match_hint(field, NAMES) or f"allowed: {', '.join(NAMES)}"
        raise ViewError(field, f'a list has no "{one_line(field, 80)}"', hint)
    if field == "where":
        is_valid = isinstance(value, list) and len(value) <= THRESHOLDS_MAX and all(map(_is_text, value))
        allowed = f"at most {THRESHOLDS_MAX} texts such as ideal_percent<50"
    elif field in _CHOICES:
        is_valid, allowed = value in _CHOICES[field], " or ".join(_CHOICES[field])
    else:
        is_valid, allowed = _is_text(value), f"a text of 1 to {_TEXT_LENGTH_MAX} characters"
    if not is_valid:
        raise ViewError(field, f"`{field}` is {one_line(str(value), 80)}", f"allowed: {allowed}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _TEXT_LENGTH_MAX


def saved_views(workspace: Workspace) -> list[View]:
    """Return the views of a workspace by name; rows with invalid values are skipped.

    Raises:
        StoreError: The catalog cannot be read.
    """
    with workspace.database.reading() as connection:
        rows = connection.execute("SELECT * FROM views ORDER BY name").all()
    return [view for row in rows if (view := _view(row)) is not None]


def saved_view(workspace: Workspace, name: str) -> View:
    """Return a view.

    Raises:
        UnknownViewError: There is none of that name.
        StoreError: The catalog cannot be read.
    """
    views_by_name = {view.name: view for view in saved_views(workspace)}
    if name not in views_by_name:
        hint = close_match_hint(name, views_by_name) or "`fabricbench views` lists those that there are"
        raise UnknownViewError(workspace.root, f'no view "{one_line(name, 80)}"', hint)
    return views_by_name[name]


def save_view(workspace: Workspace, name: str, parameters: ListParameters) -> View:
    """Save a view, replacing one with the same name.

    Raises:
        ViewError: Its name is invalid, or it has a parameter that lists do not have.
        ThresholdError: A metric is unknown, or a threshold cannot be parsed.
        StoreError: The catalog cannot be written.
    """
    check_view(name, parameters)
    view = View(name, parameters, now())
    with workspace.database.writing() as connection:
        connection.execute(Sql("DELETE FROM views WHERE name = ?", name))
        row = {"name": name, "asked": json.dumps(parameters), "saved_at": view.saved_at}
        connection.insert("views", row)
    return view


def delete_view(workspace: Workspace, name: str) -> None:
    """Delete a view; its trials are not changed.

    Raises:
        UnknownViewError: There is none of that name.
        StoreError: The catalog cannot be written.
    """
    saved_view(workspace, name)
    with workspace.database.writing() as connection:
        connection.execute(Sql("DELETE FROM views WHERE name = ?", name))


def _view(row: Row) -> View | None:
    try:
        parameters = json.loads(row.asked)
        check_view(row.name, parameters)
    except (TypeError, ValueError, AttributeError):  # ViewError and ThresholdError are ValueErrors
        return None
    return View(row.name, parameters, str(row.saved_at))
