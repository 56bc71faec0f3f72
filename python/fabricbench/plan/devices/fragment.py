"""What comes of a device's configuration: fields of a plan, and what no field stands for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PLAN_HOLDS_ONE = "the plan has one value for all ports"
_SHOWN = 3


@dataclass(frozen=True)
class Value:
    """A field of a plan.

    Attributes:
        field: Its dotted path.
        value: What a plan has there.
        origin: What it comes from, as the file names it.
    """

    field: str
    value: Any
    origin: str


@dataclass(frozen=True)
class Fragment:
    """What a file gives to a plan.

    Attributes:
        format: What kind of file it is.
        source: Its name.
        read: What was read of it, in words.
        values: The fields.
        warnings: What a plan has in another way than the file, so that results may differ.
        left_out: What of the file is not modelled.
        instead: Fields for a plan that does without some of those: one buffer in place of pools.
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
        """The fields as a plan has them: mappings in mappings."""
        return nested((each.field, each.value) for each in self.values)

    def told(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "format": self.format,
            "source": self.source,
            "read": list(self.read),
            "values": [vars(each) for each in self.values],
            "plan": self.plan,
            "warnings": list(self.warnings),
            "not_modelled": list(self.left_out),
        }


def nested(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return fields by their dotted paths as mappings in mappings."""
    plan: dict[str, Any] = {}
    for field, value in values:
        *around, name = field.split(".")
        node = plan
        for part in around:
            node = node.setdefault(part, {})
        node[name] = value
    return plan


def names_text(names: Sequence[str]) -> str:
    """Write the names of ports, the first of many."""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more ports"


def value_text(value: object) -> str:
    """Write the value of a field on one line."""
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value).replace('"', "")
    return str(value)
