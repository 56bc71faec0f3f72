"""Stores the last numbered events of each run, for event streams of clients that connect or reconnect."""

from __future__ import annotations

import json
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

_EVENTS_MAX: Final = 2000
_BYTES_MAX: Final = 2 << 20
_RUNS_MAX: Final = 64
STREAMS_MAX: Final = 128
"""Event streams open at once: far fewer than connections, which they occupy for as long as a run takes."""


@dataclass(frozen=True)
class Event:
    """A numbered event of a run.

    Attributes:
        number: Its number; a later event has a higher one, in a server started later as well.
        kind: `state`, `progress`, `samples`, `trial_started` or `trial`.
        data: JSON.
    """

    number: int
    kind: str
    data: str

    def text(self) -> str:
        """Return the event in the format of an event stream (HTML standard, 9.2.6)."""
        return f"id: {self.number}\nevent: {self.kind}\ndata: {self.data}\n\n"


@dataclass
class _RunEvents:
    events: deque[Event] = field(default_factory=deque)
    bytes: int = 0
    progress: Event | None = None

    def add(self, event: Event) -> None:
        """Append an event; drop the oldest ones above the limits of number and bytes."""
        self.events.append(event)
        self.bytes += len(event.data)
        while len(self.events) > _EVENTS_MAX or (self.bytes > _BYTES_MAX and len(self.events) > 1):
            self.bytes -= len(self.events.popleft().data)


class Events:
    """Events of the last runs; of the events `progress` of a run only the last one is stored."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _RunEvents] = OrderedDict()
        self._number = time.time_ns() // 1_000_000
        self._lock = Lock()
        self.is_closed = False
        self._streams = 0

    def open_stream(self) -> bool:
        """Count a stream as open; return whether there may be one more."""
        with self._lock:
            is_allowed = self._streams < STREAMS_MAX
            self._streams += is_allowed
        return is_allowed

    def close_stream(self) -> None:
        """Count a stream as ended."""
        with self._lock:
            self._streams -= 1

    def add(self, run_id: str, kind: str, content: Mapping[str, Any]) -> None:
        """Store an event of a run."""
        data = json.dumps(content)
        with self._lock:
            self._number += 1
            event = Event(self._number, kind, data)
            run_events = self._runs.setdefault(run_id, _RunEvents())
            self._runs.move_to_end(run_id)
            if kind == "progress":
                run_events.progress = event
            else:
                run_events.add(event)
            while len(self._runs) > _RUNS_MAX:
                self._runs.popitem(last=False)

    def since(self, run_id: str, number: int) -> list[Event]:
        """Return the events of a run after one, in their order."""
        with self._lock:
            run_events = self._runs.get(run_id)
            if run_events is None:
                return []
            events = [event for event in run_events.events if event.number > number]
            if run_events.progress is not None and run_events.progress.number > number:
                events.append(run_events.progress)
        return sorted(events, key=lambda event: event.number)

    def last_state(self, run_id: str) -> str:
        """Return the last reported state of a run; empty if there is none."""
        with self._lock:
            run_events = self._runs.get(run_id)
            states = [event for event in run_events.events if event.kind == "state"] if run_events else []
        return str(json.loads(states[-1].data)["state"]) if states else ""

    def progress(self, run_id: str) -> dict[str, Any] | None:
        """Return the last report of progress of a run."""
        with self._lock:
            run_events = self._runs.get(run_id)
            event = run_events.progress if run_events else None
        return json.loads(event.data) if event else None

    def forget_progress(self, run_id: str) -> None:
        """Drop the progress of a run that has ended or starts again."""
        with self._lock:
            if run_id in self._runs:
                self._runs[run_id].progress = None

    def close(self) -> None:
        """End every stream, at the end of the server."""
        self.is_closed = True
