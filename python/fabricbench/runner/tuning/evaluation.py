"""Runs the trials of plans at a point (values of the searched fields), size by size; returns the metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fabricbench.backend.protocol import Backend, SharingCores, carrier_of
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner.campaign.trial_units import Unit
from fabricbench.runner.loading import backend_of
from fabricbench.runner.messages import TuningError
from fabricbench.runner.trial_facts import facts_of
from fabricbench.runner.tuning.objectives import Key, values_of
from fabricbench.runner.tuning.processes import Executor
from fabricbench.store import Trial, Workspace

_DEFAULT_COST = (1_000, None)
"""Cost of a trial without an estimate: time [ms] and memory."""

MetricValues = Mapping[str, Mapping[Key, float]]
"""Values by the name of their metric."""


@dataclass(frozen=True)
class Candidate:
    """Plans at a point.

    Attributes:
        plans: The plans, with all seeds.
        iterations: For each plan, the numbers of the seeds to run.
    """

    plans: Sequence[LoadedPlan]
    iterations: Sequence[range]


class Units:
    """The trials of some plans at any point, grouped by the sizes of the plans as shipped."""

    def __init__(self, shipped: Sequence[LoadedPlan]) -> None:
        """Take the plans as shipped.

        Raises:
            TuningError: The backend of a plan cannot run trials concurrently.
        """
        self._shipped = shipped
        self._backends = [_backend(plan) for plan in shipped]

    @cached_property
    def sizes(self) -> list[list[int]]:
        """The data sizes of each plan [bytes], ascending."""
        return [
            sorted({trial.data_size_bytes for trial in plan.trials if not trial.is_solo})
            for plan in self._shipped
        ]

    @property
    def stages(self) -> int:
        """Largest number of sizes of a plan."""
        return max(map(len, self.sizes))

    @cached_property
    def _costs(self) -> Mapping[tuple[int, int], tuple[int, int | None]]:
        """Time [ms] and memory [bytes] of a trial, by plan number and size."""
        costs: dict[tuple[int, int], tuple[int, int | None]] = {}
        for number, plan in enumerate(self._shipped):
            for trial, estimate in zip(plan.trials, plan.estimates, strict=True):
                key = (number, trial.data_size_bytes)
                cost = (estimate["time_ms"], estimate["memory_bytes"]) if estimate else _DEFAULT_COST
                costs[key] = max(costs.get(key, (0, None)), cost, key=lambda cost: cost[0])
        return costs

    def cost_ms(self, candidate: Candidate) -> int:
        """Return the estimated single-core time of all trials at a point [ms]."""
        return sum(unit.cost_ms for stage in range(self.stages) for _, unit in self.of(candidate, stage))

    def of(self, candidate: Candidate, stage: int) -> Iterator[tuple[Key, Unit]]:
        """Yield the trials of one size of each plan at a point; the job in their keys is not set."""
        for number, (plan, iterations) in enumerate(zip(candidate.plans, candidate.iterations, strict=True)):
            sizes, backend = self.sizes[number], self._backends[number]
            for planned, facts in facts_of(plan, backend):
                size = planned.data_size_bytes
                if stage >= len(sizes) or planned.is_solo or size != sizes[stage]:
                    continue
                if planned.iteration in iterations:
                    variant = f"{planned.variant} {planned.case.number}"
                    key = Key(number, variant, stage, planned.iteration - iterations.start, "")
                    carrier = carrier_of(backend, planned)
                    yield key, Unit(planned, facts, carrier, *self._costs[number, size])


class Evaluator:
    """Runs trials at points, each once: trials with a record are skipped.

    Attributes:
        units: The trials.
    """

    def __init__(self, workspace: Workspace, executor: Executor, units: Units) -> None:
        """Take the workspace, the executor and the trials."""
        self.units = units
        self._workspace = workspace
        self._executor = executor

    def measure(
        self, candidates: Sequence[Candidate], stage: int, metrics: Collection[str]
    ) -> list[MetricValues | None]:
        """Run the trials of one size of each plan at several points, concurrently.

        Args:
            candidates: The points.
            stage: Index of the size among those of each plan, from 0.
            metrics: Names of the metrics to return.

        Returns:
            Their values at each point; None if one of its trials failed.

        Raises:
            StoreError: The workspace cannot be written, or the disk is full.
            KeyboardInterrupt: The user stopped it; finished trials remain stored.
        """
        self._executor.check()
        keyed_units = [list(self.units.of(candidate, stage)) for candidate in candidates]
        units = {unit.facts.id: unit for point_units in keyed_units for _, unit in point_units}
        trial_by_id = {name: self._workspace.resume(unit.facts) for name, unit in units.items()}
        unfinished = [units[name] for name, trial in trial_by_id.items() if trial is None]
        if unfinished:
            self._executor.run(unfinished)
            trial_by_id |= {unit.facts.id: self._workspace.resume(unit.facts) for unit in unfinished}
        return [_values(point_units, trial_by_id, metrics) for point_units in keyed_units]


def _backend(plan: LoadedPlan) -> Backend:
    backend = backend_of(plan)
    if not isinstance(backend, SharingCores):
        message = f"{plan.plan.name}: backend {backend.name}, which carries one trial at a time"
        raise TuningError(message, "-s backend=sim searches in the simulator")
    return backend


def _values(
    units: Sequence[tuple[Key, Unit]], trial_by_id: Mapping[str, Trial | None], metrics: Collection[str]
) -> MetricValues | None:
    trials = [(key, trial_by_id[unit.facts.id]) for key, unit in units]
    finished = [(key, trial) for key, trial in trials if trial is not None]
    return values_of(finished, metrics) if len(finished) == len(trials) else None
