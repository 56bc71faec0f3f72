"""Confirms that tuned field values are better than the plans as shipped: runs both again with fresh seeds.

The seeds of the search are not reused: they would overestimate the best of many points (a point has a value
for each searched field). Computes confidence intervals by Student's t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

from fabricbench.metrics import BY_NAME
from fabricbench.runner import loading
from fabricbench.runner.messages import TuningError
from fabricbench.runner.tuning.definition import TuningDefinition
from fabricbench.runner.tuning.evaluation import Candidate, Evaluator
from fabricbench.runner.tuning.objectives import Aim, Key, Limit, geometric_mean, overall, ratios
from fabricbench.runner.tuning.space import Point

SEEDS_MIN: Final = 5
"""Smallest number of seeds for a meaningful result."""
_LEVEL: Final = 0.95
_EXTRA_METRICS: Final = ("frames_lost", "queue_max_bytes", "pfc_rx", "ecn_ce_rx")
"""Metrics shown in addition to the requested ones: loss, queue depth, and signals that slow senders."""


@dataclass(frozen=True)
class Confidence:
    """The ratio of an aim over fresh seeds.

    Attributes:
        aim: The aim.
        ratio: Geometric mean over the seeds.
        low: Lower end of its 95 % confidence interval.
        high: Upper end.
        better: Number of seeds with a better value than as shipped.
        seeds: Number of seeds.
    """

    aim: Aim
    ratio: float
    low: float
    high: float
    better: int
    seeds: int

    @property
    def values(self) -> dict[str, str | float | int]:
        """The name of the aim's metric and the numbers, for JSON and data frames."""
        return {
            "metric": self.aim.metric.name,
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "better": self.better,
            "seeds": self.seeds,
        }

    @property
    def is_shown(self) -> bool:
        """Whether the whole interval is on the better side of 1."""
        return self.low > 1 if self.aim.is_most else self.high < 1


@dataclass(frozen=True)
class Change:
    """A metric of a plan at a size, as shipped and as tuned.

    Attributes:
        plan: The plan.
        size_bytes: Its data size.
        metric: Name of the metric.
        shipped: Mean over jobs, variants and seeds as shipped.
        tuned: The same mean as tuned.
        ratio: Geometric mean of the ratios; None if one is undefined.
    """

    plan: str
    size_bytes: int
    metric: str
    shipped: float
    tuned: float
    ratio: float | None


@dataclass(frozen=True)
class Evidence:
    """Results of a point with fresh seeds.

    Attributes:
        confidences: One for each aim.
        changes: Each metric of each plan at each size; metrics not requested only if they have values
            other than 0.
        limits_met: Each limit, with whether every trial meets it.
    """

    confidences: Sequence[Confidence]
    changes: Sequence[Change]
    limits_met: Sequence[tuple[Limit, bool]]


def evidence_of(definition: TuningDefinition, evaluator: Evaluator, point: Point, seeds: int) -> Evidence:
    """Run a point and the plans as shipped with `seeds` seeds that the search did not use.

    Raises:
        TuningError: A trial failed.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; finished trials remain stored.
    """
    fresh_seeds = [range(count, count + seeds) for count in definition.seeds]
    candidates = [
        Candidate(
            [
                loading.reload(plan, [f"iterations={iterations.stop}"])
                for plan, iterations in zip(plans, fresh_seeds, strict=True)
            ],
            fresh_seeds,
        )
        for plans in (definition.space.plans, definition.space.at(point))
    ]
    metrics = list(dict.fromkeys([*definition.metrics, *_EXTRA_METRICS]))
    shipped: dict[str, dict[Key, float]] = {name: {} for name in metrics}
    tuned: dict[str, dict[Key, float]] = {name: {} for name in metrics}
    for stage in range(evaluator.units.stages):
        for values, metric_values in zip(
            (shipped, tuned), evaluator.measure(candidates, stage, metrics), strict=True
        ):
            if metric_values is None:
                text = "a trial failed with a seed that is none of the search"
                raise TuningError(text, "`fabricbench trials` lists it with the reason")
            for name in metrics:
                values[name].update(metric_values[name])
    limits_met = [
        (limit, limit.violation(tuned[limit.metric.name].values()) <= 0) for limit in definition.limits
    ]
    confidences = [
        _confidence(aim, ratios(aim.metric, tuned[aim.metric.name], shipped[aim.metric.name]))
        for aim in definition.aims
    ]
    names = [plan.plan.name for plan in definition.space.plans]
    changes = [
        change
        for change in _changes(names, evaluator.units.sizes, shipped, tuned)
        if change.shipped or change.tuned or change.metric in definition.metrics
    ]
    return Evidence(confidences, changes, limits_met)


def _confidence(aim: Aim, ratio_by_key: Mapping[Key, float]) -> Confidence:
    ratios_by_seed: dict[int, dict[Key, float]] = {}
    for key, ratio in ratio_by_key.items():
        ratios_by_seed.setdefault(key.iteration, {})[key] = ratio
    seed_ratios = [overall(ratios_of_seed) for ratios_of_seed in ratios_by_seed.values()]
    logarithms = [log(ratio) for ratio in seed_ratios]
    mean_logarithm = fmean(logarithms)
    half_width = _quantile(len(seed_ratios) - 1) * stdev(logarithms) / sqrt(len(seed_ratios))
    better = sum(aim.improvement(ratio) < 1 for ratio in seed_ratios)
    return Confidence(
        aim,
        exp(mean_logarithm),
        exp(mean_logarithm - half_width),
        exp(mean_logarithm + half_width),
        better,
        len(seed_ratios),
    )


def _quantile(degrees: int) -> float:
    """Return the two-sided quantile of Student's t for `_LEVEL`.

    By the series in 1 / degrees (Abramowitz and Stegun, 26.7.5), within 1 % from 4 degrees of freedom on.
    """
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / degrees**power for power, term in enumerate(terms)) if degrees else inf


def _changes(
    plans: Sequence[str],
    sizes: Sequence[Sequence[int]],
    shipped: Mapping[str, Mapping[Key, float]],
    tuned: Mapping[str, Mapping[Key, float]],
) -> list[Change]:
    changes = []
    for number, plan in enumerate(plans):
        for size_index, size in enumerate(sizes[number]):
            for name, values in shipped.items():
                keys = [key for key in values if (key.plan, key.size) == (number, size_index)]
                keys = [key for key in keys if key in tuned[name]]
                if not keys:
                    continue
                shipped_values, tuned_values = (
                    {key: values_by_metric[name][key] for key in keys}
                    for values_by_metric in (shipped, tuned)
                )
                ratio_by_key = ratios(BY_NAME[name], tuned_values, shipped_values)
                ratio = (
                    geometric_mean(list(ratio_by_key.values())) if len(ratio_by_key) == len(keys) else None
                )
                means = fmean(shipped_values.values()), fmean(tuned_values.values())
                changes.append(Change(plan, size, name, *means, ratio))
    return changes
