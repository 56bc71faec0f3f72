"""Topologies of large clusters: what the plan counts is what the engine builds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.plan.examples import plan_of

from fabricbench.plan import engine
from fabricbench.plan.expand import first_spec
from fabricbench.plan.model import Plan

RAIL_PODS = (
    "{kind: rail-pods, pods: 3, servers_per_pod: 2, rails: 4, spines_per_rail: 2, links_per_spine: 2, "
    "cores_per_spine: 1, links_per_core: 3}"
)
WITH_SCALE_UP = RAIL_PODS.replace("}", ", scale_up_link: 3.6Tbps}")
PLANES = "{kind: multi-plane, planes: 3, leaves: 2, hosts_per_leaf: 4, spines: 2, links_per_spine: 2}"


def plan_on(topology: str) -> Plan:
    fields = (
        f"fabric: {{server: none, topology: {topology}}}\njobs: [{{collective: incast, data_size: 1MB}}]\n"
    )
    return plan_of(f"fabricbench: 1\nname: x\n{fields}")


def described(plan: Plan) -> dict[str, Any]:
    return dict(engine.describe(json.dumps(first_spec(plan))))


@pytest.mark.parametrize(
    ("topology", "hosts", "cables", "switches"),
    [
        # 24 hosts; 12 leaves with two links to each of two spines; 8 spines with three links to their core.
        (RAIL_PODS, 24, 24 + 12 * 2 * 2 + 8 * 3, 12 + 8 + 2),
        (WITH_SCALE_UP, 24, 48 + 12 * 2 * 2 + 8 * 3, 12 + 8 + 2 + 6),
        # In each plane 8 host ports, and two leaves with two links to each of two spines.
        (PLANES, 8, 3 * (8 + 2 * 2 * 2), 3 * 4),
    ],
)
def test_the_engine_builds_what_the_plan_counts(
    topology: str, hosts: int, cables: int, switches: int
) -> None:
    plan = plan_on(topology)
    found = plan.fabric.topology
    nodes = described(plan)["nodes"]
    assert (found.host_count, found.cable_count) == (hosts, cables)
    assert sum(node["kind"] == "host" for node in nodes) == hosts
    assert sum(node["kind"] == "switch" for node in nodes) == switches
    assert len(described(plan)["links"]) == cables


def test_the_load_of_open_loop_traffic_is_of_all_planes() -> None:
    job = "jobs: [{collective: uniform-random, data_size: 1MB, arrivals: {load: 50%, duration: 1ms}}]\n"
    text = f"fabricbench: 1\nname: x\nfabric: {{topology: {PLANES}}}\n{job}"
    work = first_spec(plan_of(text))["jobs"][0]["work"]
    assert work["kind"] == "open-loop"
    assert work["rate_bps"] == 3 * 200_000_000_000
