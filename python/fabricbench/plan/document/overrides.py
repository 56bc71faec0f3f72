"""Applies overrides, which change fields of a plan: `-s transport.ack_every=4`, or those of a variant."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fabricbench.plan.document.document import Document, read_value
from fabricbench.plan.document.nodes import DEPTH_MAX, character_text, first_no_text, kind_name, shorten
from fabricbench.plan.document.short_names import named_mapping
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted

_OWN_KEYS_OF_SWEEP: Final = ("data_size", "message_size", "zip")
_FORM = "FIELD=VALUE, such as transport.ack_every=4 or jobs.0.ranks=0-3"


@dataclass(frozen=True)
class Written:
    """A value that replaces a field, and its location.

    Attributes:
        value: The value.
        place: Location of the override.
        example: Form of an override of a whole mapping, with `{}` for its field and a key in it.
        places: Location of the keys within the value, by their path below it; others are at `place`.
        value_places: The same for their values.
    """

    value: Any
    place: Place
    example: str
    places: Mapping[FieldPath, Place] = field(default_factory=dict)
    value_places: Mapping[FieldPath, Place] = field(default_factory=dict)


def apply_overrides(document: Document, overrides: Iterable[str]) -> Document:
    """Return the document with all overrides applied in order.

    A field is named by its dotted path, with list items by their number from 0 or by their name; the value is
    YAML. Fields that are not written in the plan are added, so that every field with a default can be set.
    Problems with an overridden value have the override as their location.

    Raises:
        PlanError: An override has not the form FIELD=VALUE, or names a list item that does not exist or a
            field inside a single value.
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
    if bad_character := first_no_text(override):
        raise PlanError([Problem(Place(source), "", character_text(bad_character), "text")])
    name, equals, text = override.partition("=")
    parts = name.strip().split(".")
    if not equals or not all(parts):
        raise PlanError([Problem(Place(source), "", "no field and value", _FORM)])
    written = Written(read_value(text, source), Place(source), "-s '{}={{{}: ...}}'")
    return put(document, parts, written)


def put(document: Document, parts: list[str], written: Written) -> Document:
    """Return the document with the field at a dotted path replaced.

    Raises:
        PlanError: The path names a list item that does not exist, or a field inside a single value, or is
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
        PlanError: It names a list item that does not exist or a field inside a single value; at `place`.
    """
    return _replaced(document.data, name.split("."), Written(None, place, "{}: {{{}: ...}}"))[1]


def _replaced(
    node: Any, parts: list[str], written: Written, parent_path: FieldPath = ()
) -> tuple[Any, FieldPath]:
    """Return a copy of `node` with the value at `parts` replaced, and the path of the value."""
    if not parts:
        return written.value, parent_path
    if isinstance(node, list):
        index = _index(node, parts[0], written, parent_path)
        child, path = _replaced(node[index], parts[1:], written, (*parent_path, index))
        return [*node[:index], child, *node[index + 1 :]], path
    if isinstance(node, str) and parent_path:
        full_form = named_mapping(parent_path, node)
        node = node if full_form is None else full_form
    if node is not None and not isinstance(node, dict):
        raise PlanError([_inside_single_value(node, parts, written, parent_path)])
    mapping: dict[str, Any] = node or {}
    key, *rest = _dotted_key(mapping, parts) if _has_dotted_keys(parent_path, parts) else parts
    child, path = _replaced(mapping.get(key), rest, written, (*parent_path, key))
    return {**mapping, key: child}, path


def _has_dotted_keys(path: FieldPath, parts: list[str]) -> bool:
    """Whether keys at a path are dotted paths, like the fields that a variant sets or a sweep has."""
    if path == ("sweep",):
        return parts[0] not in _OWN_KEYS_OF_SWEEP
    return path == ("sweep", "zip") or (len(path) == 3 and path[0] == "variants" and path[2] == "set")


def _dotted_key(mapping: Mapping[str, Any], parts: list[str]) -> list[str]:
    """Join the first parts to a dotted key: the longest existing one, or else all parts."""
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
    """Return the problem of an override of a field inside text or a number."""
    actual = f"the field {shorten(parts[0])} inside {shorten(str(node))}, which is {kind_name(node)}"
    hint = f"give the whole mapping: {written.example.format(dotted(path), parts[0])}"
    return Problem(written.place, dotted(path), actual, "fields inside mappings", hint)


def _moved(document: Document, data: dict[str, Any], path: FieldPath, written: Written) -> Document:
    """Return the document with new data, and with the locations of the new value at `path`."""

    def merged(
        old_locations: Mapping[FieldPath, Place], value_locations: Mapping[FieldPath, Place]
    ) -> dict[FieldPath, Place]:
        outside = {other: location for other, location in old_locations.items() if other[: len(path)] != path}
        # Parent mappings that the override created have its location, too.
        created = {path[:end] for end in range(1, len(path)) if path[:end] not in document.places}
        inside = {(*path, *sub_path): location for sub_path, location in value_locations.items()}
        return outside | dict.fromkeys(created | {path}, written.place) | inside

    return replace(
        document,
        data=data,
        places=merged(document.places, written.places),
        value_places=merged(document.value_places, written.value_places),
    )
