"""Reduces a failing plan: removes parts and lowers values as long as it fails with the same violation."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tools.swarm.fabrics import Fields

Fails = Callable[[Fields], bool]
Path = tuple[str | int, ...]

_NUMBER = re.compile(r"^(\d+(?:\.\d+)?)(.*)$")
_NEEDED = frozenset(
    {("fabricbench",), ("name",), ("fabric",), ("fabric", "topology"), ("fabric", "server"), ("jobs",)}
)


def shrink(plan: Mapping[str, Any], fails: Fails, seconds: float = 60.0) -> Fields:
    """Return the smallest plan that still fails, among those tried.

    Args:
        plan: A plan that fails.
        fails: Returns whether another plan fails with the same violation.
        seconds: Time limit [s].
    """
    deadline_s = time.monotonic() + seconds
    smallest = copy.deepcopy(dict(plan))
    is_smaller = True
    while is_smaller and time.monotonic() < deadline_s:
        is_smaller = False
        for smaller in _smaller_plans(smallest):
            if time.monotonic() >= deadline_s:
                break
            if fails(smaller):
                smallest, is_smaller = smaller, True
                break
    return smallest


def _smaller_plans(plan: Fields) -> Iterator[Fields]:
    """Yield plans that are one step smaller: first without a whole part, then with smaller values."""
    for path in _paths(plan):
        if path not in _NEEDED:
            yield _without(plan, path)
    yield from _simpler_topologies(plan)
    for path in _paths(plan):
        yield from (_with(plan, path, value) for value in _smaller_values(path, _at(plan, path)))


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each part of a plan, outer ones first."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    yield from ((*path, key) for key, _ in items)
    for key, part in items:
        yield from _paths(part, (*path, key))


def _at(plan: Any, path: Path) -> Any:
    for key in path:
        plan = plan[key]
    return plan


def _without(plan: Fields, path: Path) -> Fields:
    changed = copy.deepcopy(plan)
    del _at(changed, path[:-1])[path[-1]]
    return changed


def _with(plan: Fields, path: Path, value: Any) -> Fields:
    changed = copy.deepcopy(plan)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _simpler_topologies(plan: Fields) -> Iterator[Fields]:
    topology = plan["fabric"]["topology"]
    kind = topology.get("kind")
    if kind == "single-switch":
        return
    link = {"host_link": topology["host_link"]} if "host_link" in topology else {}
    for hosts in (2, 3, 4, 8):
        yield _with(plan, ("fabric", "topology"), {"kind": "single-switch", "hosts": hosts, **link})
    if kind != "leaf-spine":
        simple = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2}
        yield _with(plan, ("fabric", "topology"), {**simple, **link})


def _smaller_values(path: Path, value: Any) -> Iterator[Any]:
    """Yield smaller values: fewer, shorter, rounder, and ranks without the last."""
    if path[-1] == "ranks" and isinstance(value, str):
        hosts = value.split(",")
        if len(hosts) > 2:
            yield ",".join(hosts[: len(hosts) // 2])
            yield from (",".join(hosts[:index] + hosts[index + 1 :]) for index in range(len(hosts)))
        if hosts != [str(host) for host in range(len(hosts))]:
            yield ",".join(str(host) for host in range(len(hosts)))
    elif isinstance(value, bool) or path[-1] in ("fabricbench", "name"):
        return
    elif isinstance(value, int):
        yield from (
            less for less in dict.fromkeys((1, value // 2, value * 3 // 4, value - 1)) if 0 <= less < value
        )
    elif isinstance(value, str) and (match := _NUMBER.match(value)) and "/" not in value:
        number, unit = int(float(match[1])), match[2]
        smaller = (1, number // 2, number - 1) if number > 1 else ()
        yield from (f"{less}{unit}" for less in dict.fromkeys(smaller) if 0 < less < number)
