"""Groups compared trials into curves: each with the other data sizes of its run, and a unique name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.metrics import BUS_BANDWIDTH, HEADLINES, METRICS, Metric
from fabricbench.results.axes import axes_label
from fabricbench.results.job_reports import JobReport, reports_of_run
from fabricbench.results.result_source import made
from fabricbench.store import Trial


@dataclass(frozen=True)
class Curve:
    """One curve of a comparison, at every size of its run.

    Attributes:
        name: Name that is unique among the curves.
        jobs: Every job at every size, in the order of the plan.
        chosen: Ids of the trials that the comparison names.
    """

    name: str
    jobs: Sequence[JobReport]
    chosen: Collection[str]


@dataclass
class _Members:
    """The trials of a curve, and the ids of those that the comparison names."""

    trials: Sequence[Trial]
    chosen: list[str] = field(default_factory=list)


def compared_curves(
    trials: Sequence[Trial], run_of: Callable[[Trial], Sequence[Trial]], *, every_variant: bool
) -> list[Curve]:
    """Return a curve for each compared variant; trials that differ only in size are on one curve.

    Args:
        trials: The trials that the comparison names, the reference first.
        run_of: Returns the finished trials of the run of a trial.
        every_variant: Whether all variants of their runs are compared, rather than their own.
    """
    members_by_key: dict[tuple[object, ...], _Members] = {}
    for trial in trials:
        for variant_trials in _trials_by_variant(trial, run_of(trial), every_variant=every_variant):
            key = _key(variant_trials[0])
            own = members_by_key.setdefault(key, _Members(variant_trials))
            if key == _key(trial):
                own.chosen.append(trial.id)
    members = list(members_by_key.values())
    names = _names([member.trials[0] for member in members])
    return [
        Curve(name, reports_of_run(member.trials), member.chosen)
        for name, member in zip(names, members, strict=True)
    ]


def _trials_by_variant(trial: Trial, run: Sequence[Trial], *, every_variant: bool) -> list[list[Trial]]:
    """Return the trials with equal swept values and iteration at every size, for each variant."""
    facts = trial.facts
    trials_by_variant: dict[str, list[Trial]] = {}
    for candidate in run:
        own, variant = candidate.facts, candidate.facts.variant
        is_compared = variant == facts.variant or (every_variant and not is_solo(variant))
        if is_compared and own.iteration == facts.iteration and own.axes == facts.axes:
            trials_by_variant.setdefault(variant, []).append(candidate)
    return list(trials_by_variant.values())


def _key(trial: Trial) -> tuple[object, ...]:
    facts = trial.facts
    return facts.suite, facts.variant, axes_label(trial), facts.iteration


def _names(trials: Sequence[Trial]) -> list[str]:
    """Return names of trials from the fields that differ between them, with ids where not unique."""
    descriptions = [_name_parts(trial) for trial in trials]
    differing = [
        index for index in range(len(descriptions[0])) if len({words[index] for words in descriptions}) > 1
    ]
    names = [", ".join(words[index] for index in differing if words[index]) for words in descriptions]
    return [
        name if name and names.count(name) == 1 else f"{name or trial.facts.plan}, {trial.id}"
        for name, trial in zip(names, trials, strict=True)
    ]


def _name_parts(trial: Trial) -> tuple[str, ...]:
    facts = trial.facts
    variant = "" if facts.variant == "base" else facts.variant
    return facts.plan, facts.tag, made(trial), variant, axes_label(trial), f"iteration {facts.iteration}"


def shown_metrics(curves: Sequence[Curve]) -> list[Metric]:
    """Return the metrics that any of the curves has, the headline metrics of their jobs first."""
    summaries = [job.summary for curve in curves for job in curve.jobs]
    measured = [
        metric for metric in METRICS if any(summary.value(metric.name) is not None for summary in summaries)
    ]
    leading = {HEADLINES[summary.kind].name for summary in summaries}
    return sorted(measured, key=lambda metric: (metric != BUS_BANDWIDTH, metric.name not in leading))
