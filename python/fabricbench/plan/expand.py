"""Expands a plan into trials: one run spec per combination of swept values, size, iteration and variant.

With `solo`, each job also runs by itself. The random seed of a trial depends on its iteration.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fabricbench.plan import engine
from fabricbench.plan._run_spec import (
    SCHEMA_VERSION,
    EcnSpec,
    FabricSpec,
    ObserveSpec,
    RunSpec,
    SwitchSpec,
    TransportSpec,
)
from fabricbench.plan.fabric.load_balancing import Pinned
from fabricbench.plan.fabric.pins import resolve_pins
from fabricbench.plan.jobs.expand import job_specs, tcp_specs
from fabricbench.plan.jobs.nccl_run import chunks_observed, qp_mode
from fabricbench.plan.model import Plan
from fabricbench.plan.rate_scale import scaled
from fabricbench.plan.sweep.cases import BASE_CASE, Case
from fabricbench.plan.sweep.check import rounding_notes
from fabricbench.plan.sweep.labels import solo_job, solo_variant
from fabricbench.plan.sweep.sizes import shown_size, size_kind, trial_sizes

_SEED_BITS: Final = 63


def canonical_json(run_spec: Mapping[str, object]) -> str:
    """Return a run spec as the JSON text that identifies its result: sorted keys, no spaces."""
    return json.dumps(run_spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class PlannedTrial:
    """One run spec to execute.

    Attributes:
        index: Position in the plan's order, from 0.
        variant: Label of the variant of the plan; see `fabricbench.plan.sweep.labels`.
        iteration: Which repetition, from 0.
        data_size_bytes: Size of the sweep, or of the first job of a plan without one; for a single job, its
            own.
        size_kind: Kind of that size: `data` or `message`; see `fabricbench.plan.sweep.sizes`.
        run_spec: The complete run spec. Trials share its parts: never change it.
        case: The variant in which all jobs run, and the values of swept fields.
        chosen: Reason for its backend, if the plan does not name one; else empty.
        notes: Notes for every report of the result, a sentence each.
    """

    index: int
    variant: str
    iteration: int
    data_size_bytes: int
    size_kind: str
    run_spec: RunSpec
    case: Case = BASE_CASE
    chosen: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_solo(self) -> bool:
        """Whether a single job of several runs."""
        return solo_job(self.variant) is not None

    @cached_property
    def spec_json(self) -> str:
        """The run spec as canonical JSON: sorted keys, no spaces."""
        return canonical_json(self.run_spec)


def expand(plan: Plan) -> list[PlannedTrial]:
    """Return the trials of a plan that has been checked, without its variants; see `expand_variants`."""
    return expand_variants({BASE_CASE: plan})


def expand_variants(plans: Mapping[Case, Plan]) -> list[PlannedTrial]:
    """Return the trials of a plan: by combination of swept values, data size, iteration, and then variant.

    If the plan runs each job alone as well, those trials precede the trial of all jobs, and equal ones run
    once: a job whose size does not change is the same run for every size of the others, and one that no
    variant changes is the same run in all of them, under the first.

    Args:
        plans: For each variant at each combination the plan with its changes; all have the same number of
            sizes and iterations.
    """
    unnumbered = sorted(
        (
            unnumbered_trial
            for case, plan in plans.items()
            for unnumbered_trial in _variant_trials(plan, case)
        ),
        key=_UnnumberedTrial.order,
    )
    trials: list[PlannedTrial] = []
    seen_specs: set[str] = set()
    for unnumbered_trial in unnumbered:
        group = unnumbered_trial.cast
        size_and_kind = (unnumbered_trial.size, unnumbered_trial.size_kind)
        variant_and_iteration = (group.variant, group.iteration)
        trial = PlannedTrial(
            len(trials),
            *variant_and_iteration,
            *size_and_kind,
            unnumbered_trial.run_spec,
            unnumbered_trial.case,
            notes=unnumbered_trial.notes,
        )
        if not group.is_solo or trial.spec_json not in seen_specs:
            trials.append(trial)
            seen_specs.add(trial.spec_json)
    return trials


@dataclass(frozen=True)
class _UnnumberedTrial:
    """A trial before it is ordered and numbered; `step` is the index of its size in the sweep."""

    case: Case
    step: int
    cast: "_Cast"
    size: int
    size_kind: str
    run_spec: RunSpec
    notes: tuple[str, ...] = ()

    def order(self) -> tuple[int, int, int]:
        """Return the sort key; trials of equal keys remain in the order of the variants."""
        return self.case.number, self.step, self.cast.iteration


def _variant_trials(plan: Plan, case: Case) -> Iterator[_UnnumberedTrial]:
    """Yield the trials of one variant at one combination."""
    # The queue pairs may depend on the seed, never on the data size.
    groups = [
        group for iteration in range(plan.iterations) for group in _casts(plan, case.variant, iteration)
    ]
    transport, observe = _transport(plan), _observe(plan)
    for step, size in enumerate(trial_sizes(plan)):
        for group in groups:
            spec: RunSpec = {
                "schema_version": SCHEMA_VERSION,
                "seed": run_seed(plan.seed, group.iteration),
                "fabric": group.fabric,
                "transport": transport,
                "jobs": job_specs(plan, group.jobs, size, run_seed(plan.seed, group.iteration)),
                "tcp": [] if group.is_solo else tcp_specs(plan),
                "observe": observe,
            }
            own_size = shown_size(plan, plan.jobs[group.jobs[0]], size) if group.is_solo else size
            notes = rounding_notes(plan, size, group.jobs)
            yield _UnnumberedTrial(
                case, step, group, own_size, size_kind(plan), scaled(spec, plan.scale), notes
            )


@dataclass(frozen=True)
class _Cast:
    """The jobs of a plan that run together in an iteration, on a fabric whose pins name their queue pairs."""

    variant: str
    iteration: int
    jobs: Sequence[int]
    fabric: FabricSpec

    @property
    def is_solo(self) -> bool:
        return solo_job(self.variant) is not None


def _casts(plan: Plan, variant: str, iteration: int) -> Iterator[_Cast]:
    """Yield the groups of jobs of an iteration: each single job if the plan has `solo`, then all together."""
    everyone = range(len(plan.jobs))
    for job in everyone if plan.solo else ():
        label = solo_variant(variant, plan.jobs[job].name)
        yield _Cast(label, iteration, [job], _without_tcp(_fabric(plan, iteration, [job]), plan))
    yield _Cast(variant, iteration, everyone, _fabric(plan, iteration, everyone))


def first_spec(plan: Plan, iteration: int = 0, jobs: Sequence[int] | None = None) -> RunSpec:
    """Return the run spec of an iteration's first data size, without the pins of its load balancing.

    The engine returns from it the queue pairs that pins may name.

    Args:
        plan: The plan.
        iteration: The iteration.
        jobs: The jobs that run; all by default.
    """
    spec: RunSpec = {
        "schema_version": SCHEMA_VERSION,
        "seed": run_seed(plan.seed, iteration),
        "fabric": plan.fabric.run_spec(plan.transport.priorities.data, []),
        "transport": _transport(plan),
        "jobs": job_specs(
            plan,
            range(len(plan.jobs)) if jobs is None else jobs,
            trial_sizes(plan)[0],
            run_seed(plan.seed, iteration),
        ),
        "tcp": tcp_specs(plan),  # whose priority may be among those that switches mark
        "observe": _observe(plan),
    }
    return scaled(spec, plan.scale)


def _observe(plan: Plan) -> ObserveSpec:
    return {**plan.observe.run_spec(), "chunks": chunks_observed(plan)}


def _fabric(plan: Plan, iteration: int, jobs: Sequence[int]) -> FabricSpec:
    """Return the fabric of an iteration, its pins resolved to queue pairs of the jobs that run."""
    balancing, pins = plan.fabric.load_balancing, []
    if isinstance(balancing, Pinned):
        pins = resolve_pins(balancing.pins, engine.describe(json.dumps(first_spec(plan, iteration, jobs))))
    return plan.fabric.run_spec(plan.transport.priorities.data, pins)


def _without_tcp(fabric: FabricSpec, plan: Plan) -> FabricSpec:
    """Return the fabric of a single job: switches mark no priority that only TCP uses."""
    priorities = plan.transport.priorities
    other_traffic_priorities = {
        *plan.data_priorities,
        priorities.ack,
        *([priorities.cnp] if plan.transport.has_cnps else []),
    }
    tcp_only_priorities = {tcp.priority for tcp in plan.tcp} - other_traffic_priorities

    def without_tcp_priorities(ecn: EcnSpec | None) -> EcnSpec | None:
        if ecn is None or tcp_only_priorities.isdisjoint(ecn["priorities"]):
            return ecn
        priorities_without_tcp = [
            priority for priority in ecn["priorities"] if priority not in tcp_only_priorities
        ]
        return {**ecn, "priorities": priorities_without_tcp} if priorities_without_tcp else None

    switch: SwitchSpec = {**fabric["switch"], "ecn": without_tcp_priorities(fabric["switch"].get("ecn"))}
    changed_fabric: FabricSpec = {**fabric, "switch": switch}
    if "switch_settings" in fabric:
        changed_fabric["switch_settings"] = [
            {**settings, "ecn": without_tcp_priorities(settings.get("ecn"))}
            for settings in fabric["switch_settings"]
        ]
    return changed_fabric


def _transport(plan: Plan) -> TransportSpec:
    spec = plan.transport.run_spec(plan.fabric.topology.host_link.rate_bps)
    return {**spec, "qp_mode": qp_mode(plan)}


def run_seed(seed: int, iteration: int) -> int:
    """Return the seed of an iteration.

    Iteration 0 has the plan's own. Iteration i has the first 8 bytes, big-endian, of SHA-256 over the text
    "seed/i", without the highest bit: it fits a signed 64-bit column.
    """
    if iteration == 0:
        return seed
    digest = hashlib.sha256(f"{seed}/{iteration}".encode()).digest()
    return int.from_bytes(digest[:8], "big") & ((1 << _SEED_BITS) - 1)
