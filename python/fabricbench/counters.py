"""Counters of devices by definition: for each name of a vendor what it counts, and what it is no measure of.

`counters.csv` beside this module is the only place where they stand. One neutral name says that vendors mean
alike, not that they count alike: one counts bursts of losses where another counts packets, one the packets
that it marked where another counts those that it selected. `counts` says which, `meaning` and `caveat` say it
in words.
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
    """What a counter of a vendor is.

    Attributes:
        family: Whose it is: a driver, `sonic`, `openconfig`, `linux`, or `endpoint` of ours.
        source: Where it is read, as table `counters` has it.
        vendor_name: Its name there; `{p}` stands for a priority.
        name: Neutral name.
        metric: Metric of a job that is about the same, by its name in docs/metrics.md; may be empty.
        counts: What a step of it is: `packets`, `bursts`, `events`, `marked`, `selected`, `bytes`, `time` ...
        unit: Unit of its value; empty where the vendor gives none.
        scale: Units of one count.
        meaning: What the vendor counts, and what must not be made of it.
        caveat: The latter alone.
        reference: Where that is said.
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
    """Return every counter that is known, in the order of the file."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(_counter(row) for row in csv.DictReader(file))


def _counter(row: dict[str, Any]) -> Counter:
    told = {"scale": int(row["scale"]), "meaning": f"{row['meaning']} {row['caveat']}".strip()}
    return Counter(**row | told)


def look_up(vendor_name: str, source: str, family: str | None = None) -> Counter | None:
    """Return what a counter is; none if it is not known.

    Args:
        vendor_name: Its name as the device tells it, with its priority; keys of a path are left out.
        source: Where it was read.
        family: Whose it is, where vendors use a name in different ways.
    """
    return next(
        (each for each in find(vendor_name) if each.source == source and family in (None, each.family)), None
    )


def find(vendor_name: str) -> Iterator[Counter]:
    """Yield what a name is at each vendor that has it."""
    bare = _KEYS.sub("", vendor_name).removeprefix("openconfig:")
    general, priority = _general(bare)
    for name in dict.fromkeys((bare, *general)):
        for each in _by_name().get(name, ()):
            yield _of_priority(each, priority) if _PRIORITY in each.vendor_name else each


def _general(name: str) -> tuple[list[str], str]:
    """Return a name that is known with `{p}` for one digit of it, and that digit; none if there is none."""
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
    found: dict[str, list[Counter]] = {}
    for each in counters():
        found.setdefault(each.vendor_name, []).append(each)
    return found
