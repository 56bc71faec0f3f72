"""Defines a search, and picks the best of its tried points, or their Pareto front.

A point has a value for each searched field. Each tried point has the reason why its trials ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fabricbench.runner.loading import backend_of
from fabricbench.runner.tuning.evaluation import Candidate
from fabricbench.runner.tuning.objectives import Aim, Limit, geometric_mean
from fabricbench.runner.tuning.space import Point, Space


class Ending(StrEnum):
    """How a point ended.

    Attributes:
        COMPLETE: Every size ran.
        STOPPED: Its smaller sizes were worse than those of others, so the larger ones did not run.
        INVALID: There is no valid plan.
        NO_RESULT: A trial failed, or has no value of a metric.
    """

    COMPLETE = "complete"
    STOPPED = "stopped"
    INVALID = "invalid"
    NO_RESULT = "no-result"


@dataclass(frozen=True)
class Tried:
    """A point that was tried.

    Attributes:
        number: Its number, from 0.
        point: The value of each field.
        ending: How it ended.
        ratios: For each aim, the ratio of the metric to that of the plans as shipped; empty unless complete.
        violations: For each limit, by how much the worst trial violates it; 0 or less if it is met.
    """

    number: int
    point: Point
    ending: Ending
    ratios: Sequence[float] = ()
    violations: Sequence[float] = ()

    @property
    def is_allowed(self) -> bool:
        """Whether it is complete and meets every limit."""
        return self.ending is Ending.COMPLETE and all(violation <= 0 for violation in self.violations)


@dataclass(frozen=True)
class TuningDefinition:
    """Definition of a search.

    Attributes:
        space: The fields.
        aims: Metrics to improve.
        limits: Constraints.
        seeds: For each plan, the number of seeds at each point.
        seed: Seed of the search itself.
        at_once: Number of points that are suggested and run together.
        is_stopping: Whether poor points are stopped after their smaller sizes.
    """

    space: Space
    aims: tuple[Aim, ...]
    limits: tuple[Limit, ...]
    seeds: tuple[int, ...]
    seed: int
    at_once: int
    is_stopping: bool

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics of aims and limits, each once."""
        named = [*(aim.metric.name for aim in self.aims), *(limit.metric.name for limit in self.limits)]
        return list(dict.fromkeys(named))

    @property
    def id(self) -> str:
        """Hash of all settings that affect the suggested points and their results."""
        space = self.space
        backends = [backend_of(plan) for plan in space.plans]
        settings = [
            [[backend.name, backend.version] for backend in backends],
            [[plan.text, plan.overrides, [trial.spec_json for trial in plan.trials]] for plan in space.plans],
            [repr(field.distribution()) + field.field for field in space.fields],
            [[aim.metric.name, aim.is_most] for aim in self.aims],
            [str(limit) for limit in self.limits],
            [self.seeds, self.seed, self.at_once, self.is_stopping],
        ]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:12]

    def best(self, tried: Sequence[Tried]) -> Tried | None:
        """Return the best point that meets every limit; of a Pareto front, the best mean over aims."""

        def mean(point: Tried) -> float:
            return geometric_mean(
                [aim.improvement(ratio) for aim, ratio in zip(self.aims, point.ratios, strict=True)]
            )

        return min((point for point in tried if point.is_allowed), key=mean, default=None)

    def front(self, tried: Sequence[Tried]) -> list[Tried]:
        """Return the Pareto front of the points that meet every limit."""
        allowed = [point for point in tried if point.is_allowed]
        return [point for point in allowed if not any(self._beats(other, point) for other in allowed)]

    def _beats(self, one: Tried, other: Tried) -> bool:
        """Return whether one point dominates another: no worse in any aim, and better in one or earlier."""
        scores = [
            [aim.improvement(ratio) for aim, ratio in zip(self.aims, point.ratios, strict=True)]
            for point in (one, other)
        ]
        if scores[0] == scores[1]:
            return one.number < other.number
        return all(score <= other_score for score, other_score in zip(*scores, strict=True))

    def candidate(self, point: Point) -> Candidate:
        """Return the plans at a point with their seeds.

        Raises:
            PlanError: One of them cannot run there.
        """
        return Candidate(self.space.at(point), [range(count) for count in self.seeds])

    def shipped(self, seeds: int | None = None) -> Candidate:
        """Return the plans as shipped, with their seeds or with `seeds` of them."""
        return Candidate(self.space.plans, [range(seeds or count) for count in self.seeds])
