"""Parses deadlocks from a record's events: cycles of switch queues that wait for each other.

A queue waits because the next switch pauses it (PFC) or grants it no credit (InfiniBand).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

EVENTS = ("pfc_deadlock", "credit_deadlock")
"""Kinds of the events: one event per queue of a cycle, in the order in which queues wait for each other."""
_DETAIL = re.compile(r"port (\d+) at priority (\d) waits for (\S+) with (\d+) bytes")


@dataclass(frozen=True)
class Held:
    """An egress queue of a cycle of waiting queues.

    Attributes:
        switch: Switch of the queue.
        port: Its port.
        priority: Its priority.
        waits_for: The switch that pauses it.
        held_bytes: Bytes in the queue.
        is_of_credits: Whether it lacks credit, rather than being paused.
    """

    switch: str
    port: int
    priority: int
    waits_for: str
    held_bytes: int
    is_of_credits: bool


Circle = tuple[Held, ...]
"""Queues of a cycle: each waits for the switch of the next one, the last for the switch of the first."""


def circles(events: Iterable[Mapping[str, Any]]) -> list[Circle]:
    """Return the cycles in a record's events; none without a deadlock."""
    cycles: list[Circle] = []
    path: list[Held] = []
    for event in events:
        match = _DETAIL.match(event["detail"]) if event["kind"] in EVENTS else None
        if match:
            port, priority, peer, held_bytes = match.groups()
            is_of_credits = event["kind"] == EVENTS[1]
            path.append(Held(event["node"], int(port), int(priority), peer, int(held_bytes), is_of_credits))
            if peer == path[0].switch:
                cycles.append(tuple(path))
                path = []
    return cycles


def circle_text(circle: Circle) -> str:
    """Return the queues of a cycle as text, in their order."""
    locations = [f"{queue.switch} port {queue.port}" for queue in circle]
    return f"priority {circle[0].priority}: {' waits for '.join([*locations, locations[0]])}"
