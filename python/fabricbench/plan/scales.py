"""Fields of a plan that a search may change: what scale each is on, and how its values are read and written.

The scale follows from how the field is declared, so that a search takes the units that the plan takes.
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
from fabricbench.plan.document.validate import field_paths
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem, dotted
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import parse_ratio
from fabricbench.plan.loaded import LoadedPlan
from fabricbench.plan.meanings import declared_at, meanings, parts_of
from fabricbench.plan.sweep.fields import SWEPT_FIELDS
from fabricbench.units import UnitError, describe
from fabricbench.words import close_match_hint

_SIZE_BITS: Final = 8
"""Binary digits that a searched size keeps: 1208KB rather than 1236987B."""
_DIGITS: Final = 3
"""Decimal digits that every other searched quantity keeps."""


@dataclass(frozen=True)
class Scale:
    """What the numbers of a field are.

    Attributes:
        allowed: What may be written, in words.
        read: Reads what is written as a number of base units.
        write: Writes such a number so that a plan takes it.
        is_whole: Whether all are whole numbers.
        rounded: Returns the number near one that is easy to read.
    """

    allowed: str
    read: Callable[[str], float]
    write: Callable[[float], str]
    is_whole: bool = True
    rounded: Callable[[float], float] = lambda value: value


def scale_of(document: Document, field: str, place: Place) -> Scale | None:
    """Return the scale of a field of a plan; none if it takes no numbers.

    Args:
        document: The plan, the field within its reach; see `openings`.
        field: The dotted path.
        place: Where the user named it.

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
    return next((scale for each in declared if (scale := _scale(each))), None)


def openings(document: Document, fields: list[str]) -> list[str]:
    """Return overrides that write names out which stand for the mappings around some fields.

    `ecn: alibaba` says the same as `ecn: {preset: alibaba}`, and only the latter has room for `ecn.kmin`.
    """
    found: list[str] = []
    for field in fields:
        parts = field.split(".")
        for length in range(1, len(parts)):
            meant = _opened(document, parts[:length])
            if meant is not None:
                found.append(f"{'.'.join(parts[:length])}={json.dumps(meant)}")
                document = apply_overrides(document, found[-1:])
    return found


def value_of(loaded: "LoadedPlan", field: FieldPath) -> Any:
    """Return what a field of a plan comes to, in base units, defaults filled in; none if unknown."""
    from fabricbench.plan.load import field_of

    for written, value in _leaves(loaded.trials[-1].run_spec, ""):
        if field_of(written, loaded.plan) == field:
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
    """Return the mapping that stands behind a single value at a path; none where that is no such value."""
    try:
        path = resolved(document, ".".join(parts), Place(""))
    except PlanError:
        return None  # the check of the field says so
    value = document.value(path)
    if value is None or isinstance(value, dict | list):
        return None
    return next((meant for each in declared_at(path) for meant in meanings(each, value)), None)


def _scale(declared: FieldInfo) -> Scale | None:
    parts = list(parts_of(declared))
    for part in parts:
        if isinstance(part, WithJsonSchema):
            schema = part.json_schema or {}
            forms = schema.get("anyOf", [schema])
            known = (_SCALES.get(form.get("format") or form.get("type", "")) for form in forms)
            return next((scale for scale in known if scale), None)
    if any(isinstance(part, type) and issubclass(part, PlanModel) for part in parts):
        return None
    if bool not in parts and int in parts:
        return _COUNT
    return _NUMBER if float in parts else None


def _near(field: str) -> str:
    """Name the field that was meant: by its last name, or by a near path."""
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
