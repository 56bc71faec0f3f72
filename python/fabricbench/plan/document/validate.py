"""Validates plan documents by pydantic models; converts errors to problems: path, found, allowed, hint.

Also finds models, names and meanings of the fields at a path, for hints, overrides and sweeps.
"""

import re
from collections.abc import Iterator
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fabricbench.plan.document.document import Document
from fabricbench.plan.document.nodes import kind_name, shorten
from fabricbench.plan.errors import UNKNOWN_KEY, FieldPath, FieldProblem, PlanError, dotted
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.model import Plan
from fabricbench.words import close_match_hint, same_name

_Model = TypeVar("_Model", bound=PlanModel)

_TAGGED: Final[tuple[FieldPath, ...]] = (
    ("fabric", "topology"),
    ("fabric", "load_balancing"),
    ("sweep", "data_size"),
    ("sweep", "message_size"),
)
"""Fields that have several forms; pydantic puts the form's tag after them into the path of an error."""
_TAGGED_ITEMS: Final[tuple[FieldPath, ...]] = (("fabric", "failures"),)
"""Lists of items that have several forms; the tag follows the index in the list."""
_TAGGED_IN_ITEMS: Final[tuple[tuple[str, str], ...]] = (("jobs", "data_size"), ("jobs", "message_size"))
"""Lists of items, and fields of an item that have several forms."""

_LIMITS: Final = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "{} or more"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "{} or less"),
    "string_too_long": ("max_length", "at most {} characters"),
    "string_too_short": ("min_length", "at least {} characters"),
    "string_pattern_mismatch": ("pattern", 'letters, digits, ".", "_" and "-", a letter or digit first'),
    "literal_error": ("expected", "{}"),
    "too_short": ("min_length", "{} or more items"),
    "too_long": ("max_length", "at most {} items"),
}
_NAMES_ELSEWHERE: Final = {
    "gpus_per_host": "fabric.server: {gpus: 8}",
    "gpus_per_node": "fabric.server: {gpus: 8}",
    "gpus_per_server": "fabric.server: {gpus: 8}",
    "nics_per_host": "fabric.server: {nics: 8}",
    "nics_per_server": "fabric.server: {nics: 8}",
    "message_sizes": "sweep: {message_size: [64KB, 1MB]}",
    "sizes": "sweep: {data_size: [1MB, 1GB]}",
}
"""Names that other tools give to fields of a plan, and how a plan writes them."""
_MTU_MAX: Final = 4096
_MTU_HINT: Final = "payload of a RoCE packet; a port with an MTU of 9000 carries packets of 4096"
_QUOTED: Final = re.compile("'([^']*)'")
_WHERE_FROM: Final = re.compile(" (?:Default|Source):")
_KINDS: Final = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
    "dict_type": "a mapping of fields",
}


def read_model(document: Document, model: type[_Model]) -> _Model:
    """Read the fields of a document as a model.

    Raises:
        PlanError: With all their errors, by line.
    """
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise PlanError(document.problems(field_problems(error, model))) from None


def field_problems(error: ValidationError, model: type[PlanModel] = Plan) -> Iterator[FieldProblem]:
    """Yield a problem for each error of a validation of a plan or another model."""
    for details in error.errors(include_url=False):
        # A list whose items were refused is reported as too short as well.
        if details["type"] != "too_short" or not details["input"]:
            yield _field_problem(details, model)


def _field_problem(details: ErrorDetails, model: type[PlanModel]) -> FieldProblem:
    kind, loc, value = details["type"], details["loc"], details["input"]
    path, context = _document_path(loc), details.get("ctx", {})
    if kind == "missing":
        return FieldProblem(path, "nothing, and it has no default", "", meaning(loc, model))
    if kind == "extra_forbidden":
        return _unknown_key(loc, model)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _unknown_kind(path, value)
    if kind == "value_error":
        return _value_problem(path, value, context["error"])
    allowed, hint = _KINDS.get(kind, details["msg"]), ""
    if kind in _LIMITS:
        name, template = _LIMITS[kind]
        allowed = template.format(context[name]).replace("'", "")
    if kind == "literal_error":
        hint = close_match_hint(value, allowed.replace(" or ", ", ").split(", "))
        if path[-1] == "mtu" and isinstance(value, int) and value > _MTU_MAX:
            hint = _MTU_HINT
    if kind == "tuple_type" and loc[0] == "sweep" and isinstance(value, dict):
        hint = "name the field by its whole path, with a list: fabric.switch.ecn.kmin: [100KB, 400KB]"
    if kind == "string_type" and not isinstance(value, list | dict | NoneType):
        hint = f'put it in quotes: "{value}"'
    actual = f"{context['actual_length']} items" if kind == "too_long" else _shown(value)
    return FieldProblem(path, actual, allowed, hint)


def _value_problem(path: FieldPath, value: object, error: ValueError) -> FieldProblem:
    """Return the problem of a value that one of the plan's own parsers refused."""
    actual = getattr(error, "found", _shown(value))
    return FieldProblem(path, actual, getattr(error, "allowed", str(error)), getattr(error, "hint", ""))


