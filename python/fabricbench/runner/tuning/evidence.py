"""Confirms that a point is better than the plans as shipped: runs both again with fresh seeds.

The seeds of the search are not reused: with those, the best of many points looks better than it is.
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
from fabricbench.runner.tuning.aims import Aim, Key, Limit, geometric_mean, overall, ratios
from fabricbench.runner.tuning.evaluation import Candidate, Evaluator
from fabricbench.runner.tuning.space import Point
from fabricbench.runner.tuning.wanted import Wanted

SEEDS_MIN: Final = 5
"""Smallest number of seeds for a meaningful result."""
_LEVEL: Final = 0.95
_BESIDE: Final = ("frames_lost", "queue_max_bytes", "pfc_rx", "ecn_ce_rx")
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
        kept: Each limit, with whether every trial meets it.
    """

    confidences: Sequence[Confidence]
    changes: Sequence[Change]
    kept: Sequence[tuple[Limit, bool]]


def evidence_of(wanted: Wanted, evaluator: Evaluator, point: Point, seeds: int) -> Evidence:
    """Run a point and the plans as shipped with `seeds` seeds that the search did not use.

    Raises:
        TuningError: A trial failed.
        StoreError: The workspace cannot be written, or the disk is full.
        KeyboardInterrupt: The user stopped it; finished trials are kept.
    """
    fresh = [range(count, count + seeds) for count in wanted.seeds]
    pair = [
        Candidate(
            [
                loading.reload(plan, [f"iterations={iterations.stop}"])
                for plan, iterations in zip(plans, fresh, strict=True)
            ],
            fresh,
        )
        for plans in (wanted.space.plans, wanted.space.at(point))
    ]
    metrics = list(dict.fromkeys([*wanted.metrics, *_BESIDE]))
    shipped: dict[str, dict[Key, float]] = {name: {} for name in metrics}
    tuned: dict[str, dict[Key, float]] = {name: {} for name in metrics}
    for stage in range(evaluator.units.stages):
        for values, found in zip((shipped, tuned), evaluator.measure(pair, stage, metrics), strict=True):
            if found is None:
                text = "a trial failed with a seed that is none of the search"
                raise TuningError(text, "`fabricbench trials` lists it with the reason")
            for name in metrics:
                values[name].update(found[name])
    kept = [(each, each.violation(tuned[each.metric.name].values()) <= 0) for each in wanted.limits]
    confidences = [
        _confidence(aim, ratios(aim.metric, tuned[aim.metric.name], shipped[aim.metric.name]))
        for aim in wanted.aims
    ]
    names = [plan.plan.name for plan in wanted.space.plans]
    changes = [
        each
        for each in _changes(names, evaluator.units.sizes, shipped, tuned)
        if each.shipped or each.tuned or each.metric in wanted.metrics
    ]
    return Evidence(confidences, changes, kept)


def _confidence(aim: Aim, found: Mapping[Key, float]) -> Confidence:
    of_seed: dict[int, dict[Key, float]] = {}
    for key, each in found.items():
        of_seed.setdefault(key.iteration, {})[key] = each
    of_seeds = [overall(each) for each in of_seed.values()]
    logarithms = [log(each) for each in of_seeds]
    middle = fmean(logarithms)
    half = _quantile(len(of_seeds) - 1) * stdev(logarithms) / sqrt(len(of_seeds))
    better = sum(aim.improvement(each) < 1 for each in of_seeds)
    return Confidence(aim, exp(middle), exp(middle - half), exp(middle + half), better, len(of_seeds))


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
        for place, size in enumerate(sizes[number]):
            for name, values in shipped.items():
                own = [key for key in values if (key.plan, key.size) == (number, place)]
                own = [key for key in own if key in tuned[name]]
                if not own:
                    continue
                before, after = ({key: each[name][key] for key in own} for each in (shipped, tuned))
                found = ratios(BY_NAME[name], after, before)
                ratio = geometric_mean(list(found.values())) if len(found) == len(own) else None
                means = fmean(before.values()), fmean(after.values())
                changes.append(Change(plan, size, name, *means, ratio))
    return changes
