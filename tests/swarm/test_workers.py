"""A scenario that hangs or crashes is a violation of its own and takes no other along."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.support.swarm_tasks import carry_out
from tools.swarm.workers import CRASHES, HANGS, Task, Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker(0.5, carry_out)
    yield worker
    worker.close()


@pytest.mark.parametrize(("name", "rule"), [("hang", HANGS), ("crash", CRASHES)])
def test_the_worker_goes_on_after_a_scenario_that_does_not_end_well(
    worker: Worker, name: str, rule: str
) -> None:
    started = time.monotonic()
    outcome = worker.examine(Task({"name": name}, compares=False))
    assert [violation.rule for violation in outcome.violations] == [rule]
    assert time.monotonic() - started < 60
    assert worker.examine(Task({"name": "fine"}, compares=False)).trials == 1
