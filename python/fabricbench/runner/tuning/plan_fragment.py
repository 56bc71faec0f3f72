"""Converts a point (values of the searched fields) to a fragment of a plan, or to changes for `run -s`."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from fabricbench.plan.document.overrides import apply_overrides, resolved
from fabricbench.plan.document.short_names import may_be_named
from fabricbench.plan.errors import FieldPath, Place
from fabricbench.plan.load import document_of
from fabricbench.runner.tuning.space import Point, Space


def fragment(space: Space, point: Point, number: int = 0) -> dict[str, Any]:
    """Return the searched fields of a plan at a point, nested as in the plan.

    Lists are written in full, and so are mappings that may also be a name, such as that of a preset: each
    replaces the value in the plan, so that none of its other fields is lost.
    """
    overrides = space.overrides(number, point)
    document = apply_overrides(document_of(space.plans[number]), overrides)
    paths = {
        _replaceable(resolved(document, override.partition("=")[0], Place(""))) for override in overrides
    }
    searched_fields: dict[str, Any] = _part_on_paths(document.data, paths)
    return searched_fields


def _replaceable(path: FieldPath) -> FieldPath:
    """Return the path of the outermost enclosing mapping that may also be a name, or the path itself."""
    enclosing = (path[:length] for length in range(1, len(path)))
    return next((candidate for candidate in enclosing if may_be_named(candidate)), path)


def _part_on_paths(node: Any, paths: Collection[FieldPath]) -> Any:
    """Return the part of a node that is on the given paths below it."""
    if () in paths or not isinstance(node, dict):
        return node
    heads = {path[0] for path in paths}
    return {
        key: _part_on_paths(child, {path[1:] for path in paths if path[0] == key})
        for key, child in node.items()
        if key in heads
    }


def changes(space: Space, point: Point, number: int = 0) -> list[str]:
    """Return the changes of a point to a plan, each FIELD=VALUE for `run -s`, as few as possible."""
    opened_changes = []
    fields = fragment(space, point, number)
    for override in space.opened[number]:
        name = override.partition("=")[0]
        node: Any = fields
        for part in name.split("."):
            node = node[part]
        opened_changes.append(f"{name}={json.dumps(node)}")
    opened_prefixes = tuple(f"{change.partition('=')[0]}." for change in opened_changes)
    return [
        *opened_changes,
        *(f"{field}={value}" for field, value in point.items() if not field.startswith(opened_prefixes)),
    ]
