"""Converts fields of a run spec to those of a plan: their paths, and their values with units."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fabricbench import units
from fabricbench.plan._run_spec import OpenLoopWork, StorageWork
from fabricbench.plan.errors import FieldPath
from fabricbench.plan.model import Plan
from fabricbench.words import runs_of

_NAMES: Final = {
    "cable": "length",
    "message_bytes": "message_size",
    "data_bytes": "data_size",
    "block_bytes": "data_size",
    "round_bytes": "data_size",
    "confirm_intervals": "confirm",
    "control_bytes": "control_size",
    "write_bytes": "write_size",
    "lower_ppm": "lower_by",
    "raise_ppm": "raise_by",
    "scale_max_ppm": "ceiling",
    "scale_min_ppm": "floor",
}
"""Fields that have another name in a plan, beyond the unit that a spec has in it."""
_SECTIONS: Final = {
    **dict.fromkeys(OpenLoopWork.__annotations__, "arrivals"),
    **dict.fromkeys(StorageWork.__annotations__, "storage"),
    "kind": "",
    "block_bytes": "",
    "pattern": "",
}
"""Section of a plan's job that has a field of its work, where it is not the job itself."""
_UNIT_SUFFIX: Final = re.compile(r"_(ps|bytes|bps|packets|segments|ppm|2e20)$")
_PPM: Final = 10**6
_ONE_2E20: Final = 1 << 20
_FORMATS: Final[Mapping[str, Callable[[int], str]]] = {
    "_bps": units.format_rate,
    "_ps": units.format_time,
    "_bytes": units.format_size,
    "_ppm": units.format_share,
}
_LIST_TEXT_MAX: Final = 40
_MOST_OF_A_TYPE: Final = ((1 << 32) - 1, (1 << 64) - 1)
"""Limits that are only those of a number's type in a run spec."""


def plan_path(spec_field: str) -> FieldPath:
    """Return the plan's field for a field of the run spec, such as `jobs[0].hosts[3]`."""
    parts = re.findall(r"\w+", spec_field)
    return plan_parts([int(part) if part.isdecimal() else part for part in parts])


def plan_parts(parts: Sequence[str | int]) -> FieldPath:
    """Return the plan's field for a path in the run spec."""
    if len(parts) > 2 and (parts[0], parts[2]) == ("jobs", "work"):
        parts = [*parts[:2], *_work_parts(parts[3:])]
    path = tuple(_plan_name(part) if isinstance(part, str) else part for part in parts)
    if path[:1] in (("jobs",), ("tcp",)):
        path = tuple("ranks" if part == "hosts" else part for part in path)
    return path[:-1] if path[-2:] == ("length", "delay") else path


def _work_parts(parts: Sequence[str | int]) -> Iterator[str | int]:
    """Yield the path in a plan's job of a field of its work.

    A plan has no names for the kind of work, and for the choice between the duration of storage and a number
    of operations.
    """
    if section := _SECTIONS.get(str(parts[0])) if parts else "":
        yield section
    yield from (part for part in parts if part not in ("kind", "pattern", "length"))


def _plan_name(spec_name: str) -> str:
    return _NAMES.get(spec_name, _UNIT_SUFFIX.sub("", spec_name))


def field_text(name: str, value: Any) -> str:
    """Format a value of a run spec as in a plan, on one line.

    Args:
        name: Name of the field, whose suffix is the unit of a number.
        value: A JSON value.
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return _mapping_text(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _list_text(name, value)
    unit = next((suffix for suffix in _FORMATS if name.endswith(suffix)), None)
    return _FORMATS[unit](value) if unit and isinstance(value, int) else str(value)


def number_text(name: str, number: int) -> str:
    """Format a number of a run spec as in a plan: parts per million as a ratio."""
    scale = _PPM if name.endswith("_ppm") else _ONE_2E20 if name.endswith("_2e20") else None
    return field_text(name, number) if scale is None else f"{number / scale:,.6f}".rstrip("0").rstrip(".")


def range_text(name: str, limits: tuple[int, int]) -> str:
    """Format the limits of a number of a run spec: the least and the most."""
    least, most = (number_text(name, limit) for limit in limits)
    if limits[1] in _MOST_OF_A_TYPE:
        return f"{least} or more"
    return f"{least} to {most}" if limits[0] else f"at most {most}"


def _mapping_text(value: Mapping[str, Any]) -> str:
    """Format a mapping: only its kind if it has one, or else its fields."""
    if "kind" in value:
        return str(value["kind"])
    if set(value) == {"delay_ps"}:
        return field_text("delay_ps", value["delay_ps"])
    return ", ".join(
        f"{_plan_name(name)} {field_text(name, field_value)}" for name, field_value in value.items()
    )


def _list_text(name: str, values: Sequence[Any]) -> str:
    """Format a list: numbers in ranges, other values item by item; cut, with its length, if it is long."""
    if not values:
        return "none"
    if all(type(value) is int for value in values):
        text = _ranges(values)
    else:
        text = "; ".join(field_text(name, value) for value in values)
    return text if len(text) <= _LIST_TEXT_MAX else f"{len(values):,} of {text[: _LIST_TEXT_MAX - 3]}..."


def _ranges(values: Sequence[int]) -> str:
    """Format numbers as a plan lists ranks: `0-3,8`."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs_of(values))


def field_of(spec_field: str, plan: Plan) -> FieldPath:
    """Return the field of the plan for a field of its run spec."""
    path, rate_control = plan_path(spec_field), plan.transport.rate_control
    if path[:2] == ("fabric", "failures") and path[2:]:
        return (*path[:2], plan.fabric.failure_of(int(path[2])), *path[3:])
    if path[:2] == ("transport", "rate_control") and rate_control is not None:
        return (*path[:2], *rate_control.kinds, *path[2:]) if path[2:] else path
    return (*path[:2], "infiniband", *path[2:]) if path[:2] == ("fabric", "link_layer") else path
