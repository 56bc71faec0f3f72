"""Expands a plan into trials: complete run specs, one for each data size and iteration."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fabricbench.plan import engine
from fabricbench.plan._run_spec import (
    FabricSpec,
    JobSpec,
    ObserveSpec,
    RunSpec,
    TransportSpec,
)
from fabricbench.plan.balancing import Pinned
from fabricbench.plan.model import Job, Observe, Plan
from fabricbench.plan.pins import resolve_pins
from fabricbench.plan.sizes import job_size, trial_sizes

SCHEMA_VERSION: Final = 1
"""Version of the run spec that this module writes."""
BASE_VARIANT: Final = "base"
"""Label of the trials of a plan as it stands."""
_SEED_BITS: Final = 63


@dataclass(frozen=True)
class PlannedTrial:
    """One run spec to execute.

    Attributes:
        index: Position in the plan's order, from 0.
        variant: Label of the variant of the plan.
        iteration: Which repetition, from 0.
        data_size_bytes: Data size of the sweep, or of the first job of a plan without one.
        run_spec: What the engine is told; complete. Trials share its parts: never change it.
        engine_version: Version of the engine that is to run it.
    """

    index: int
    variant: str
    iteration: int
    data_size_bytes: int
    run_spec: RunSpec
    engine_version: str

    @cached_property
    def spec_json(self) -> str:
        """The run spec as canonical JSON: sorted keys, no spaces."""
        return json.dumps(self.run_spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def id(self) -> str:
        """Identity of the result: first 12 hex digits of SHA-256 over the spec, a line feed, the version."""
        return hashlib.sha256(f"{self.spec_json}\n{self.engine_version}".encode()).hexdigest()[:12]


def expand(plan: Plan) -> list[PlannedTrial]:
    """Return the trials of a plan that has been checked, by data size and then by iteration."""
    version = engine.version()
    # Which queue pairs there are may depend on the seed, never on the data size.
    fabrics = [_fabric(plan, iteration) for iteration in range(plan.iterations)]
    transport, observe = _transport(plan), _observe(plan.observe)
    trials: list[PlannedTrial] = []
    for size in trial_sizes(plan):
        jobs = [_job(job, size, plan.fabric.topology.host_count) for job in plan.jobs]
        for iteration, fabric in enumerate(fabrics):
            spec: RunSpec = {
                "schema_version": SCHEMA_VERSION,
                "seed": run_seed(plan.seed, iteration),
                "fabric": fabric,
                "transport": transport,
                "jobs": jobs,
                "observe": observe,
            }
            trials.append(PlannedTrial(len(trials), BASE_VARIANT, iteration, size, spec, version))
    return trials


def first_spec(plan: Plan, iteration: int = 0) -> RunSpec:
    """Return the run spec of an iteration's first data size, without the pins of its load balancing.

    The engine tells from it which queue pairs there are for pins to name.
    """
    size = trial_sizes(plan)[0]
    return {
        "schema_version": SCHEMA_VERSION,
        "seed": run_seed(plan.seed, iteration),
        "fabric": plan.fabric.run_spec(plan.transport.priorities.data, []),
        "transport": _transport(plan),
        "jobs": [_job(job, size, plan.fabric.topology.host_count) for job in plan.jobs],
        "observe": _observe(plan.observe),
    }


def _fabric(plan: Plan, iteration: int) -> FabricSpec:
    """Write the fabric of an iteration out, its pins resolved to queue pairs."""
    balancing, pins = plan.fabric.load_balancing, []
    if isinstance(balancing, Pinned):
        pins = resolve_pins(balancing.pins, engine.describe(json.dumps(first_spec(plan, iteration))))
    return plan.fabric.run_spec(plan.transport.priorities.data, pins)


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


def _job(job: Job, trial_size_bytes: int, host_count: int) -> JobSpec:
    return {
        "name": job.name,
        "hosts": list(range(host_count)) if job.hosts is None else list(job.hosts),
        "collective": job.collective,
        "algorithm": job.algorithm or engine.default_algorithm(job.collective),
        "data_bytes": job_size(job, trial_size_bytes),
        "root": job.root,
        "start_ps": job.start_ps,
        "step_overhead_ps": job.step_overhead_ps,
        "repeat": {"kind": "until-others-end"}
        if job.repeat is None
        else {"kind": "rounds", "rounds": job.repeat},
    }


def _observe(observe: Observe) -> ObserveSpec:
    return {
        "series_points": observe.series_points,
        "series_interval_ps": observe.series_interval_ps,
        "series_ports": observe.series_ports,
    }
