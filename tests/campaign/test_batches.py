"""Short trials in one task: how many, and that one at fault takes no other with it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.samples import trial_facts

from fabricbench.runner.campaign.batches import Batches
from fabricbench.runner.campaign.tasks import Tasks
from fabricbench.runner.campaign.trial_units import Unit
from fabricbench.runner.campaign.worker import Answer
from fabricbench.runner.messages import Failed, Order, Setup, TrialProcessError


def units(count: int, cost_ms: int, **facts: Any) -> list[Unit]:
    planned: Any = object()
    return [
        Unit(planned, trial_facts(f"{number:012x}", **facts), planned, cost_ms, None)
        for number in range(count)
    ]


def sizes(batches: list[list[Unit]]) -> list[int]:
    return [len(batch) for batch in batches]


def test_long_trials_are_handed_out_one_by_one() -> None:
    assert sizes(Batches(units(5, 60_000)).next(4, cores=1)) == [1, 1, 1, 1]


def test_short_trials_are_handed_out_together() -> None:
    assert sizes(Batches(units(100, 500)).next(2, cores=1)) == [4, 4]


def test_more_are_handed_out_together_once_they_take_less_than_estimated() -> None:
    trials = units(1000, 500)
    batches = Batches(trials)
    for unit in trials[:100]:
        batches.took(unit, 0.05)
    assert sizes(batches.next(1, cores=1))[0] in {39, 40}  # 2 s of trials of 0.05 s each


def test_a_batch_of_however_short_trials_has_a_bound() -> None:
    assert sizes(Batches(units(1000, 1)).next(1, cores=1)) == [64]


def test_the_last_trials_are_spread_over_the_cores() -> None:
    batches = Batches(units(16, 100))
    taken = batches.next(100, cores=4)
    assert sizes(taken)[:4] == [2, 1, 1, 1]
    assert sum(sizes(taken)) == 16
    assert not batches.is_left


def test_trials_of_two_backends_are_never_together() -> None:
    mixed = [*units(3, 10), *units(3, 10, backend="other")]
    batches = Batches([*mixed, *units(100, 10)])
    assert [{unit.facts.backend for unit in batch} for batch in batches.next(2, cores=1)] == [
        {mixed[0].facts.backend},
        {"other"},
    ]


@pytest.mark.soak
def test_a_trial_that_kills_its_worker_takes_no_other_of_its_batch_with_it(tmp_path: Path) -> None:
    class Deadly:
        """Fails every trial, and kills its process at the second."""

        name, version, engine_version = "sim", trial_facts().backend_version, trial_facts().engine_version

        def sharing(self, _cores: int) -> Deadly:
            return self

        def run(self, planned: Any, _observer: object, **_how: object) -> None:
            if planned == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(planned)

    planned: list[Any] = [0, 1, 2]
    backend: Any = Deadly()
    facts = [trial_facts(f"{number:012x}") for number in planned]
    orders = [Order(number, each, tmp_path / each.id, 1) for number, each in zip(planned, facts, strict=True)]
    setups = {facts[0].backend: Setup(backend, 1)}
    tasks = Tasks("local", setups, tmp_path / "mark", has_reports=False)
    found: dict[str, Answer | Exception] = {}
    try:
        tasks.begin(orders, None)
        while len(tasks):
            found.update(tasks.answers(1))
    finally:
        tasks.close()
    assert isinstance(found[facts[1].id], TrialProcessError)
    for number in (0, 2):
        answer = found[facts[number].id]
        assert isinstance(answer, Answer)
        assert isinstance(answer.outcome, Failed)
        assert str(answer.outcome.error) == str(number)
