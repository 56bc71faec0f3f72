"""Overrides from the command line: `-s transport.ack_every=4` changes one field of a plan for one run."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fabricbench.plan.document import Document, read_value
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted
from fabricbench.plan.nodes import kind_name, shorten

_FORM = "FIELD=VALUE, such as transport.ack_every=4 or jobs.0.ranks=0-3"


def apply_overrides(document: Document, overrides: Iterable[str]) -> Document:
    """Return the document with each override applied in turn.

    A field is named by its dotted path, with list items by their number from 0; the value is YAML. Fields
    that are not written in the plan are added, so that every field with a default can be given. Problems with
    an overridden value name the override as their place.

    Raises:
        PlanError: An override has not the form FIELD=VALUE, or names a list item that is not there or a field
            inside a single value.
    """
    problems: list[Problem] = []
    for override in overrides:
        try:
            document = _apply(document, override)
        except PlanError as error:
            problems.extend(error.problems)
    if problems:
        raise PlanError(problems)
    return document


def _apply(document: Document, override: str) -> Document:
    """Return the document with one override applied."""
    source = f"-s {override}"
    name, equals, text = override.partition("=")
    parts = name.strip().split(".")
    if not equals or not all(parts):
        raise PlanError([Problem(Place(source), "", "no field and value", _FORM)])
    value = read_value(text, source)
    data, path = _replaced(document.data, parts, value, source)
    return _moved(document, data, path, Place(source))


def _replaced(
    node: Any, parts: list[str], value: Any, source: str, done: FieldPath = ()
) -> tuple[Any, FieldPath]:
    """Return a copy of `node` with the value at `parts` replaced, and the path of the value."""
    if not parts:
        return value, done
    if isinstance(node, list):
        key: str | int = _index(node, parts[0], source, done)
        child, path = _replaced(node[int(key)], parts[1:], value, source, (*done, key))
        return [*node[: int(key)], child, *node[int(key) + 1 :]], path
    if node is not None and not isinstance(node, dict):
        raise PlanError([_inside_single_value(node, parts, source, done)])
    mapping: dict[str, Any] = node or {}
    key = parts[0]
    child, path = _replaced(mapping.get(key), parts[1:], value, source, (*done, key))
    return {**mapping, key: child}, path


def _index(items: list[Any], part: str, source: str, path: FieldPath) -> int:
    """Read a list index that exists."""
    if part.isdecimal() and part.isascii() and len(part) < 10 and int(part) < len(items):
        return int(part)
    allowed = f"0 to {len(items) - 1}" if items else "nothing, the list is empty"
    raise PlanError([Problem(Place(source), dotted(path), f"the list item {shorten(part)}", allowed)])


def _inside_single_value(node: object, parts: list[str], source: str, path: FieldPath) -> Problem:
    """Describe an override of a field inside text or a number."""
    found = f"the field {shorten(parts[0])} inside {shorten(str(node))}, which is {kind_name(node)}"
    hint = f"give the whole mapping: -s '{dotted(path)}={{{parts[0]}: ...}}'"
    return Problem(Place(source), dotted(path), found, "fields inside mappings", hint)


def _moved(document: Document, data: dict[str, Any], path: FieldPath, place: Place) -> Document:
    """Return the document with new data, of which the value at `path` was written at `place`."""

    def kept(places: dict[FieldPath, Place]) -> dict[FieldPath, Place]:
        outside = {other: at for other, at in places.items() if other[: len(path)] != path}
        # Mappings that the override created on its way are the override's too.
        created = {path[:end] for end in range(1, len(path)) if path[:end] not in document.places}
        return outside | dict.fromkeys(created | {path}, place)

    return replace(
        document, data=data, places=kept(document.places), value_places=kept(document.value_places)
    )
