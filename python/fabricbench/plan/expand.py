"""Expands a plan into trials: complete run specs, one for each data size and iteration."""

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
    RunSpec,
    SwitchSpec,
    TransportSpec,
)
from fabricbench.plan.fabric.balancing import Pinned
from fabricbench.plan.fabric.pins import resolve_pins
from fabricbench.plan.jobs.expand import job_specs, tcp_specs
from fabricbench.plan.model import Plan
from fabricbench.plan.scale import scaled
from fabricbench.plan.sweep.cases import AS_IT_STANDS, Case
from fabricbench.plan.sweep.check import rounding_notes
from fabricbench.plan.sweep.labels import solo_job, solo_variant
from fabricbench.plan.sweep.sizes import shown_size, size_kind, trial_sizes

_SEED_BITS: Final = 63


def canonical_json(run_spec: Mapping[str, object]) -> str:
    """Write a run spec as the identity of its result has it: sorted keys, no spaces."""
    return json.dumps(run_spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class PlannedTrial:
    """One run spec to execute.

    Attributes:
        index: Position in the plan's order, from 0.
        variant: Label of the variant of the plan; see `fabricbench.plan.sweep.labels`.
        iteration: Which repetition, from 0.
        data_size_bytes: Size of the sweep, or of the first job of a plan without one; of a job alone, its
            own.
        size_kind: What that size is: `data` or `message`; see `fabricbench.plan.sweep.sizes`.
        run_spec: What is to be run; complete. Trials share its parts: never change it.
        case: The variant in which all jobs run, and the values of swept fields.
        chosen: Why its backend carries it out, where the plan leaves that open; else empty.
        notes: What every report of the result has to say of it besides, a sentence each.
    """

    index: int
    variant: str
    iteration: int
    data_size_bytes: int
    size_kind: str
    run_spec: RunSpec
    case: Case = AS_IT_STANDS
    chosen: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_solo(self) -> bool:
        """Whether one job of several runs alone."""
        return solo_job(self.variant) is not None

    @cached_property
    def spec_json(self) -> str:
        """The run spec as canonical JSON: sorted keys, no spaces."""
        return canonical_json(self.run_spec)


def expand(plan: Plan) -> list[PlannedTrial]:
    """Return the trials of a plan that has been checked, without its variants; see `expand_variants`."""
    return expand_variants({AS_IT_STANDS: plan})


def expand_variants(plans: Mapping[Case, Plan]) -> list[PlannedTrial]:
    """Return the trials of a plan: by combination of swept values, data size, iteration, and then variant.

    Where the plan wants each job alone as well, those trials come before the one they stand beside, and
    each once: a job whose size does not change is the same run beside every size of the others, and one that
    no variant changes the same run in all of them, under the first.

    Args:
        plans: For each variant at each combination the plan with its changes; all have the same number of
            sizes and iterations.
    """
    found = sorted((each for case, plan in plans.items() for each in _found(plan, case)), key=_Found.order)
    trials: list[PlannedTrial] = []
    known: set[str] = set()
    for each in found:
        cast = each.cast
        sized = (each.size, each.size_kind)
        names = (cast.variant, cast.iteration)
        trial = PlannedTrial(len(trials), *names, *sized, each.run_spec, each.case, notes=each.notes)
        if not cast.is_solo or trial.spec_json not in known:
            trials.append(trial)
            known.add(trial.spec_json)
    return trials


@dataclass(frozen=True)
class _Found:
    """A trial before it is known which others there are; `step` is the place of its size in the sweep."""

    case: Case
    step: int
    cast: "_Cast"
    size: int
    size_kind: str
    run_spec: RunSpec
    notes: tuple[str, ...] = ()

    def order(self) -> tuple[int, int, int]:
        """Return what trials are ordered by; those of one key stay in the order of the variants."""
        return self.case.number, self.step, self.cast.iteration


def _found(plan: Plan, case: Case) -> Iterator[_Found]:
    """Yield the trials of one variant at one combination."""
    # Which queue pairs there are may depend on the seed, never on the data size.
    casts = [cast for iteration in range(plan.iterations) for cast in _casts(plan, case.variant, iteration)]
    transport, observe = _transport(plan), plan.observe.run_spec()
    for step, size in enumerate(trial_sizes(plan)):
        for cast in casts:
            spec: RunSpec = {
                "schema_version": SCHEMA_VERSION,
                "seed": run_seed(plan.seed, cast.iteration),
                "fabric": cast.fabric,
                "transport": transport,
                "jobs": job_specs(plan, cast.jobs, size, run_seed(plan.seed, cast.iteration)),
                "tcp": [] if cast.is_solo else tcp_specs(plan),
                "observe": observe,
            }
            own_size = shown_size(plan, plan.jobs[cast.jobs[0]], size) if cast.is_solo else size
            notes = rounding_notes(plan, size, cast.jobs)
            yield _Found(case, step, cast, own_size, size_kind(plan), scaled(spec, plan.scale), notes)


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
    """Yield who runs in an iteration: each job alone if the plan wants it, then all together."""
    everyone = range(len(plan.jobs))
    for job in everyone if plan.solo else ():
        label = solo_variant(variant, plan.jobs[job].name)
        yield _Cast(label, iteration, [job], _without_tcp(_fabric(plan, iteration, [job]), plan))
    yield _Cast(variant, iteration, everyone, _fabric(plan, iteration, everyone))


def first_spec(plan: Plan, iteration: int = 0, jobs: Sequence[int] | None = None) -> RunSpec:
    """Return the run spec of an iteration's first data size, without the pins of its load balancing.

    The engine tells from it which queue pairs there are for pins to name.

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
        "observe": plan.observe.run_spec(),
    }
    return scaled(spec, plan.scale)


def _fabric(plan: Plan, iteration: int, jobs: Sequence[int]) -> FabricSpec:
    """Write the fabric of an iteration out, its pins resolved to queue pairs of the jobs that run."""
    balancing, pins = plan.fabric.load_balancing, []
    if isinstance(balancing, Pinned):
        pins = resolve_pins(balancing.pins, engine.describe(json.dumps(first_spec(plan, iteration, jobs))))
    return plan.fabric.run_spec(plan.transport.priorities.data, pins)


def _without_tcp(fabric: FabricSpec, plan: Plan) -> FabricSpec:
    """Return the fabric of a job alone: switches mark no priority that TCP alone uses."""
    priorities = plan.transport.priorities
    own = {priorities.data, priorities.ack, *([priorities.cnp] if plan.transport.has_cnps else [])}
    others = {tcp.priority for tcp in plan.tcp} - own

    def without(ecn: EcnSpec | None) -> EcnSpec | None:
        if ecn is None or others.isdisjoint(ecn["priorities"]):
            return ecn
        left = [priority for priority in ecn["priorities"] if priority not in others]
        return {**ecn, "priorities": left} if left else None

    switch: SwitchSpec = {**fabric["switch"], "ecn": without(fabric["switch"].get("ecn"))}
    found: FabricSpec = {**fabric, "switch": switch}
    if "switch_settings" in fabric:
        found["switch_settings"] = [
            {**each, "ecn": without(each.get("ecn"))} for each in fabric["switch_settings"]
        ]
    return found


def _transport(plan: Plan) -> TransportSpec:
    return plan.transport.run_spec(plan.fabric.topology.host_link.rate_bps)


def run_seed(seed: int, iteration: int) -> int:
    """Return the seed of an iteration.

    Iteration 0 has the plan's own. Iteration i has the first 8 bytes, big-endian, of SHA-256 over the text
    "seed/i", without the highest bit: it fits a signed 64-bit column.
    """
    if iteration == 0:
        return seed
    digest = hashlib.sha256(f"{seed}/{iteration}".encode()).digest()
    return int.from_bytes(digest[:8], "big") & ((1 << _SEED_BITS) - 1)
