"""Sets fields of a plan to the values of a switch configuration where the plan has no value of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fabricbench.plan.devices.sonic_config.conversion import LOSSY_ALPHA, POOLS
from fabricbench.plan.document.document import Document
from fabricbench.plan.document.overrides import Written, put
from fabricbench.plan.errors import FieldPath, Place, PlanError

CONFIG: Final[FieldPath] = ("fabric", "switch", "config")
SWITCH: Final[FieldPath] = CONFIG[:2]
SETTINGS: Final[FieldPath] = ("fabric", "switch_settings")
_SECTIONS: Final[dict[str, Any]] = {"buffer": {}, "scheduling": "strict", "pfc": "off", "ecn": "off"}
"""Sections that each switch has for itself, with their defaults."""
_THRESHOLDS: Final = frozenset({"kmin", "kmax", "pmax", "reference_rate", "wred"})


def filled(document: Document, values: Mapping[str, tuple[Any, Place]]) -> Document:
    """Return a plan with values where it has none of its own.

    The pools of a file divide its buffer: a plan with a buffer of its own gets none of them.
    """
    unused_field = POOLS if _has_own_buffer(document) else LOSSY_ALPHA if POOLS in values else ""
    for name, (value, place) in values.items():
        path = tuple(name.split("."))
        if name == unused_field:
            continue
        document = opened(document, path, place)
        if is_open(document, path):
            document = put(document, list(path), Written(value, place, "{} {}"))
    return document if unused_field == POOLS else _without_headroom(document)


def _has_own_buffer(document: Document) -> bool:
    """Whether a plan sets the size or division of the buffer itself, or has no such buffer."""
    buffer = document.value((*SWITCH, "buffer"))
    buffer_fields = buffer if isinstance(buffer, dict) else {"size": buffer}
    has_own = any(buffer_fields.get(name) is not None for name in ("size", "lossy_alpha", "pools"))
    scheduled = document.value((*SWITCH, "scheduled"))
    link_layer = document.value(("fabric", "link_layer"))
    is_other = scheduled not in (None, "off", False) or link_layer not in (None, "ethernet")
    return has_own or is_other


def _without_headroom(document: Document) -> Document:
    """Return a plan whose pools have headroom only if the plan has PFC."""
    path = (*POOLS.split("."), "ingress")
    pools = document.value(path)
    if document.value((*SWITCH, "pfc")) not in (None, "off", False) or not isinstance(pools, list):
        return document
    pools_without_headroom = [
        {name: value for name, value in pool.items() if not name.startswith("headroom")} for pool in pools
    ]
    return put(document, list(path), Written(pools_without_headroom, document.place(path), "{} {}"))


def with_settings(
    base: Document, document: Document, own: Mapping[str, Mapping[str, tuple[Any, Place]]]
) -> Document:
    """Return a plan with the values of one file, and with the settings of each file for its switches.

    Args:
        base: The plan with the values of the first file.
        document: The plan without them.
        own: The values of each file, by its switches.
    """
    if document.value(SETTINGS) is not None:
        actual = "settings of switches beside a configuration of each"
        raise PlanError([document.problem(SETTINGS, actual, "one of them")])
    settings: list[dict[str, Any]] = []
    places: dict[FieldPath, Place] = {}
    for number, (switches, values) in enumerate(own.items()):
        filled_plan = filled(document, values)
        sections = {name: filled_plan.value((*SWITCH, name)) for name in _SECTIONS}
        written_sections = {name: value for name, value in sections.items() if value is not None}
        settings.append({"switches": [switches], **_SECTIONS, **written_sections})
        for field, (_, place) in values.items():
            path = tuple(field.split("."))
            if path[:2] == SWITCH:
                places |= {(number, *path[2:end]): place for end in range(3, len(path) + 1)}
    place = document.place(CONFIG)
    return put(base, list(map(str, SETTINGS)), Written(settings, place, "{} {}", places, places))


def opened(document: Document, path: tuple[str, ...], place: Place) -> Document:
    """Return a plan with a mapping in place of a short form: `pfc: on`, or `buffer: 32MB`."""
    parent_path = path[:3]
    value = document.value(parent_path)
    if len(path) < 4 or value is None or isinstance(value, dict):
        return document
    if parent_path[2] == "buffer" and isinstance(value, str | int):
        return put(
            document, list(parent_path), Written({"size": value}, document.place(parent_path), "{} {}")
        )
    if value in ("on", True) and parent_path[2] in ("pfc", "ecn"):
        return put(document, list(parent_path), Written({}, place, "{} {}"))
    return document


def is_open(document: Document, path: tuple[str, ...]) -> bool:
    """Whether a field is not written, and each of its parents is a mapping or not written."""
    if document.value(path) is not None:
        return False
    parents = [document.value(path[:end]) for end in range(1, len(path))]
    if not all(parent is None or isinstance(parent, dict) for parent in parents):
        return False
    has_preset = document.value(("fabric", "switch", "ecn", "preset")) is not None
    return not (has_preset and path[:3] == ("fabric", "switch", "ecn") and path[-1] in _THRESHOLDS)
