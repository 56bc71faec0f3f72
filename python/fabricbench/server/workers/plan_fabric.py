"""Draws the fabric of a plan: its map with the hosts of each job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabricbench.plan import engine
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.runner import loading
from fabricbench.server.workers.fabric_map import FabricMap, JobHosts, fabric_map, shape_text

_HOSTS_MAX: Final = 40_000
"""Most hosts of a fabric that is drawn."""
_SMALL_PLAN: Final = """\
fabricbench: 1
name: small
fabric: {topology: {kind: single-switch, hosts: 2}}
jobs: [{collective: all-reduce}]
sweep: {data_size: 1MB}
"""
"""Plan with a small job, for the description of a fabric without the jobs of a plan."""


def _typical(loaded: LoadedPlan) -> PlannedTrial:
    """Return the trial whose fabric is drawn: with all jobs, on the topology of the plan itself."""
    with_all = [trial for trial in loaded.trials if not trial.is_solo] or loaded.trials
    kind = loaded.plan.fabric.topology.kind
    same = (trial for trial in with_all if trial.run_spec["fabric"]["topology"]["kind"] == kind)
    return next(same, with_all[0])


def plan_fabric(loaded: LoadedPlan) -> FabricMap | None:
    """Return the map of the fabric of a plan, with its jobs; none if the engine refuses its trial."""
    return spec_fabric(_typical(loaded).run_spec)


def spec_fabric(run_spec: Mapping[str, Any]) -> FabricMap | None:
    """Return the map of the fabric of a run spec, with its jobs; none if the engine refuses it."""
    estimate = engine.estimate(json.dumps(run_spec))
    if estimate is None:
        return None
    fabric = run_spec["fabric"]
    topology, hosts = fabric["topology"], estimate["hosts"]
    if hosts > _HOSTS_MAX:
        return FabricMap(shape=shape_text(topology, hosts, 0), hosts=hosts, switches=0)
    alone = _fabric_alone(topology)
    described = engine.describe(alone)
    server = fabric.get("server")
    drawn = fabric_map(
        topology,
        described["nodes"],
        described["links"],
        engine.oversubscription(alone),
        server["adapters"] if server else 1,
    )
    drawn.scheduled = fabric["switch"]["scheduled"] is not None
    drawn.jobs = [
        JobHosts(name=job["name"], hosts=[*_hosts_of_ranks(job, server)]) for job in run_spec["jobs"]
    ]
    return drawn


def _hosts_of_ranks(job: Mapping[str, Any], server: Mapping[str, Any] | None) -> Iterator[list[int]]:
    """Yield the hosts of each rank of a job: of a rank in a server the adapters near its GPU."""
    gpus = job.get("gpus")
    for rank, host in enumerate(job["hosts"]):
        if server is None:
            yield [host]
            continue
        adapters = server["adapters"]
        near = server["adapters_of_gpu"][gpus[rank]] if gpus else range(adapters)
        yield [host * adapters + adapter for adapter in near]


def _fabric_alone(topology: Mapping[str, Any]) -> str:
    """Return a run spec of a small job on a topology, as the engine creates every queue pair of a job."""
    small = loading.load_text(_SMALL_PLAN, "small").trials[0].run_spec
    fabric: Any = small["fabric"] | {"topology": topology}
    return json.dumps(small | {"fabric": fabric})
