"""Runs a search to its end and confirms its best point; the result, with a row for each point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.plan.estimates.cost import duration
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.tuning.confirmation import Evidence, evidence_of
from fabricbench.runner.tuning.definition import Tried, TuningDefinition
from fabricbench.runner.tuning.evaluation import Evaluator, Units
from fabricbench.runner.tuning.processes import executor_of
from fabricbench.runner.tuning.search import Search
from fabricbench.store import Workspace
from fabricbench.words import counted


@dataclass(frozen=True)
class TuneResult:
    """Result of a search.

    Attributes:
        definition: The search: its space, aims, limits and seed.
        journal: The file from which the search can continue.
        tried: Every point.
        best: The best point that keeps every limit, if any.
        importances: For each aim the importance of each field by PED-ANOVA, 0 to 1; empty if unknown.
        evidence: Comparison of the best point with the shipped one over other seeds, unless it was disabled.
    """

    definition: TuningDefinition
    journal: Path
    tried: Sequence[Tried]
    best: Tried | None
    importances: Sequence[Mapping[str, float]]
    evidence: Evidence | None

    @property
    def columns(self) -> list[str]:
        """Names of the columns of `rows`."""
        fields = [field.field for field in self.definition.space.fields]
        return ["point", "ending", "allowed", *fields, *self._ratio_names]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each point with its ending, the value of each field, and the ratio of each aim to the plans."""
        return [
            {"point": point.number, "ending": point.ending.value, "allowed": point.is_allowed}
            | dict(point.point)
            | dict(zip(self._ratio_names, point.ratios, strict=False))
            for point in self.tried
        ]

    @property
    def _ratio_names(self) -> list[str]:
        return [f"{aim.metric.name}_ratio" for aim in self.definition.aims]


HOURS_MAX: Final = 24
"""Limit of `check_cost`: a search with more estimated hours of one core is probably a mistake."""


def cost_ms(definition: TuningDefinition, units: Units, trials: int, confirm: int) -> int:
    """Return the estimated time of a search, for one core [ms]."""
    shipped = definition.shipped()
    return (trials + 1) * units.cost_ms(shipped) + 2 * confirm * units.cost_ms(definition.shipped(seeds=1))


def cost_text(definition: TuningDefinition, trials: int, milliseconds: int) -> str:
    """Return numbers of points and fields, and the estimated time, in words."""
    points, fields = counted(trials, "point"), counted(len(definition.space.fields), "field")
    return f"{points} of {fields}, up to {duration(milliseconds)} of one core"


def check_cost(definition: TuningDefinition, trials: int, milliseconds: int) -> None:
    """Check that a search takes no more time than is usual.

    Raises:
        PlanError: It does.
    """
    if milliseconds > HOURS_MAX * 3_600_000:
        found, allowed = cost_text(definition, trials, milliseconds), f"{HOURS_MAX} hours"
        raise PlanError([Problem(Place("search"), "", found, allowed, "--force searches all the same")])


def run_tuning(
    definition: TuningDefinition,
    units: Units,
    store: Workspace,
    on: str,
    trials: int,
    confirm: int,
    report: Callable[[Tried, int], None],
    interrupts: Interrupts,
) -> TuneResult:
    """Run a search, and compare its best point with the plans as shipped over other seeds.

    Args:
        definition: The search.
        units: The plans whose trials it runs.
        store: Workspace of the trials and of the search's journal.
        on: `local`, or the address of a Ray cluster.
        trials: Number of points.
        confirm: Number of other seeds; 0 for no comparison.
        report: Called with each finished point and the number of points so far.
        interrupts: Signals that end the search.

    Raises:
        ClusterError: There is no such cluster.
        TuningError: The journal cannot be used, or the plans as shipped have no result.
        StoreError: The workspace cannot be written.
        KeyboardInterrupt: The user stopped it; the same search goes on from there.
    """
    executor = executor_of(on, store, interrupts)
    try:
        evaluator = Evaluator(store, executor, units)
        search = Search(definition, evaluator, store.root, report)
        try:
            search.run(trials)
            tried = search.tried()
            best = definition.best(tried)
            evidence = evidence_of(definition, evaluator, best.point, confirm) if best and confirm else None
            return TuneResult(definition, search.journal, tried, best, search.importances(), evidence)
        finally:
            search.close()
    finally:
        executor.close()
