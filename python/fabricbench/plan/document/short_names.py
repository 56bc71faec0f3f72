"""Expands short names in a plan (`ecn: sonic` is `ecn: {preset: sonic}`); finds the types of a field."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from fabricbench.plan.document.validate import models_at
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.fields.base import Named, ShortModel


def named_mapping(path: FieldPath, name: object) -> dict[str, Any] | None:
    """Return the mapping of a short name at a path; none if it has none."""
    if not isinstance(name, str):
        return None
    for declared in declared_at(path):
        for part in parts_of(declared):
            if isinstance(part, Named) and isinstance(part.names.get(name), dict):
                return dict(part.names[name])
    return None


def may_be_named(path: FieldPath) -> bool:
    """Whether the mapping at a path may be written as a short name, and so is a single choice."""
    parts = (part for declared in declared_at(path) for part in parts_of(declared))
    return any(isinstance(part, Named) for part in parts)


def declared_at(path: FieldPath) -> list[FieldInfo]:
    """Return the declarations of the field at a path, one of each possible model of its parent."""
    return [
        field
        for model in models_at(path[:-1])
        for name, field in model.model_fields.items()
        if (field.alias or name) == path[-1]
    ]


def parts_of(field: FieldInfo) -> Iterator[Any]:
    """Yield the annotations of a field, then each type within its type with its own annotations."""
    yield from field.metadata
    yield from _types_in(field.annotation)


def _types_in(annotation: Any) -> Iterator[Any]:
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    if get_origin(annotation) is not Literal:
        for argument in get_args(annotation):
            yield from _types_in(argument)


def meanings(declared: FieldInfo, value: object) -> Iterator[dict[str, Any]]:
    """Yield the mappings of a short value of a field: a name, or its main field."""
    for part in parts_of(declared):
        if isinstance(part, Named) and isinstance(value, str) and isinstance(part.names.get(value), dict):
            yield part.names[value]
        if isinstance(part, type) and issubclass(part, ShortModel):
            yield {part.short_key: value}
