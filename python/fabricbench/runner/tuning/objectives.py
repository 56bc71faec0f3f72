"""Objectives and constraints of a search: metrics to improve, as ratios to the shipped plan, and limits.

A ratio summarises all plans, sizes, seeds and jobs as the geometric mean of their ratios, so that plans of
different scale have the same weight and neither direction is favoured.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, log
from typing import Final, NamedTuple

from fabricbench.metrics import BY_NAME, Direction, Metric
from fabricbench.plan.errors import Place, PlanError, Problem
from fabricbench.store import Trial
from fabricbench.words import close_match_hint

_LIMIT: Final = re.compile(r"\s*([A-Za-z0-9_]+)\s*(<=|>=|=)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")
_COUNT_OFFSET: Final = 1.0
"""Offset added to counts before division: 0 to 0 is a ratio of 1, and 0 to 1 a ratio of 2."""
_PERCENT_OFFSET: Final = 0.01
"""The same offset for metrics in per cent."""


class Key(NamedTuple):
    """Identifies a value of a metric, equally in a plan as shipped and at a point.

    Attributes:
        plan: Number of the plan.
        variant: Its variant with its swept values.
        size: Index of the data size among those of the plan, from 0.
        iteration: Number of the seed.
        job: Name of the job.
    """

    plan: int
    variant: str
    size: int
    iteration: int
    job: str


Values = Mapping[str, Mapping[Key, float]]
"""Values of metrics, by the name of the metric."""


@dataclass(frozen=True)
class Aim:
    """A metric to improve.

    Attributes:
        metric: The metric.
        is_most: Whether to maximise it instead of minimising.
    """

    metric: Metric
    is_most: bool

    def improvement(self, ratio: float) -> float:
        """Return a ratio oriented so that less than 1 is better."""
        return 1 / ratio if self.is_most else ratio


@dataclass(frozen=True)
class Limit:
    """A constraint on a metric in every trial.

    Attributes:
        metric: The metric.
        relation: `=`, `<=` or `>=`.
        value: The limit, in the unit of the metric.
    """

    metric: Metric
    relation: str
    value: float

    def violation(self, values: Iterable[float]) -> float:
        """Return by how much the worst value violates the limit; 0 or less if all meet it."""
        return max((self._missed(value) for value in values), default=inf)

    def _missed(self, value: float) -> float:
        if self.relation == "=":
            return abs(value - self.value)
        return value - self.value if self.relation == "<=" else self.value - value

    def __str__(self) -> str:
        return f"{self.metric.name}{self.relation}{self.value:g}"


def aims_of(minimized: Sequence[str], maximized: Sequence[str]) -> tuple[Aim, ...]:
    """Return the aims of the options `--minimize` and `--maximize`.

    Raises:
        PlanError: There is no such metric, one is repeated, or there is none at all.
    """
    options = [("--minimize", name) for name in minimized] + [("--maximize", name) for name in maximized]
    if not options:
        raise _refused("--minimize", "no metric", ", ".join(BY_NAME), "--minimize completion_time_ms")
    aims: list[Aim] = []
    for option, name in options:
        metric = _metric(name, f"{option} {name}")
        if any(aim.metric is metric for aim in aims):
            raise _refused(f"{option} {name}", "the metric twice", "each metric once")
        aims.append(Aim(metric, option == "--maximize"))
    return tuple(aims)


def limits_of(texts: Sequence[str]) -> tuple[Limit, ...]:
    """Return the limits of the options `--subject-to`.

    Raises:
        PlanError: One has another form, or there is no such metric.
    """
    return tuple(_limit(text) for text in texts)


def _limit(text: str) -> Limit:
    option = f"--subject-to {text}"
    match = _LIMIT.fullmatch(text)
    if match is None:
        hint = "quote it, as the shell takes < and > for itself: --subject-to 'fct_ms_p99<=20'"
        raise _refused(option, "no limit", "METRIC=VALUE, METRIC<=VALUE or METRIC>=VALUE", hint)
    try:
        value = float(match[3])
    except ValueError:
        raise _refused(option, match[3], "a number in the unit of the metric") from None
    return Limit(_metric(match[1], option), match[2], value)


def _metric(name: str, option: str) -> Metric:
    if name in BY_NAME:
        return BY_NAME[name]
    words = set(re.split("[^a-z0-9]+", name.lower()))
    matches = [metric for metric in BY_NAME if words <= set(metric.split("_"))]
    hint = f"did you mean `{matches[0]}`?" if len(matches) == 1 else close_match_hint(name, BY_NAME)
    raise _refused(option, f'no metric "{name}"', ", ".join(BY_NAME), hint)


def _refused(option: str, problem: str, allowed: str, hint: str = "") -> PlanError:
    return PlanError([Problem(Place(option), "", problem, allowed, hint)])


def check_direction(aim: Aim) -> str | None:
    """Return a remark if an aim makes a metric worse; None otherwise."""
    if aim.is_most == (aim.metric.direction is Direction.HIGHER):
        return None
    direction = Direction.HIGHER if aim.is_most else Direction.LOWER
    return f"{aim.metric.name} is better when {aim.metric.direction}, and this search makes it {direction}"


def values_of(trials: Iterable[tuple[Key, Trial]], metrics: Collection[str]) -> dict[str, dict[Key, float]]:
    """Return the values of metrics in finished trials, from their stored results.

    Args:
        trials: Trials with their keys, in which the job is not set.
        metrics: Names of the metrics.
    """
    values_by_metric: dict[str, dict[Key, float]] = {name: {} for name in metrics}
    for key, trial in trials:
        for row in trial.results:
            job_key = key._replace(job=str(row["job"]))
            for name in metrics:
                if (value := row.get(name)) is not None:
                    values_by_metric[name][job_key] = float(value)
    return values_by_metric


def ratio(metric: Metric, value: float, shipped: float) -> float | None:
    """Return the ratio of a value to that of the plan as shipped; None if it is undefined."""
    offset = _COUNT_OFFSET if metric.is_count else _PERCENT_OFFSET if metric.unit == "%" else 0.0
    value, shipped = value + offset, shipped + offset
    return value / shipped if value > 0 and shipped > 0 else None


def ratios(metric: Metric, values: Mapping[Key, float], shipped: Mapping[Key, float]) -> dict[Key, float]:
    """Return the ratio of each value that both mappings have."""
    ratio_by_key = {key: ratio(metric, values[key], shipped[key]) for key in shipped if key in values}
    return {key: key_ratio for key, key_ratio in ratio_by_key.items() if key_ratio is not None}


def overall(ratio_by_key: Mapping[Key, float]) -> float:
    """Return the overall ratio: each plan has the same weight, and each size within a plan."""
    ratios_by_size: dict[tuple[int, int], list[float]] = {}
    for key, key_ratio in ratio_by_key.items():
        ratios_by_size.setdefault((key.plan, key.size), []).append(key_ratio)
    means_by_plan: dict[int, list[float]] = {}
    for (plan, _), group in ratios_by_size.items():
        means_by_plan.setdefault(plan, []).append(geometric_mean(group))
    return geometric_mean([geometric_mean(group) for group in means_by_plan.values()])


def geometric_mean(values: Collection[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return exp(fsum(map(log, values)) / len(values))
