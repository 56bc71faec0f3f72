"""Definitions of device counters by vendor name (counted event, unit, misreadings), and their look-up.

They are defined only in `counters.csv` next to this module. Counters of one neutral name have a similar
meaning, but may count different things: one vendor counts bursts of losses, another packets; one the packets
that it marked, another those that it selected. `counts` is the counted thing, `meaning` and `caveat` describe
it in words.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_suffix(".csv")
_PRIORITY: Final = "{p}"
_KEYS: Final = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class Counter:
    """Definition of a vendor's counter.

    Attributes:
        family: Its owner: a driver, `sonic`, `openconfig`, `linux`, or `endpoint` of ours.
        source: Source from which it is read, as in table `counters`.
        vendor_name: Its name there, with `{p}` for a priority.
        name: Neutral name.
        metric: Metric of a job with about the same meaning, by its name in docs/metrics.md; may be empty.
        counts: Kind of one step: `packets`, `bursts`, `events`, `marked`, `selected`, `bytes`, `time` ...
        unit: Unit of its value; empty if the vendor gives none.
        scale: Units of one count.
        meaning: Events that the vendor counts, and wrong interpretations of them.
        caveat: Only the wrong interpretations.
        reference: Source of the definition.
    """

    family: str
    source: str
    vendor_name: str
    name: str
    metric: str
    counts: str
    unit: str
    scale: int
    meaning: str
    caveat: str
    reference: str


@cache
def counters() -> tuple[Counter, ...]:
    """Return every defined counter, in the order of the file."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(_counter(row) for row in csv.DictReader(file))


def _counter(row: dict[str, Any]) -> Counter:
    parsed_fields = {"scale": int(row["scale"]), "meaning": f"{row['meaning']} {row['caveat']}".strip()}
    return Counter(**row | parsed_fields)


def look_up(vendor_name: str, source: str, family: str | None = None) -> Counter | None:
    """Return the definition of a counter; none if it has none.

    Args:
        vendor_name: Its name as reported by the device, with its priority; keys of a path are ignored.
        source: Source from which it was read.
        family: Its owner, if vendors use the name with different meanings.
    """
    return next(
        (
            counter
            for counter in find(vendor_name)
            if counter.source == source and family in (None, counter.family)
        ),
        None,
    )


def find(vendor_name: str) -> Iterator[Counter]:
    """Yield the definitions of a name, one for each vendor that has it."""
    vendor_key = _KEYS.sub("", vendor_name).removeprefix("openconfig:")
    general, priority = _general(vendor_key)
    for name in dict.fromkeys((vendor_key, *general)):
        for counter in _by_name().get(name, ()):
            yield _of_priority(counter, priority) if _PRIORITY in counter.vendor_name else counter


def _general(name: str) -> tuple[list[str], str]:
    """Return the defined name with `{p}` in place of one digit, and that digit; empty if there is none."""
    for match in re.finditer(r"(?<![0-9])[0-7](?![0-9])", name):
        general = name[: match.start()] + _PRIORITY + name[match.end() :]
        if general in _by_name():
            return [general], match[0]
    return [], ""


def _of_priority(counter: Counter, priority: str) -> Counter:
    texts = ("vendor_name", "name", "meaning", "caveat")
    return replace(counter, **{name: getattr(counter, name).replace(_PRIORITY, priority) for name in texts})


@cache
def _by_name() -> dict[str, list[Counter]]:
    counters_by_name: dict[str, list[Counter]] = {}
    for counter in counters():
        counters_by_name.setdefault(counter.vendor_name, []).append(counter)
    return counters_by_name
