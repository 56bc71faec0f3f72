"""Runs a plan in labs (`run --lab`): fits plan and rates to them, builds one after the other, runs trials.

A lab is the fabric of a plan built of network namespaces on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from fabricbench.cli.output import note
from fabricbench.cli.testbed.lab import default_name, note_omissions
from fabricbench.lab import build, endpoints, trial_groups
from fabricbench.lab.blueprint import Blueprint
from fabricbench.lab.errors import LabError
from fabricbench.lab.kernel.counters import counters
from fabricbench.lab.trial_groups import Excluded, LabPart, lab_trials, parts
from fabricbench.plan import engine
from fabricbench.plan._run_spec import RunSpec
from fabricbench.plan.expand import canonical_json
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.rate_scale import scaled
from fabricbench.runner.interrupts import Interrupts
from fabricbench.runner.trials import Outcome
from fabricbench.store import Trial
from fabricbench.words import counted

ROCE = "roce"
"""The driver that sends from the UDP source ports of the plan."""


class Measure(Protocol):
    """Runs the trials of a plan on the hosts of a lab."""

    def __call__(
        self, one: LoadedPlan, host_settings: Mapping[str, Any], suite: str | None = None
    ) -> Outcome:
        """Run them, as part of the run `suite` if there is one."""


@dataclass(frozen=True)
class LabPlan:
    """A plan as labs run it.

    Attributes:
        loaded: The plan with the trials that labs can run, without the parts that labs lack.
        parts: Its labs, each with its trials.
        driver: Driver of every host; the default if none.
    """

    loaded: LoadedPlan
    parts: Sequence[LabPart]
    driver: str | None

    def lab_prediction(self, predicted: LoadedPlan) -> LoadedPlan:
        """Return the prediction of the plan without the parts that labs lack, of the trials that labs run."""
        run_specs = {trial.spec_json for trial in self.loaded.trials}
        trials = [
            lab_trial for lab_trial in lab_trials(predicted.trials).trials if lab_trial.spec_json in run_specs
        ]
        return replace(predicted, trials=trials, suite=tuple(lab_trials(predicted.suite).trials))

    def measure(self, measure: Measure) -> Outcome:
        """Run the trials of each lab while it is up."""
        done: list[Trial] = []
        suite, stopped_by = None, None
        for number, part in enumerate(self.parts, 1):
            if len(self.parts) > 1:
                names = ", ".join(dict.fromkeys(trial.variant for trial in part.trials))
                note(f"lab {number} of {len(self.parts)}: {names}")
            with built(part.blueprint, self.driver) as settings:
                outcome = measure(replace(self.loaded, trials=list(part.trials)), settings, suite)
            done += outcome.trials
            suite = outcome.trials[0].facts.suite if outcome.trials else suite
            stopped_by = outcome.stopped_by
            if stopped_by is not None:
                break
        done.sort(key=lambda trial: trial.facts.position)
        return Outcome(done, len(self.loaded.trials), stopped_by)


def fitting_scale(loaded: LoadedPlan) -> int:
    """Return the scale at which this machine keeps up with a plan, if run specs can have it, else less."""
    scale = trial_groups.fitting_scale(trial_groups.lab_trials(loaded.trials).trials)
    while scale > trial_groups.SCALE_MIN and not all(
        _can_have(trial.run_spec, scale) for trial in loaded.trials
    ):
        scale = max(trial_groups.SCALE_MIN, scale // 2 // trial_groups.SCALE_MIN * trial_groups.SCALE_MIN)
    if scale > trial_groups.SCALE_MIN:
        note(f"note: --scale {scale}, at which this machine keeps up")
    return scale


def _can_have(run_spec: RunSpec, scale: int) -> bool:
    """Return whether all values of a run spec are within their limits at a scale."""
    return not engine.check(canonical_json(scaled(run_spec, scale)))


def lab_plan(loaded: LoadedPlan, driver: str | None) -> LabPlan:
    """Return a plan, whose rates are scaled already, as labs run it, and note the omitted parts.

    Raises:
        LabError: No lab can run any of its trials, or the rights to build one are missing.
    """
    build.check_rights()
    selection = lab_trials(loaded.trials)
    pinned = driver in {None, ROCE}
    name = default_name(loaded.plan.name)
    labs, too_large = parts(name, loaded.plan.name, selection.trials, 1, pinned=pinned)
    _check_any(loaded, [*selection.excluded, *too_large], labs)
    for omission, count in selection.omissions.items():
        affected = (
            "" if count == len(loaded.trials) else f"{count} of {counted(len(loaded.trials), 'trial')}: "
        )
        note(f"left out in the lab and its prediction: {affected}{omission.field}: {omission.text}")
    trials = sorted((trial for lab in labs for trial in lab.trials), key=lambda trial: trial.index)
    suite = tuple(lab_trials(loaded.suite).trials)
    return LabPlan(replace(loaded, trials=trials, suite=suite), labs, driver)


def _check_any(loaded: LoadedPlan, excluded: Sequence[Excluded], labs: Sequence[LabPart]) -> None:
    reasons: dict[str, list[str]] = {}
    for exclusion in excluded:
        reasons.setdefault(exclusion.reason, []).append(exclusion.trial.variant)
    reason_lines = [f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in reasons.items()]
    if not labs:
        only = next(iter(reasons), "it has no trials")
        reason_text = only if len(reasons) <= 1 else "; ".join(reason_lines)
        raise LabError(
            f"no lab can run {loaded.plan.name}: {reason_text}", "docs/lab.md lists what a lab lacks"
        )
    for reason in reason_lines:
        note(f"not run in a lab: {reason}")


@contextmanager
def built(blueprint: Blueprint, driver: str | None) -> Iterator[dict[str, Any]]:
    """Run a block with a lab; yield the path of its hosts file and the function that reads its links.

    Raises:
        LabError: The lab cannot be made; nothing is left of it.
    """
    defaults = {"driver": driver} if driver else {}
    with Interrupts() as interrupts, endpoints.measuring(blueprint, defaults, interrupts.check) as lab:
        note_omissions(lab)
        yield {"hosts": str(endpoints.hosts_file(lab)), "read_links": lambda: counters(lab)}
