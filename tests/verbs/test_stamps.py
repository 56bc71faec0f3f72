"""Driver `verbs` on an adapter that stamps completions by a clock of its own, and on one whose stamps lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.verbs.conftest import Ask

# The clock begins anew between the two jobs, each of 12 chunks.
SECOND_STARTS = "1500ms"
WRAP_MS = 1_000
CHUNKS = 24
HONEST = f"156250 40 32 {WRAP_MS}"


def true_times(stamps: Path) -> dict[str, list[int]]:
    """Return when completions of each kind were, and when the clock of the adapter began anew [ns]."""
    times: dict[str, list[int]] = {"anew": [], "delivered": [], "completed": []}
    for line in stamps.read_text().splitlines():
        kind, at_ns = line.split()
        times[kind].append(int(at_ns))
    return {kind: sorted(each) for kind, each in times.items()}


def sums(told: dict[str, Any]) -> tuple[int, int]:
    """Return the stamps that were used, and those that were refused."""
    names = ("completion_stamps", "completion_stamps_refused")
    used, refused = (sum(each[name] for each in told["counters"]) for name in names)
    return used, refused


@pytest.mark.parametrize("clock", [HONEST, f"1000000 -80 48 {WRAP_MS}", f"78125 0 64 {WRAP_MS}"])
def test_times_are_those_of_the_stamps_within_the_error_that_is_told(
    ask: Ask, tmp_path: Path, clock: str
) -> None:
    # Completions can be seen only later, so that times of software would be wrong by more.
    late_ns, stamps = 60_000, tmp_path / "stamps"
    told = ask("stamp", SECOND_STARTS, {}, DEVICE_CLOCK=clock, STAMPS=str(stamps), VISIBLE_NS=str(late_ns))
    assert sums(told) == (2 * CHUNKS, 0), told["counters"]
    error_ns = max(each["completion_clock_error_ns"] for each in told["counters"])
    assert 0 < error_ns < late_ns, told["counters"]
    true = true_times(stamps)
    assert true["completed"][0] < true["anew"][0] < true["completed"][-1]
    for kind in ("delivered", "completed"):
        assert len(true[kind]) == CHUNKS
        for found_ns, true_ns in zip(told["times"][kind], true[kind], strict=True):
            assert abs(found_ns - true_ns) <= error_ns + 1, (kind, found_ns - true_ns, error_ns)


@pytest.mark.parametrize("off_ns", [-5_000_000_000, 10_000_000, 5_000_000_000])
def test_stamps_that_cannot_be_are_told_and_not_recorded(ask: Ask, tmp_path: Path, off_ns: int) -> None:
    stamps = tmp_path / "stamps"
    told = ask("stamp", SECOND_STARTS, {}, DEVICE_CLOCK=HONEST, STAMPS=str(stamps), STAMPS_OFF_NS=str(off_ns))
    assert sums(told) == (0, 2 * CHUNKS), told["counters"]
    assert_software_saw(told, true_times(stamps))


def test_a_clock_that_is_set_counts_no_more(ask: Ask) -> None:
    used, refused = sums(ask("stamp", SECOND_STARTS, {}, DEVICE_CLOCK=HONEST, CLOCK_SET_MS="1000"))
    assert (used, refused) == (CHUNKS, CHUNKS)


def test_a_clock_of_another_frequency_than_is_told_does_not_count(ask: Ask) -> None:
    told = ask("stamp", SECOND_STARTS, {}, DEVICE_CLOCK=f"156250 20000 48 {WRAP_MS}")
    assert sums(told) == (0, 2 * CHUNKS), told["counters"]


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ({"completion_time_stamps": False}, {"DEVICE_CLOCK": HONEST}),
        ({}, {"DEVICE_CLOCK": HONEST, "NO_STAMPED_QUEUE": "1"}),
        # It begins anew every 7 ms.
        ({}, {"DEVICE_CLOCK": f"156250 0 20 {WRAP_MS}"}),
    ],
)
def test_without_stamps_times_are_those_of_software(
    ask: Ask, tmp_path: Path, settings: dict[str, Any], environment: dict[str, str]
) -> None:
    stamps = tmp_path / "stamps"
    told = ask("stamp", "10ms", settings, STAMPS=str(stamps), **environment)
    assert not any(name.startswith("completion_") for each in told["counters"] for name in each)
    assert_software_saw(told, true_times(stamps))


def assert_software_saw(told: dict[str, Any], true: dict[str, list[int]]) -> None:
    """Each time is no earlier than what it is the time of."""
    for kind in ("delivered", "completed"):
        assert all(found >= at for found, at in zip(told["times"][kind], true[kind], strict=True))


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("job", "transport", "settings"),
    [
        ({"data_size": "6MB"}, {}, {"send_queue_depth": 2}),
        ({"repeat": 20, "barrier": True, "warm_up_rounds": 1}, {}, {"signal_every": 8}),
        ({"repeat": 3}, {"mtu": 1024, "message_size": "5000B"}, {"send_queue_depth": 3}),
    ],
)
def test_a_queue_with_stamps_carries_jobs_as_one_without(
    ask: Ask, job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any], verify: bool
) -> None:
    told = ask("carry_out", job, transport, settings | {"verify": verify}, DEVICE_CLOCK=HONEST)
    for each in told["counters"]:
        assert each["wrong_bytes"] == each["unknown_chunks"] == each["completion_stamps_refused"] == 0, each
        assert each["completion_stamps"] > 0, each


def test_a_failure_on_a_queue_with_stamps_names_itself(ask: Ask) -> None:
    environment = {"FAIL_AFTER": "20", "DEVICE_CLOCK": HONEST}
    told = ask("fail", {"repeat": 3, "barrier": True}, {"timeout": "1ms"}, {"verify": False}, **environment)
    failed = [each["reason"] for each in told["progress"] if each["state"] == "failed"]
    assert failed, told
    assert all("transport retry counter exceeded (status 12, vendor's 0x81)" in reason for reason in failed)
