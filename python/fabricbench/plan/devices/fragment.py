"""`Fragment`: fields of a plan read from a device's configuration file, and their formatting as text.

Each field has its origin in the file; the fragment lists warnings, and settings that the model leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PLAN_HOLDS_ONE = "the plan has one value for all ports"
NOT_IN_FILE = "not in the file"
"""Origin of a field that the file does not have."""
_SHOWN = 3


@dataclass(frozen=True)
class Value:
    """A field of a plan.

    Attributes:
        field: Its dotted path.
        value: Its value in a plan.
        origin: Its origin, by the names of the file.
    """

    field: str
    value: Any
    origin: str


@dataclass(frozen=True)
class Fragment:
    """Fields of a plan from a file, with warnings and omissions.

    Attributes:
        format: Format of the file.
        source: Its name.
        read: Summary of its content, in words.
        values: The fields.
        warnings: Differences between the plan and the file, so that results may differ.
        left_out: Settings of the file that are not modelled.
        instead: Fields for a plan without some of those: one buffer in place of pools.
    """

    format: str
    source: str
    read: tuple[str, ...]
    values: tuple[Value, ...]
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    instead: tuple[Value, ...] = ()

    @property
    def plan(self) -> dict[str, Any]:
        """The fields in the form of a plan: nested mappings."""
        return nested((value.field, value.value) for value in self.values)

    @property
    def record(self) -> dict[str, Any]:
        """Its values as `fabric.switch.config` of a plan has them, which then needs no file."""
        return {
            "file": self.source,
            "values": {value.field: value.value for value in (*self.values, *self.instead)},
        }

    @property
    def content(self) -> dict[str, Any]:
        """Its JSON object."""
        return {
            "format": self.format,
            "source": self.source,
            "read": list(self.read),
            "values": [vars(value) for value in self.values],
            "plan": self.plan,
            "warnings": list(self.warnings),
            "not_modelled": list(self.left_out),
        }


def nested(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return fields by their dotted paths as nested mappings."""
    plan: dict[str, Any] = {}
    for field, value in values:
        *parents, name = field.split(".")
        node = plan
        for part in parents:
            node = node.setdefault(part, {})
        node[name] = value
    return plan


def names_text(names: Sequence[str]) -> str:
    """Return the names of ports as text, only the first of many."""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more ports"


def value_text(value: object) -> str:
    """Return the value of a field as text on one line."""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value).replace('"', "")
    return str(value)
