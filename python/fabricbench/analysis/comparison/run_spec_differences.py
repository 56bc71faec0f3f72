"""Lists the fields that differ between RunSpecs (the parameters of trials for the backends), with values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.plan.errors import dotted
from fabricbench.plan.fields.spec_fields import field_text, plan_parts

_MISSING: Any = object()
ABSENT = "-"
"""Text for a field that a run spec does not have because its parent is of another kind."""


@dataclass(frozen=True)
class Difference:
    """A field that is not the same in all run specs.

    Attributes:
        field: Its dotted path, with the names of a plan.
        values: Its value in each run spec, with its unit; `ABSENT` where it has none.
    """

    field: str
    values: tuple[str, ...]


def differences(specs: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return the fields that differ between run specs, in their order."""
    return list(_differences(tuple(specs), ()))


def _differences(values: tuple[Any, ...], path: tuple[str, ...]) -> Iterator[Difference]:
    """Yield the differences below a field."""
    if all(value == values[0] for value in values[1:]):
        return
    parts = [_parts(value) for value in values]
    mappings = [mapping for mapping in parts if mapping is not None]
    if len(mappings) < len(parts):
        yield _difference(values, path)
        return
    names = dict.fromkeys(name for mapping in mappings for name in mapping)
    if len({str(mapping.get("kind")) for mapping in mappings}) > 1:
        # Fields of one kind are not comparable with those of another one.
        names = {
            name: None for name in names if name != "kind" and all(name in mapping for mapping in mappings)
        }
        yield Difference(dotted(plan_parts(path)), tuple(_kind_text(mapping, names) for mapping in mappings))
    for name in names:
        yield from _differences(tuple(mapping.get(name, _MISSING) for mapping in mappings), (*path, name))


def _kind_text(value: Mapping[str, Any], common: Mapping[str, None]) -> str:
    """Return the kind of a mapping, with the fields that the others do not have."""
    own = {name: field_value for name, field_value in value.items() if name not in common and name != "kind"}
    text = ", ".join(
        f"{dotted(plan_parts([name]))} {field_text(name, field_value)}" for name, field_value in own.items()
    )
    return f"{value.get('kind')}: {text}" if text else str(value.get("kind"))


def _parts(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a mapping, or the items of a list by their names; none for any other value."""
    if isinstance(value, Mapping):
        return value
    if (
        isinstance(value, list)
        and value
        and all(isinstance(item, Mapping) and "name" in item for item in value)
    ):
        return {str(item["name"]): item for item in value}
    return None


def _difference(values: tuple[Any, ...], path: tuple[str, ...]) -> Difference:
    texts = (ABSENT if value is _MISSING else field_text(path[-1], value) for value in values)
    return Difference(dotted(plan_parts(path)), tuple(texts))
