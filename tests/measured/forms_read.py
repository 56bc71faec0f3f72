"""Readers of the forms in the data of tests: outputs of benchmarks from text, counters from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabricbench.importing import SwitchCounters, switch_counters
from fabricbench.measured.model import Reading, UserFacts
from fabricbench.measured.reading import read


def of(text: str, given: UserFacts | None = None) -> Reading:
    return read("f", text.encode(), user_facts=given)


def counters_in(folder: Path, name: str, before: str = "") -> SwitchCounters:
    (found,) = switch_counters([folder / name], [folder / before] if before else [])
    return found


def values(found: SwitchCounters, part: str) -> dict[str, Any]:
    """Return the values other than 0 of the counters whose vendor name contains `part`, by place."""
    return {each.place: each.value for each in found.changes if part in each.vendor_name and each.value}
