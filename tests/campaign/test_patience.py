"""Waiting for a store that does not answer."""

from __future__ import annotations

import signal
from collections.abc import Callable
from unittest import mock

import pytest

from fabricbench.runner.campaign import execution
from fabricbench.runner.campaign.execution import Patience
from fabricbench.runner.interrupts import Interrupts
from fabricbench.store.errors import StoreError, UnreachableError

GONE = UnreachableError("the catalog", "cannot be reached", "wait")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_PAUSE_S", 0)


def answering(*answers: Exception | str) -> Callable[[], str]:
    return mock.Mock(side_effect=answers)


def test_a_store_is_asked_until_it_answers_and_the_waiting_is_told() -> None:
    told: list[str] = []
    patiently = Patience(Interrupts(), told.append)
    assert patiently(answering("at once")) == "at once"
    assert told == []
    assert patiently(answering(GONE, GONE, "at last")) == "at last"
    assert told == ["the catalog: cannot be reached"] * 2 + [""]


def test_another_error_is_not_waited_for() -> None:
    full = StoreError("the catalog", "is full", "make room")
    with pytest.raises(StoreError, match="is full"):
        Patience(Interrupts(), print)(answering(full, "later"))


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_PATIENCE_S", -1)
    with pytest.raises(UnreachableError):
        Patience(Interrupts(), print)(answering(GONE, "too late"))


def test_a_signal_ends_the_waiting() -> None:
    interrupts = Interrupts()
    interrupts.received = signal.SIGINT
    with pytest.raises(KeyboardInterrupt):
        Patience(interrupts, lambda _: None)(answering(GONE, "never asked"))
