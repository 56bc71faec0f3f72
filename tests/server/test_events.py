"""Events are kept within bounds, in order, and numbered on over a restart."""

from __future__ import annotations

import json
import time

from fabricbench.server.queue.events import Events
from fabricbench.server.response_cache import Cache

RUN = "0123456789ab"


def test_those_who_come_back_get_what_they_missed_and_the_last_progress() -> None:
    events = Events()
    for number in range(5):
        events.add(RUN, "trial", {"number": number})
        events.add(RUN, "progress", {"share": number / 5})
    found = events.since(RUN, 0)
    assert [event.kind for event in found] == ["trial"] * 5 + ["progress"]
    assert [event.number for event in found] == sorted(event.number for event in found)
    assert events.since(RUN, found[-2].number) == found[-1:]
    assert events.progress(RUN) == {"share": 0.8}
    assert events.since("another", 0) == []


def test_an_event_is_written_as_the_standard_has_it() -> None:
    events = Events()
    events.add(RUN, "state", {"state": "running", "message": "two\nlines"})
    number, kind, data, *rest = events.since(RUN, 0)[0].text().split("\n")
    assert (number.startswith("id: "), kind, rest) == (True, "event: state", ["", ""])
    assert json.loads(data.removeprefix("data: "))["message"] == "two\nlines"
    assert events.last_state(RUN) == "running"


def test_memory_is_bounded_whatever_is_told() -> None:
    events = Events()
    for run in range(100):
        for _ in range(20):
            events.add(f"{run}", "samples", {"points": "x" * 300_000})
    kept = [event for run in range(100) for event in events.since(f"{run}", 0)]
    assert sum(len(event.data) for event in kept) < 150 << 20
    assert events.since("0", 0) == []
    assert events.since("99", 0)


def test_a_server_that_starts_later_numbers_higher() -> None:
    first = Events()
    first.add(RUN, "state", {"state": "queued"})
    time.sleep(0.01)
    second = Events()
    second.add(RUN, "state", {"state": "queued"})
    assert second.since(RUN, 0)[0].number > first.since(RUN, 0)[0].number


def test_a_cache_makes_each_thing_once_and_keeps_what_was_used_last() -> None:
    cache = Cache(bytes_max=40)
    made: list[str] = []

    def make(key: str) -> bytes:
        made.append(key)
        return key.encode() * 10

    for key in ("a", "b", "a", "c", "d", "a", "e", "a", "b"):
        assert cache.get(key, lambda key=key: make(key)) == key.encode() * 10  # type: ignore[misc]
    assert made == ["a", "b", "c", "d", "e", "b"]
    sizes = [len(cache.get("large", lambda size=size: bytes(size))) for size in (11, 12)]  # type: ignore[misc]
    assert sizes == [11, 12], "what is large is not kept"
