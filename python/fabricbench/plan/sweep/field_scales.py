"""Scales of the fields of a plan that a search may change: they read, write and round values.

The scale follows from the declaration of the field, so that a search has the units of the plan.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import WithJsonSchema
from pydantic.fields import FieldInfo

from fabricbench import units
from fabricbench.plan.document.document import Document
from fabricbench.plan.document.overrides import apply_overrides, resolved
from fabricbench.plan.document.short_names import declared_at, meanings, parts_of
from fabricbench.plan.document.validate import field_paths
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import parse_ratio
from fabricbench.plan.fields.spec_fields import field_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.sweep.fields import SWEPT_FIELDS
from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

_SIZE_BITS: Final = 8
"""Binary digits of a searched size: 1208KB rather than 1236987B."""
_DIGITS: Final = 3
"""Decimal digits of every other searched quantity."""


@dataclass(frozen=True)
class Scale:
    """Scale of the values of a field.

    Attributes:
        allowed: The allowed text, in words.
        read: Reads text as a number of base units.
        write: Returns such a number as text for a plan.
        is_whole: Whether all are whole numbers.
        rounded: Rounds a number to one that is easy to read.
    """

    allowed: str
    read: Callable[[str], float]
    write: Callable[[float], str]
    is_whole: bool = True
    rounded: Callable[[float], float] = lambda value: value


def scale_of(document: Document, field: str, place: Place) -> Scale | None:
    """Return the scale of a field of a plan; none if it takes no numbers.

    Args:
        document: The plan, with the mapping of the field; see `openings`.
        field: The dotted path.
        place: Location of the field's name.

    Raises:
        PlanError: There is no such field, or no search can change it.
    """
    path = resolved(document, field, place)
    if path[0] not in SWEPT_FIELDS:
        allowed = f"a field in {', '.join(SWEPT_FIELDS)}"
        raise PlanError([Problem(place, field, "a field that no search can change", allowed, _near(field))])
    declared = declared_at(path)
    if not declared:
        raise PlanError([Problem(place, field, "no such field", "a field of a plan", _near(field))])
    return next((scale for field_info in declared if (scale := _scale(field_info))), None)


def openings(document: Document, fields: list[str]) -> list[str]:
    """Return overrides that replace short forms around some fields by their mappings.

    `ecn: alibaba` is short for `ecn: {preset: alibaba}`, and only the latter can have `ecn.kmin`.
    """
    overrides: list[str] = []
    for field in fields:
        parts = field.split(".")
        for length in range(1, len(parts)):
            full_form = _opened(document, parts[:length])
            if full_form is not None:
                overrides.append(f"{'.'.join(parts[:length])}={json.dumps(full_form)}")
                document = apply_overrides(document, overrides[-1:])
    return overrides


def value_of(loaded: "LoadedPlan", field: FieldPath) -> Any:
    """Return the value of a field of a plan in base units, defaults included; none if unknown."""
    for spec_field, value in _leaves(loaded.trials[-1].run_spec, ""):
        if field_of(spec_field, loaded.plan) == field:
            return value
    return None


def _leaves(node: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the single values of a run spec, each with its path; ratios as numbers."""
    if isinstance(node, dict) and set(node) != {"numerator", "denominator"}:
        for key, child in node.items():
            yield from _leaves(child, f"{name}.{key}" if name else key)
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _leaves(child, f"{name}[{index}]")
    elif isinstance(node, dict):
        yield name, node["numerator"] / node["denominator"]
    else:
        yield name, node / (1 << 20) if name.endswith("_2e20") else node


def _opened(document: Document, parts: list[str]) -> Any:
    """Return the mapping of the short form at a path; none if there is no short form."""
    try:
        path = resolved(document, ".".join(parts), Place(""))
    except PlanError:
        return None  # the check of the field reports it
    value = document.value(path)
    if value is None or isinstance(value, dict | list):
        return None
    return next(
        (full_form for declared in declared_at(path) for full_form in meanings(declared, value)), None
    )


def _scale(declared: FieldInfo) -> Scale | None:
    parts = list(parts_of(declared))
    for part in parts:
        if isinstance(part, WithJsonSchema):
            schema = part.json_schema or {}
            forms = schema.get("anyOf", [schema])
            format_scales = (_SCALES.get(form.get("format") or form.get("type", "")) for form in forms)
            return next((scale for scale in format_scales if scale), None)
    if any(isinstance(part, type) and issubclass(part, PlanModel) for part in parts):
        return None
    if bool not in parts and int in parts:
        return _COUNT
    return _NUMBER if float in parts else None


def _near(field: str) -> str:
    """Return a hint to the intended field: by its last name, or by a near path."""
    paths = sorted({dotted(path) for path in field_paths() if path[0] in SWEPT_FIELDS})
    last = field.rpartition(".")[2]
    homes = [path for path in paths if path.rpartition(".")[2] == last]
    if homes:
        return f"did you mean {' or '.join(f'`{home}`' for home in homes[:4])}?"
    return close_match_hint(field, paths)


def _significant(value: float) -> float:
    """Round to `_DIGITS` decimal digits."""
    return float(f"{value:.{_DIGITS - 1}e}")


def _whole_significant(value: float) -> float:
    return round(_significant(value))


def _binary(value: float) -> float:
    """Round a size to `_SIZE_BITS` binary digits."""
    shift = max(0, int(value).bit_length() - _SIZE_BITS)
    return round(value / (1 << shift)) << shift


def _quantity(
    dimension: units.Dimension, write: Callable[[int], str], rounded: Callable[[float], float]
) -> Scale:
    return Scale(
        dimension.allowed,
        lambda text: units.parse(int(text) if text.isdecimal() else text, dimension),
        lambda value: write(int(value)),
        rounded=rounded,
    )


def _read_count(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        raise UnitError(describe(text), "a whole number") from None


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UnitError(describe(text), "a number") from None


def _write_number(value: float) -> str:
    return f"{value:.7g}"


_COUNT: Final = Scale("a whole number", _read_count, lambda value: str(int(value)))
_NUMBER: Final = Scale("a number", _read_number, _write_number, is_whole=False, rounded=_significant)
_SCALES: Final = {
    "size": _quantity(units.SIZE, units.format_size, _binary),
    "rate": _quantity(units.RATE, units.format_rate, _whole_significant),
    "time": _quantity(units.TIME, units.format_time, _whole_significant),
    "length": _quantity(units.LENGTH, units.format_length, _whole_significant),
    "propagation delay": _quantity(units.PROPAGATION, units.format_propagation, _whole_significant),
    "share": _quantity(units.SHARE, units.format_share, _whole_significant),
    "ratio": Scale(
        'a ratio such as 2, 0.25 or "1/8"',
        lambda text: float(parse_ratio(text)),
        _write_number,
        is_whole=False,
        rounded=_significant,
    ),
    "number": Scale("a number", _read_number, _write_number, is_whole=False, rounded=_significant),
}
"""The scale of each format that the JSON Schema of a plan names."""
