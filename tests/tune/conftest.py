"""Searches in workspaces of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.tuning.definition import Tried, TuningDefinition
from fabricbench.runner.tuning.evaluation import Evaluator, Units
from fabricbench.runner.tuning.processes import OnThisMachine
from fabricbench.runner.tuning.search import Search
from fabricbench.store import Workspace


@pytest.fixture
def evaluated(tmp_path: Path) -> Iterator[Callable[[TuningDefinition], Evaluator]]:
    """Run trials in a workspace of this test, on the cores of this machine."""
    store = Workspace.open(tmp_path / "workspace", create=True)
    with Interrupts() as interrupts:
        executor = OnThisMachine(store, interrupts)
        yield lambda wanted: Evaluator(store, executor, Units(wanted.space.plans))
        executor.close()


@pytest.fixture
def searched(
    tmp_path: Path, evaluated: Callable[[TuningDefinition], Evaluator]
) -> Callable[..., list[Tried]]:
    """Carry a search out to so many points; in a workspace of its own where it gets a name."""

    def run(wanted: TuningDefinition, trials: int, journals: str = "workspace") -> list[Tried]:
        root = tmp_path / journals
        root.mkdir(exist_ok=True)
        search = Search(wanted, evaluated(wanted), root, lambda _tried, _count: None)
        try:
            search.run(trials)
            return search.tried()
        finally:
            search.close()

    return run
