"""Makes a plan that runs of the fields of a device's file, with a fabric, a job and sizes if it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricbench.plan.devices.fragment import NOT_IN_FILE, Fragment, Value, nested, value_text
from fabricbench.plan.document.yaml_text import yaml_text
from fabricbench.words import one_line

_TITLE_LENGTH_MAX: Final = 80
_TOPOLOGY: Final = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 8, "spines": 8}
_SIZES: Final = ["1MB", "16MB", "256MB"]


@dataclass(frozen=True)
class WholePlan:
    """A plan made of a device's file.

    Attributes:
        text: Its YAML.
        assumed: Its fields that are not in the file.
    """

    text: str
    assumed: tuple[Value, ...]


def whole_plan(fragment: Fragment) -> WholePlan:
    """Return the plan with the fields of a file, and with a fabric, a job and sizes where it has none."""
    assumed = [value for value in fragment.values if value.origin == NOT_IN_FILE]
    added = [*_added(fragment)]
    values = [*fragment.values, *added]
    parts = nested((value.field, value.value) for value in values)
    stem = Path(fragment.source).name.partition(".")[0].lower()
    head = {
        "fabricbench": 1,
        "name": re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:_TITLE_LENGTH_MAX] or "imported",
        "title": one_line(f"{fragment.format} {Path(fragment.source).name}", _TITLE_LENGTH_MAX),
    }
    order = ("fabric", "transport", "jobs", "sweep")
    body = {name: parts[name] for name in order if name in parts}
    rest = {name: value for name, value in parts.items() if name not in body}
    return WholePlan(yaml_text(head | body | rest, flow_style=None), (*assumed, *added))


def _added(fragment: Fragment) -> Iterator[Value]:
    fields = fragment.plan
    topology = fields.get("fabric", {}).get("topology")
    if topology is None:
        yield Value("fabric.topology", _TOPOLOGY, NOT_IN_FILE)
    if "jobs" not in fields:
        yield Value("jobs", [_job(topology or _TOPOLOGY)], NOT_IN_FILE)
    if "sweep" not in fields:
        yield Value("sweep.data_size", _SIZES, NOT_IN_FILE)


def _job(topology: dict[str, Any]) -> dict[str, Any]:
    """Return a job over all ranks: an all-reduce on rails, as NCCL runs it, or an all-to-all."""
    collective = "all-reduce" if "rails" in topology else "all-to-all"
    return {"name": collective, "collective": collective}


def assumed_text(value: Value) -> str:
    """Return an assumed field as text on one line."""
    return f"{value.field}: {value_text(value.value)}"
