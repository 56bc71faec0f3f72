"""A plan that has been loaded: its variants, its trials, and what a list and an estimate say of it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fabricbench import units
from fabricbench.plan import engine
from fabricbench.plan.cost import estimate_text
from fabricbench.plan.document.published import PublishedTable
from fabricbench.plan.errors import Problem
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.flow_error import backend_for
from fabricbench.plan.model import Plan
from fabricbench.plan.sweep.cases import Case
from fabricbench.plan.sweep.sizes import size_kind
from fabricbench.plan.sweep.variants import reference_variant
from fabricbench.words import counted


@dataclass(frozen=True)
class PlanSummary:
    """What a list says about a plan.

    `ranks` counts those of all jobs, `hosts` those of the fabric; `published` names the table of published
    results that it is set beside.
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
        published: The published results that stand beside ours, if it names any.
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
    """A plan that can be carried out.

    Attributes:
        plan: The plan as it stands.
        path: The file it came from.
        source: Its name in errors.
        text: The text of that file, as written.
        overrides: The overrides applied to it.
        variants: Its variants, each at every combination of swept values.
        trials: The trials to run: all, or those of the chosen variants.
        suite: All trials, whichever are to run.
        warnings: What can be carried out, but is hardly meant.
        configured: What configurations of devices gave, as overrides, for records.
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
        """What a list says about the plan."""
        sizes = [trial.data_size_bytes for each in self.ends or (self,) for trial in each.trials]
        return PlanSummary(
            name=self.plan.name,
            title=self.plan.title,
            trials=len(self.trials),
            ranks=sum(len(job["hosts"]) for job in self.trials[-1].run_spec["jobs"]),
            hosts=max(variant.plan.fabric.topology.host_count for variant in self.variants),
            variants=[variant.name for variant in self.plan.variants],
            data_size_min_bytes=min(sizes),
            data_size_max_bytes=max(sizes),
            published=self.plan.published,
        )

    @cached_property
    def estimates(self) -> list["engine.Estimate | None"]:
        """What each trial is estimated to cost; none where real hosts run it.

        Iterations differ in their seed alone, and cost the same.
        """
        if self.plan.backend not in engine.ESTIMATED:
            return [None] * len(self.trials)
        known: dict[tuple[object, ...], engine.Estimate | None] = {}
        keys = [(trial.variant, trial.case, trial.data_size_bytes) for trial in self.trials]
        for key, trial in zip(keys, self.trials, strict=True):
            if key not in known:
                spec_json = trial.spec_json
                known[key] = engine.estimate(spec_json, backend_for(spec_json, self.plan.backend))
        return [known[key] for key in keys]

    @property
    def trials_max(self) -> int:
        """How many trials there are; those of a search at most."""
        search = self.plan.search
        return len(self.trials) * (search.values_max if search else 1)

    @property
    def bounds(self) -> list["engine.Estimate"]:
        """What trials are estimated to cost, where that is known; those of a search at most.

        A value between the ends of its range counts as that of the two which takes longer.
        """
        search = self.plan.search
        if search is None:
            return [estimate for estimate in self.estimates if estimate is not None]
        found: list[engine.Estimate] = []
        for ends in zip(*(each.estimates for each in self.ends), strict=True):
            known = [estimate for estimate in ends if estimate is not None]
            longest = sorted(known, key=lambda estimate: estimate["time_ms"])[-1:]
            found += known + longest * search.steps
        return found

    @property
    def cost(self) -> str:
        """What all trials are estimated to cost, in words."""
        return estimate_text(self.bounds)

    @property
    def extent(self) -> str:
        """How much there is to run, in words."""
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
