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
    LoadBalancing,
    ObserveSpec,
    RateControl,
    RunSpec,
    TransportSpec,
)
from fabricbench.plan.model import Fabric, Job, Observe, Plan, Transport
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
    fabric, transport, observe = _fabric(plan.fabric), _transport(plan.transport), _observe(plan.observe)
    trials: list[PlannedTrial] = []
    for size in trial_sizes(plan):
        jobs = [_job(job, size, plan.fabric.topology.host_count) for job in plan.jobs]
        for iteration in range(plan.iterations):
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
    }


def _transport(transport: Transport) -> TransportSpec:
    rate_control: RateControl = {"kind": transport.rate_control}
    return {
        "mtu_bytes": transport.mtu_bytes,
        "message_bytes": transport.message_bytes,
        "qp_mode": transport.qp_mode,
        "qps_per_rank_pair": transport.qps_per_rank_pair,
        "ack_every": transport.ack_every,
        "window_packets": transport.window_packets,
        "recovery": transport.recovery,
        "timeout_ps": transport.timeout_ps,
        "retry_count": transport.retry_count,
        "rate_control": rate_control,
    }


def _observe(observe: Observe) -> ObserveSpec:
    return {
        "series_points": observe.series_points,
        "series_interval_ps": observe.series_interval_ps,
        "series_ports": observe.series_ports,
    }


def _fabric(fabric: Fabric) -> FabricSpec:
    load_balancing: LoadBalancing = {"kind": fabric.load_balancing}
    return {
        "topology": fabric.topology.run_spec(fabric.propagation_ps_per_m),
        "load_balancing": load_balancing,
        "switch": {
            "pipeline_latency_ps": fabric.switch.pipeline_latency_ps,
            "buffer_bytes": fabric.switch.buffer_bytes,
        },
        "nic": {"latency_ps": fabric.nic.latency_ps},
    }
