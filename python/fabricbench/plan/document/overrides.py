"""Overrides: `-s transport.ack_every=4` changes a field of a plan for one run, a variant some for its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fabricbench.plan.document.document import Document, read_value
from fabricbench.plan.document.nodes import DEPTH_MAX, first_no_text, kind_name, shorten, told_character
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted

_OWN_KEYS_OF_SWEEP: Final = ("data_size", "message_size", "zip")
_FORM = "FIELD=VALUE, such as transport.ack_every=4 or jobs.0.ranks=0-3"


@dataclass(frozen=True)
class Written:
    """A value that replaces a field, and where it was written.

    Attributes:
        value: The value.
        place: Where the override stands.
        example: How to write the override of a whole mapping, with `{}` for its field and a key in it.
        places: Where the keys within the value stand, by their path below it; those left out at `place`.
        value_places: The same of their values.
    """

    value: Any
    place: Place
    example: str
    places: Mapping[FieldPath, Place] = field(default_factory=dict)
    value_places: Mapping[FieldPath, Place] = field(default_factory=dict)


def apply_overrides(document: Document, overrides: Iterable[str]) -> Document:
    """Return the document with each override applied in turn.

    A field is named by its dotted path, with list items by their number from 0 or by their name; the value is
    YAML. Fields that are not written in the plan are added, so that every field with a default can be given.
    Problems with an overridden value name the override as their place.

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
    if wrong := first_no_text(override):
        raise PlanError([Problem(Place(source), "", told_character(wrong), "text")])
    name, equals, text = override.partition("=")
    parts = name.strip().split(".")
    if not equals or not all(parts):
        raise PlanError([Problem(Place(source), "", "no field and value", _FORM)])
    written = Written(read_value(text, source), Place(source), "-s '{}={{{}: ...}}'")
    return put(document, parts, written)


def put(document: Document, parts: list[str], written: Written) -> Document:
    """Return the document with the field at a dotted path replaced.

    Raises:
        PlanError: The path names a list item that is not there, or a field inside a single value, or goes
            deeper than any plan.
    """
    if len(parts) > DEPTH_MAX:
        allowed = f"at most {DEPTH_MAX} names with dots between them"
        raise PlanError([Problem(written.place, "", f"a path of {len(parts)} names", allowed)])
    data, path = _replaced(document.data, parts, written)
    return _moved(document, data, path, written)


def resolved(document: Document, name: str, place: Place) -> FieldPath:
    """Return the path of the field that a dotted path names, with list items by their numbers.

    Raises:
        PlanError: It names a list item that is not there or a field inside a single value; at `place`.
    """
    return _replaced(document.data, name.split("."), Written(None, place, "{}: {{{}: ...}}"))[1]


def _replaced(node: Any, parts: list[str], written: Written, done: FieldPath = ()) -> tuple[Any, FieldPath]:
    """Return a copy of `node` with the value at `parts` replaced, and the path of the value."""
    if not parts:
        return written.value, done
    if isinstance(node, list):
        index = _index(node, parts[0], written, done)
        child, path = _replaced(node[index], parts[1:], written, (*done, index))
        return [*node[:index], child, *node[index + 1 :]], path
    if isinstance(node, str) and done:
        from fabricbench.plan.meanings import named_mapping

        meant = named_mapping(done, node)
        node = node if meant is None else meant
    if node is not None and not isinstance(node, dict):
        raise PlanError([_inside_single_value(node, parts, written, done)])
    mapping: dict[str, Any] = node or {}
    key, *rest = _dotted_key(mapping, parts) if _has_dotted_keys(done, parts) else parts
    child, path = _replaced(mapping.get(key), rest, written, (*done, key))
    return {**mapping, key: child}, path


def _has_dotted_keys(path: FieldPath, parts: list[str]) -> bool:
    """Tell whether keys at a path are dotted paths, as of the fields that a variant sets or a sweep has."""
    if path == ("sweep",):
        return parts[0] not in _OWN_KEYS_OF_SWEEP
    return path == ("sweep", "zip") or (len(path) == 3 and path[0] == "variants" and path[2] == "set")


def _dotted_key(mapping: Mapping[str, Any], parts: list[str]) -> list[str]:
    """Return parts of which the first is a dotted path: one that is there, or else all of them."""
    for count in range(len(parts), 0, -1):
        if ".".join(parts[:count]) in mapping:
            return [".".join(parts[:count]), *parts[count:]]
    return [".".join(parts)]


def _index(items: list[Any], part: str, written: Written, path: FieldPath) -> int:
    """Read the number or the name of a list item that exists."""
    if part.isdecimal() and part.isascii() and len(part) < 10 and int(part) < len(items):
        return int(part)
    names = [str(item["name"]) for item in items if isinstance(item, dict) and "name" in item]
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get("name") == part:
            return index
    allowed = f"0 to {len(items) - 1}" if items else "nothing, the list is empty"
    allowed += f", or a name: {', '.join(names[:20])}" if names else ""
    raise PlanError([Problem(written.place, dotted(path), f"the list item {shorten(part)}", allowed)])


def _inside_single_value(node: object, parts: list[str], written: Written, path: FieldPath) -> Problem:
    """Describe an override of a field inside text or a number."""
    found = f"the field {shorten(parts[0])} inside {shorten(str(node))}, which is {kind_name(node)}"
    hint = f"give the whole mapping: {written.example.format(dotted(path), parts[0])}"
    return Problem(written.place, dotted(path), found, "fields inside mappings", hint)


def _moved(document: Document, data: dict[str, Any], path: FieldPath, written: Written) -> Document:
    """Return the document with new data, of which the value at `path` was written elsewhere."""

    def kept(places: Mapping[FieldPath, Place], within: Mapping[FieldPath, Place]) -> dict[FieldPath, Place]:
        outside = {other: at for other, at in places.items() if other[: len(path)] != path}
        # Mappings that the override created on its way are the override's too.
        created = {path[:end] for end in range(1, len(path)) if path[:end] not in document.places}
        inside = {(*path, *below): at for below, at in within.items()}
        return outside | dict.fromkeys(created | {path}, written.place) | inside

    return replace(
        document,
        data=data,
        places=kept(document.places, written.places),
        value_places=kept(document.value_places, written.value_places),
    )
