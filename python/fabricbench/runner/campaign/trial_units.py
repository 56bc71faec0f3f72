"""Lists the trials of a campaign, each once, with their estimated time and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from fabricbench.backend.protocol import Backend, carrier_of
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner.campaign.campaign_file import Campaign
from fabricbench.runner.loading import backend_of
from fabricbench.runner.trial_facts import facts_of
from fabricbench.store import TrialFacts

_UNKNOWN_MS: Final = 1_000
"""Time assumed for a trial without an estimate [ms]."""


@dataclass
class Unit:
    """A trial of the campaign.

    Attributes:
        planned: The trial.
        facts: Its facts, from the first plan that has it.
        backend: The backend that runs it.
        number: Its number among all trials of the plans, from 1.
        others: Its facts from other plans that also have it.
        cost_ms: Estimated single-core time [ms].
        memory_bytes: Estimated memory [bytes]; None if unknown.
    """

    planned: PlannedTrial
    facts: TrialFacts
    backend: Backend
    cost_ms: int
    memory_bytes: int | None
    number: int = 0
    others: list[TrialFacts] = field(default_factory=list)


def units_of(campaign: Campaign) -> list[Unit]:
    """Return the trials of a campaign, each once, in the order of its plans."""
    return units_of_plans((loaded, backend_of(loaded)) for loaded in campaign.plans)


def units_of_plans(plans: Iterable[tuple[LoadedPlan, Backend]]) -> list[Unit]:
    """Return the trials of plans, each once, in their order; each plan is paired with its backend."""
    return _once(
        unit for loaded, backend in plans for unit in _units(loaded, backend, facts_of(loaded, backend))
    )


def units_of_trials(
    loaded: LoadedPlan, backend: Backend, planned_facts: Iterable[tuple[PlannedTrial, TrialFacts]]
) -> list[Unit]:
    """Return the trials of a plan whose facts are already computed, each once."""
    return _once(_units(loaded, backend, planned_facts))


def _units(
    loaded: LoadedPlan, backend: Backend, planned_facts: Iterable[tuple[PlannedTrial, TrialFacts]]
) -> Iterator[Unit]:
    for (planned, facts), estimate in zip(planned_facts, loaded.estimates, strict=True):
        cost_ms, memory_bytes = _UNKNOWN_MS, None
        if estimate:
            cost_ms, memory_bytes = estimate["time_ms"], estimate["memory_bytes"]
        yield Unit(planned, facts, carrier_of(backend, planned), cost_ms, memory_bytes)


def _once(trials: Iterable[Unit]) -> list[Unit]:
    """Number trials, and merge those that are the same run."""
    units: dict[str, Unit] = {}
    for number, unit in enumerate(trials, 1):
        if unit.facts.id in units:
            units[unit.facts.id].others.append(unit.facts)
        else:
            unit.number = number
            units[unit.facts.id] = unit
    return list(units.values())


def longest_first(units: Iterable[Unit]) -> list[Unit]:
    """Sort trials by estimated time, longest first, so that short ones fill the cores at the end."""
    return sorted(units, key=lambda unit: unit.cost_ms, reverse=True)
