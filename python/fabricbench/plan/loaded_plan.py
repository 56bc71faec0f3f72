"""A loaded and checked plan: its variants, trials, summary for lists, and estimated time and memory."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.document.published import PublishedTable
from fabricbench.plan.errors import Problem
from fabricbench.plan.estimates.cost import estimate_text
from fabricbench.plan.estimates.flow_error import backend_for
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.cases import Case
from fabricbench.plan.sweep.sizes import size_kind
from fabricbench.plan.sweep.variants import reference_variant
from fabricbench.words import counted


@dataclass(frozen=True)
class PlanSummary:
    """Row of a plan in a list.

    `ranks` counts those of all jobs, `hosts` those of the fabric; `published` names the table of published
    results to compare with.
    """

    name: str
    title: str
    trials: int
    ranks: int
    hosts: int
    variants: list[str]
    data_size_min_bytes: int
    data_size_max_bytes: int
    published: str | None


@dataclass(frozen=True)
class LoadedVariant:
    """A variant of a plan at one combination of swept values, or the only one of a plan without either.

    Attributes:
        case: Its name, which is `base` for a plan without variants, and the combination.
        plan: The plan with its changes.
        published: The published results to compare with, if it names any.
    """

    case: Case
    plan: Plan
    published: PublishedTable | None

    @property
    def label(self) -> str:
        """Label of the variant."""
        return self.case.variant


@dataclass(frozen=True)
class LoadedPlan:
    """A plan that can be run.

    Attributes:
        plan: The base plan.
        path: The file of the plan.
        source: Its name in errors.
        text: The text of that file, as written.
        overrides: The overrides applied to it.
        variants: Its variants, each at every combination of swept values.
        trials: The trials to run: all, or those of the chosen variants.
        suite: All trials, also those that are not to run.
        warnings: Settings that are valid but hardly intended.
        configured: Values of device configurations, as overrides, for records.
        ends: Of a plan with a search, the plan at the lower and at the upper end of its range, without it.
    """

    plan: Plan
    path: Path
    source: str
    text: str
    overrides: tuple[str, ...]
    variants: tuple[LoadedVariant, ...]
    trials: list[PlannedTrial]
    suite: tuple[PlannedTrial, ...]
    warnings: tuple[Problem, ...] = ()
    configured: tuple[str, ...] = ()
    ends: tuple["LoadedPlan", ...] = ()

    def variant_of(self, trial: PlannedTrial) -> LoadedVariant:
        """Return the variant that a trial belongs to."""
        return self._by_case[trial.case]

    @cached_property
    def _by_case(self) -> dict[Case, LoadedVariant]:
        return {variant.case: variant for variant in self.variants}

    @property
    def reference(self) -> str | None:
        """Name of the variant that the others are compared with; none without variants."""
        return reference_variant(self.plan.variants)

    @property
    def summary(self) -> PlanSummary:
        """Summary of the plan for lists."""
        sizes = [trial.data_size_bytes for loaded in self.ends or (self,) for trial in loaded.trials]
        return PlanSummary(
            name=self.plan.name,
            title=self.plan.title,
            trials=len(self.trials),
            ranks=sum(len(job["hosts"]) for job in self.trials[-1].run_spec["jobs"]),
            hosts=max(variant.plan.fabric.host_count for variant in self.variants),
            variants=[variant.name for variant in self.plan.variants],
            data_size_min_bytes=min(sizes),
            data_size_max_bytes=max(sizes),
            published=self.plan.published,
        )

    @cached_property
    def estimates(self) -> list["engine.Estimate | None"]:
        """Estimated cost of each trial; none if real hosts run it.

        Iterations differ only in their seed, and have the same cost.
        """
        if self.plan.backend not in engine.ESTIMATED:
            return [None] * len(self.trials)
        estimate_by_key: dict[tuple[object, ...], engine.Estimate | None] = {}
        keys = [(trial.variant, trial.case, trial.data_size_bytes) for trial in self.trials]
        for key, trial in zip(keys, self.trials, strict=True):
            if key not in estimate_by_key:
                spec_json = trial.spec_json
                estimate_by_key[key] = engine.estimate(spec_json, backend_for(spec_json, self.plan.backend))
        return [estimate_by_key[key] for key in keys]

    @property
    def trials_max(self) -> int:
        """Number of trials; the largest possible number for a search."""
        search = self.plan.search
        return len(self.trials) * (search.values_max if search else 1)

    @property
    def bounds(self) -> list["engine.Estimate"]:
        """Estimated cost of the trials that have an estimate; an upper bound for a search.

        A value between the ends of its range counts as the end that takes longer.
        """
        search = self.plan.search
        if search is None:
            return [estimate for estimate in self.estimates if estimate is not None]
        bounds: list[engine.Estimate] = []
        for ends in zip(*(end_plan.estimates for end_plan in self.ends), strict=True):
            end_estimates = [estimate for estimate in ends if estimate is not None]
            longest = sorted(end_estimates, key=lambda estimate: estimate["time_ms"])[-1:]
            bounds += end_estimates + longest * search.steps
        return bounds

    @property
    def cost(self) -> str:
        """Estimated cost of all trials, in words."""
        return estimate_text(self.bounds)

    @property
    def extent(self) -> str:
        """Number and sizes of the trials, in words."""
        summary = self.summary
        trials = counted(summary.trials, "trial")
        trials += f" of {counted(len(summary.variants), 'variant')}" if summary.variants else ""
        combinations = len({trial.case.number for trial in self.trials})
        trials += f" at {combinations} combinations" if combinations > 1 else ""
        search = self.plan.search
        trials += f", at up to {search.values_max} values of {search.field}" if search else ""
        smallest = units.human_size(summary.data_size_min_bytes)
        largest = units.human_size(summary.data_size_max_bytes)
        sizes = smallest if smallest == largest else f"{smallest} to {largest}"
        ranks = f"{counted(summary.ranks, 'rank')} on {counted(summary.hosts, 'host')}"
        return f"{trials}, {ranks}, {size_kind(self.plan)} size {sizes}"
