"""Runs a search: Optuna suggests points (field values), plans run there by size, a journal has the results.

Points are suggested in groups of a size that the user chooses and reported in order, and the random draw of a
point depends on its number alone. So the same command suggests the same points on any machine, even after an
interruption.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fabricbench.plan.errors import PlanError
from fabricbench.runner.messages import TuningError
from fabricbench.runner.tuning.definition import Ending, Tried, TuningDefinition
from fabricbench.runner.tuning.evaluation import Candidate, Evaluator, MetricValues
from fabricbench.runner.tuning.journal import library, locked, storage_of, unusable
from fabricbench.runner.tuning.objectives import Aim, overall, ratios
from fabricbench.runner.tuning.space import Point

if TYPE_CHECKING:
    from pathlib import Path

    from optuna import Study
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial


FOLDER: Final = "tuning"
"""Folder of the journals within a workspace."""
_STARTUP: Final = 10
"""Number of first points, which are random and never stopped early."""
_POINT: Final = "point"
_RATIOS: Final = "ratios"
_VIOLATIONS: Final = "violations"
_ENDING: Final = "why"


class Search:
    """A search that resumes where it ended."""

    def __init__(
        self,
        definition: TuningDefinition,
        evaluator: Evaluator,
        root: Path,
        report: Callable[[Tried, int], None],
    ) -> None:
        """Open the journal of a search.

        Args:
            definition: Definition of the search.
            evaluator: Runs the trials.
            root: The folder of the workspace.
            report: Called with each finished point and the number of points so far.

        Raises:
            TuningError: Optuna is not installed, or the same search is already running.
            StoreError: The journal cannot be read or written.
        """
        self._definition = definition
        self._evaluator = evaluator
        self._units = evaluator.units
        self._report = report
        self._optuna = library()
        self.journal = root / FOLDER / f"{definition.id}.journal"
        self._lock = locked(self.journal)
        self._study = self._opened()
        self._shipped: list[MetricValues] = []

    def _opened(self) -> Study:
        optuna, aims = self._optuna, self._definition.aims
        directions = ["maximize" if aim.is_most else "minimize" for aim in aims]
        pruner = optuna.pruners.NopPruner()
        if self.stops_early:
            pruner = optuna.pruners.MedianPruner(n_startup_trials=_STARTUP)
        try:
            study: Study = optuna.create_study(
                storage=storage_of(self.journal),
                study_name=self._definition.id,
                directions=directions,
                pruner=pruner,
                load_if_exists=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a line that is not JSON
            raise unusable(self.journal, error) from error
        return study

    @property
    def stops_early(self) -> bool:
        """Whether a point may end before its largest size: there is one aim, and there are several sizes."""
        definition = self._definition
        return definition.is_stopping and len(definition.aims) == 1 and self._units.stages > 1

    def run(self, trials: int) -> None:
        """Try points until there are `trials` of them.

        Raises:
            TuningError: A metric is never measured, or a plan as shipped has no result.
            StoreError: The workspace cannot be written, or the disk is full.
            KeyboardInterrupt: The user stopped it; finished trials remain stored.
        """
        self._measure_shipped()
        try:
            self._run(trials)
        except OSError as error:
            raise unusable(self.journal, error) from error

    def _run(self, trials: int) -> None:
        at_once = self._definition.at_once
        while True:
            group = self._unfinished()
            point_count = len(self._study.trials)
            # An interrupted group is completed before the next one starts.
            missing = -point_count % at_once if group or point_count % at_once else at_once
            group += [
                self._suggested(point_count + index) for index in range(min(missing, trials - point_count))
            ]
            if not group:
                return
            for tried, trial in self._tried(group):
                self._record(tried, trial)

    def _unfinished(self) -> list[Trial]:
        """Return the suggested points without a result, e.g. after an interruption."""
        from optuna.trial import TrialState

        running = self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return [self._suggested(trial.number, trial) for trial in running]

    def _suggested(self, number: int, unfinished: FrozenTrial | None = None) -> Trial:
        """Return a suggested point; its random draw depends on its number alone."""
        from optuna.trial import Trial

        self._study.sampler = self._sampler(number)
        distributions = self._definition.space.distributions()
        if unfinished is None:
            return self._study.ask(distributions)
        trial = Trial(self._study, unfinished._trial_id)
        for name, distribution in distributions.items():
            trial._suggest(name, distribution)
        return trial

    def _sampler(self, number: int) -> BaseSampler:
        digest = hashlib.sha256(f"{self._definition.seed}/{number}".encode()).digest()
        sampler: BaseSampler = self._optuna.samplers.TPESampler(
            n_startup_trials=_STARTUP,
            multivariate=True,
            constant_liar=True,
            seed=int.from_bytes(digest[:4], "big"),
        )
        if number == 0:  # start from the values of the shipped plan
            shipped_point = self._definition.space.first()
            sampler = self._optuna.samplers.PartialFixedSampler(shipped_point, sampler)
        return sampler

    def _measure_shipped(self) -> None:
        """Run the plans as shipped, and check that every metric is measured."""
        definition, shipped = self._definition, self._definition.shipped()
        self._shipped = []
        for stage in range(self._units.stages):
            metric_values = self._evaluator.measure([shipped], stage, definition.metrics)[0]
            if metric_values is None:
                text = "a trial of a plan as shipped failed"
                raise TuningError(text, "`fabricbench trials` lists it with the reason")
            self._check_measured(metric_values, stage)
            self._shipped.append(metric_values)

    def _check_measured(self, metric_values: MetricValues, stage: int) -> None:
        for metric, values in metric_values.items():
            for number, plan in enumerate(self._definition.space.plans):
                has_size = stage < len(self._units.sizes[number])
                if has_size and not any(key.plan == number for key in values):
                    text = f"{metric} is never measured by {plan.plan.name}"
                    hint = f"`fabricbench show {plan.plan.name}` has the metrics of its jobs"
                    raise TuningError(text, hint)
        for aim in self._definition.aims:
            values = metric_values[aim.metric.name]
            if len(ratios(aim.metric, values, values)) < len(values):
                text = f"{aim.metric.name} is 0 in a plan as shipped, to which nothing has a ratio"
                raise TuningError(text, "--subject-to takes metrics of any value")

    def _tried(self, group: Sequence[Trial]) -> list[tuple[Tried, Trial]]:
        """Run a group of points, size by size."""
        endings: dict[int, Tried] = {}
        running: dict[int, tuple[Trial, Point, Candidate, list[MetricValues]]] = {}
        for trial in group:
            point = self._definition.space.point(trial.params)
            try:
                running[trial.number] = trial, point, self._definition.candidate(point), []
            except PlanError:
                endings[trial.number] = Tried(trial.number, point, Ending.INVALID)
        for stage in range(self._units.stages):
            measured = self._evaluator.measure(
                [candidate for _, _, candidate, _ in running.values()], stage, self._definition.metrics
            )
            for (number, (trial, point, _, values)), size_values in zip(
                list(running.items()), measured, strict=True
            ):
                ending = self._added(trial, values, size_values, stage)
                if ending is not None:
                    endings[number] = self._ended(trial.number, point, values, ending)
                    del running[number]
        return [(endings[trial.number], trial) for trial in group]

    def _added(
        self, trial: Trial, values: list[MetricValues], new: MetricValues | None, stage: int
    ) -> Ending | None:
        """Add the values of one more size; return the point's ending, or None if it continues."""
        if new is None or not self._is_whole(new, self._shipped[stage]):
            return Ending.NO_RESULT
        values.append(new)
        if stage + 1 == self._units.stages:
            return Ending.COMPLETE
        if self.stops_early:
            trial.report(self._ratios(values)[0], stage)
            if trial.should_prune():
                return Ending.STOPPED
        return None

    def _is_whole(self, metric_values: MetricValues, shipped: MetricValues) -> bool:
        """Whether every metric has all values that it has as shipped, and all aims have ratios."""
        has_values = all(
            shipped_values.keys() <= metric_values[name].keys() for name, shipped_values in shipped.items()
        )
        return has_values and all(
            len(ratios(metric, metric_values[metric.name], shipped[metric.name])) == len(shipped[metric.name])
            for metric in (aim.metric for aim in self._definition.aims)
        )

    def _ended(self, number: int, point: Point, values: Sequence[MetricValues], ending: Ending) -> Tried:
        limits = self._definition.limits
        if ending is Ending.NO_RESULT:
            return Tried(number, point, ending)
        violations = [
            limit.violation(
                [value for metric_values in values for value in metric_values[limit.metric.name].values()]
            )
            for limit in limits
        ]
        return Tried(
            number, point, ending, self._ratios(values) if ending is Ending.COMPLETE else (), violations
        )

    def _ratios(self, values: Sequence[MetricValues]) -> list[float]:
        """Return for each aim the overall ratio of all sizes so far."""
        return [
            overall(
                {
                    key: ratio
                    for metric_values, shipped in zip(values, self._shipped, strict=False)
                    for key, ratio in ratios(
                        aim.metric, metric_values[aim.metric.name], shipped[aim.metric.name]
                    ).items()
                }
            )
            for aim in self._definition.aims
        ]

    def _record(self, tried: Tried, trial: Trial) -> None:
        from optuna.trial import TrialState

        trial.set_user_attr(_POINT, dict(tried.point))
        trial.set_user_attr(_ENDING, tried.ending.value)
        trial.set_user_attr(_RATIOS, list(tried.ratios))
        violations = tried.violations or [1.0] * len(self._definition.limits)
        trial.set_user_attr(_VIOLATIONS, list(violations))
        for limit, violation in zip(self._definition.limits, violations, strict=True):
            if str(limit) not in trial.constraints:
                trial.set_constraint(str(limit), violation)
        if tried.ending is Ending.COMPLETE:
            self._study.tell(trial, list(tried.ratios))
        else:
            self._study.tell(trial, state=TrialState.PRUNED)
        self._report(tried, tried.number + 1)

    def tried(self) -> list[Tried]:
        """Return the points that have ended, in the order in which they were suggested."""
        return [
            Tried(
                trial.number,
                trial.user_attrs[_POINT],
                Ending(trial.user_attrs[_ENDING]),
                trial.user_attrs[_RATIOS],
                trial.user_attrs[_VIOLATIONS],
            )
            for trial in self._study.get_trials(deepcopy=False)
            if trial.state.is_finished()
        ]

    def importances(self) -> list[Mapping[str, float]]:
        """Return for each aim the importance of each field by PED-ANOVA; empty if unknown."""
        return [self._importance(index, aim) for index, aim in enumerate(self._definition.aims)]

    def _importance(self, index: int, aim: Aim) -> Mapping[str, float]:
        from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

        sign = -1 if aim.is_most else 1  # the evaluator rates fields by their effect on low values
        with warnings.catch_warnings(), suppress(ValueError, RuntimeError):  # too few points, or all equal
            warnings.simplefilter("ignore")
            importances: Mapping[str, float] = get_param_importances(
                self._study,
                evaluator=PedAnovaImportanceEvaluator(),
                target=lambda trial: sign * trial.values[index],
            )
            return importances
        return {}

    def close(self) -> None:
        """Release the journal."""
        self._lock.close()
