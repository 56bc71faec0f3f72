"""Mappings for which a plan may have a name: `ecn: sonic` is `ecn: {preset: sonic}`; types within a field."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from fabricbench.plan.document.validate import models_at
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.fields.base import Named, ShortModel


def named_mapping(path: FieldPath, name: object) -> dict[str, Any] | None:
    """Return the mapping that a name at a path stands for; none if it stands for none."""
    if not isinstance(name, str):
        return None
    for declared in declared_at(path):
        for part in parts_of(declared):
            if isinstance(part, Named) and isinstance(part.names.get(name), dict):
                return dict(part.names[name])
    return None


def may_be_named(path: FieldPath) -> bool:
    """Check whether the mapping at a path may be written as a name, and so is one choice as a whole."""
    parts = (part for declared in declared_at(path) for part in parts_of(declared))
    return any(isinstance(part, Named) for part in parts)


def declared_at(path: FieldPath) -> list[FieldInfo]:
    """Return what is declared of the field at a path, by each model that may stand around it."""
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
        for each in get_args(annotation):
            yield from _types_in(each)


def meanings(declared: FieldInfo, value: object) -> Iterator[dict[str, Any]]:
    """Yield the mappings that a value of a field stands for: a name, or its main field."""
    for part in parts_of(declared):
        if isinstance(part, Named) and isinstance(value, str) and isinstance(part.names.get(value), dict):
            yield part.names[value]
        if isinstance(part, type) and issubclass(part, ShortModel):
            yield {part.short_key: value}
