"""Writes a plan with changed fields as YAML, with the comments and the order of the earlier text."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any, Final

from fabricbench.plan.document.document import read_text
from fabricbench.plan.errors import PlanError

_WIDTH: Final = 118


def yaml_of(document: Mapping[str, Any], before: str | None = None) -> str:
    """Write the fields of a plan as YAML.

    Args:
        document: The fields.
        before: Earlier YAML of the plan; its comments, order and notation stay where values are unchanged.
    """
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.width = _WIDTH
    yaml.preserve_quotes = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    root = _round_trip(yaml, before)
    if root is None:
        root = dict(document)
    else:
        _update(root, document)
    text = StringIO()
    yaml.dump(root, text)
    return text.getvalue()


def _round_trip(yaml: Any, before: str | None) -> Any:
    """Return the mapping of a YAML text with comments and notation; none if the text is no plan."""
    if not before:
        return None
    try:
        read_text(before, "plan")
    except PlanError:
        return None
    return yaml.load(before)


def _update(node: Any, new_values: Mapping[str, Any]) -> None:
    """Set the values of a mapping, and leave equal ones untouched."""
    for key in [key for key in node if key not in new_values]:
        del node[key]
    for key, value in new_values.items():
        if key not in node or not _is_updated(node[key], value):
            node[key] = value


def _is_updated(node: Any, value: Any) -> bool:
    """Update a mapping or a list in place where possible; return whether the node now has the value."""
    if isinstance(node, dict) and isinstance(value, Mapping):
        _update(node, value)
        return True
    if isinstance(node, list) and isinstance(value, list) and len(node) == len(value):
        for index, item in enumerate(value):
            if not _is_updated(node[index], item):
                node[index] = item
        return True
    return _same_scalar(node, value)


def _same_scalar(node: Any, value: Any) -> bool:
    """Return whether a scalar of the round-trip loader equals a plain value of the same type."""
    if isinstance(node, bool) or isinstance(value, bool):
        return node is value
    return isinstance(node, type(value)) and not isinstance(node, dict | list) and bool(node == value)