def _unknown_key(loc: FieldPath, model: type[PlanModel]) -> FieldProblem:
    """Describe a key that the mapping does not have."""
    key = str(loc[-1])
    names = field_names(models_at(loc[:-1], model)[0])
    hint = f"a plan has `{_NAMES_ELSEWHERE[key]}`" if key in _NAMES_ELSEWHERE else ""
    hint = hint or close_match_hint(key, names) or _home_hint(key, model)
    return FieldProblem(_document_path(loc), UNKNOWN_KEY, ", ".join(names), hint)


def _home_hint(key: str, model: type[PlanModel]) -> str:
    """Return a hint to the mappings that have a key; empty if there are none."""
    top = f"the top of the {'plan' if model is Plan else 'file'}"
    homes = [dotted(path[:-1]) or top for path in field_paths(model) if path[-1] == key]
    return f"`{key}` belongs to {' or '.join(sorted(set(homes)))}" if homes else ""


def with_canonical_names(data: dict[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return data with refused names of another spelling replaced by those of the fields; itself if none."""
    for details in error.errors(include_url=False):
        path, value = _document_path(details["loc"]), details["input"]
        names: list[str] = []
        if details["type"] == "literal_error":
            names = _QUOTED.findall(details["ctx"]["expected"])
        elif details["type"] == "union_tag_invalid" and isinstance(value, dict):
            path, value, names = (*path, "kind"), value.get("kind"), _kinds_at(path)
        matching_name = same_name(value, names)
        if matching_name is not None and matching_name != value:
            data = _replaced(data, path, matching_name)
    return data


def _replaced(node: Any, path: FieldPath, value: object) -> Any:
    """Return a copy of nested mappings and lists with another value at a path."""
    if not path:
        return value
    copy: Any = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = _replaced(copy[path[0]], path[1:], value)
    return copy


def _kinds_at(path: FieldPath) -> list[str]:
    return [get_args(model.model_fields["kind"].annotation)[0] for model in models_at(path)]


def _unknown_kind(path: FieldPath, value: Any) -> FieldProblem:
    """Describe a mapping whose `kind` is missing or unknown."""
    kinds = _kinds_at(path)
    allowed = ", ".join(kinds)
    if not isinstance(value, dict):
        return FieldProblem(path, _shown(value), f"a mapping whose kind is {allowed}")
    kind = value.get("kind")
    actual = _shown(kind) if "kind" in value else "nothing"
    return FieldProblem((*path, "kind"), actual, allowed, close_match_hint(kind, kinds))


def _document_path(loc: FieldPath) -> FieldPath:
    """Return the path in the document, without the tags of forms."""
    for tagged in _TAGGED:
        if loc[: len(tagged)] == tagged:
            return tagged + loc[len(tagged) + 1 :]
    for tagged in _TAGGED_ITEMS:
        item = len(tagged) + 1
        if loc[: len(tagged)] == tagged:
            return loc[:item] + loc[item + 1 :]
    for items, name in _TAGGED_IN_ITEMS:
        if loc[:1] == (items,) and loc[2:3] == (name,):
            return loc[:3] + loc[4:]
    return loc


def meaning(loc: FieldPath, model: type[PlanModel] = Plan) -> str:
    """Return the description of a field as a hint; empty if there is none."""
    fields = (
        named_field for owner in models_at(loc[:-1], model) for named_field in owner.model_fields.items()
    )
    descriptions = (field.description or "" for name, field in fields if (field.alias or name) == loc[-1])
    description = _WHERE_FROM.split(next(descriptions, ""))[0]
    return f"`{loc[-1]}`: {description}" if description else ""


def field_names(model: type[PlanModel]) -> list[str]:
    """Return the names of a model's fields as a plan has them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def field_paths(model: type[PlanModel] = Plan, item: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every field that a plan can have, with `item` after a list of mappings."""
    for name, field in model.model_fields.items():
        key = (field.alias or name,)
        yield key
        prefix = key + item if get_origin(field.annotation) is tuple else key
        for child in _models_in(field):
            yield from (prefix + path for path in field_paths(child, item))


def models_at(loc: FieldPath, model: type[PlanModel] = Plan) -> list[type[PlanModel]]:
    """Return the possible models at a path: several only before the kind of a topology is known."""
    models: list[type[PlanModel]] = [model]
    for part in loc:
        fields = [
            field
            for model in models
            for name, field in model.model_fields.items()
            if (field.alias or name) == part
        ]
        if fields:
            models = _models_in(fields[0])
        elif len(models) > 1 and isinstance(part, str):
            models = [model for model in models if get_args(model.model_fields["kind"].annotation) == (part,)]
    return models


def _models_in(annotation: Any) -> list[type[PlanModel]]:
    """Return the models that a field's type mentions."""
    annotation = getattr(annotation, "annotation", annotation)
    if isinstance(annotation, type) and issubclass(annotation, PlanModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _shown(value: object) -> str:
    """Show a single value; name the kind of anything else."""
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, bool):
        return str(value).lower()
    if value == []:
        return "an empty list"
    if isinstance(value, int | float):
        return shorten(str(value)).strip('"')
    return kind_name(value)
