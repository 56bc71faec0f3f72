"""One integer is one plan, and the plans say everything that a plan can say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from tools.swarm.closed_forms import PATTERNS
from tools.swarm.generate import plan_of
from tools.swarm.shrink import shrink

from fabricbench import _core
from fabricbench.plan.errors import PlanError
from fabricbench.plan.schema import plan_schema
from fabricbench.runner import loading


@cache
def drawn_plans() -> list[dict[str, Any]]:
    return [plan_of(seed) for seed in range(1500)]


def _fields(value: Any) -> Iterator[str]:
    """Yield the names of all fields below a value."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield str(name)
            yield from _fields(each)
    elif isinstance(value, list):
        for each in value:
            yield from _fields(each)


def _refusal(plan: dict[str, Any]) -> PlanError | None:
    try:
        loading.load_fields(plan)
    except PlanError as error:
        return error
    return None


def test_a_seed_gives_the_same_plan_again_and_neighbours_give_others() -> None:
    assert [plan_of(seed) for seed in range(50)] == drawn_plans()[:50]
    assert len({str(plan) for plan in drawn_plans()}) == len(drawn_plans())


def test_most_plans_are_accepted_and_the_others_refused_with_a_reason() -> None:
    refusals = [refusal for refusal in map(_refusal, drawn_plans()[:120]) if refusal is not None]
    assert len(refusals) < 0.15 * 120
    assert all(problem.found and problem.allowed for refusal in refusals for problem in refusal.problems)


def test_every_collective_algorithm_and_topology_is_drawn() -> None:
    drawn = Counter(
        (job["collective"], job.get("algorithm")) for plan in drawn_plans() for job in plan["jobs"]
    )
    assert set(PATTERNS) <= set(drawn)
    assert {*PATTERNS, ("uniform-random", "parallel")} == set(_core.patterns())
    kinds = Counter(plan["fabric"]["topology"]["kind"] for plan in drawn_plans())
    assert set(kinds) == {
        "single-switch",
        "leaf-spine",
        "fat-tree",
        "rail-optimised",
        "rail-pods",
        "multi-plane",
        "custom",
        "full-mesh",
    }


def test_about_a_seventh_of_the_plans_has_servers_with_every_kind_of_jobs() -> None:
    plans = [plan for plan in drawn_plans() if plan["fabric"].get("server") != "none"]
    assert 0.1 * len(drawn_plans()) < len(plans) < 0.2 * len(drawn_plans())
    forms = Counter(type(plan["fabric"].get("server")) for plan in plans)
    assert set(forms) == {type(None), str, dict}
    jobs = [job for plan in plans for job in plan["jobs"]]
    assert {"nccl", "none", None} <= {
        job.get("library") for job in jobs if isinstance(job.get("library"), str | None)
    }
    variables = Counter(
        name for job in jobs if isinstance(job.get("library"), dict) for name in job["library"]["nccl"]["env"]
    )
    assert min(variables.values()) > 5
    assert {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_PXN_DISABLE"} <= set(variables)


NOT_DRAWN = {"title", "description", "tag", "published", "published_note", "criteria", "metric", "min", "max"}
"""Fields of plans that change no run."""
OF_OWN_TESTS = {
    *("host", "clocks", "offset", "drift", "jitter"),
    *("message_cost", "message_interval", "transfer_start", "cnp_above"),
    *("chips", "switches", "pools", "ingress", "egress", "reserved", "limit", "headroom", "pauses", "config"),
    *("switch_settings", "profiles", "headroom_in_size", "compute"),
    *("search", "field", "from", "to", "find", "resolution", "steps"),
    *("gpus", "compute_capability", "nics", "nic_of_gpu", "scale_up", "servers", "c2c", "peer_to_peer"),
    *("ports", "gpu_direct", "pcie", "generation", "gpus_per_switch", "layout", "cpu", "processor"),
    *("numa_nodes", "description", "sources", "library", "nccl", "version", "env"),
}
"""Fields of devices that are drawn at random by `crates/sim/tests/{adapters,chips,pools}.rs` alone, and what
`tests/plan/test_compute.py`, `tests/plan/test_gpu_servers.py` and `tests/integration/test_search.py` try."""


@pytest.mark.parametrize("part", ["tcp", "observe", "sweep", "variants", "iterations", "solo"])
def test_every_part_of_a_plan_is_drawn(part: str) -> None:
    assert sum(part in plan for plan in drawn_plans()) > 20


def test_jobs_that_lose_frames_for_good_run_beside_tcp_that_goes_on() -> None:
    endless = [plan for plan in drawn_plans() if "tcp" in plan and "duration" not in plan["tcp"][0]]
    timeouts = [plan["transport"]["timeout"] for plan in endless if plan["transport"]["recovery"] == "none"]
    assert timeouts.count("67.108864ms") > 10
    assert len(set(timeouts)) > 1


def test_nearly_every_field_of_the_schema_is_drawn() -> None:
    schema = plan_schema()
    known = {name for each in schema["$defs"].values() for name in each.get("properties", {})}
    drawn = set(_fields(drawn_plans()))
    known -= NOT_DRAWN | OF_OWN_TESTS
    assert len(known & drawn) / len(known) > 0.75, sorted(known - drawn)


def test_a_failing_plan_is_made_small() -> None:
    found = [each for each in drawn_plans() if len(each["jobs"]) > 1 and "nic" in each["fabric"]]
    plan = min(found, key=lambda each: len(str(each)))

    def fails(plan: dict[str, Any]) -> bool:
        fabric = plan.get("fabric", {})
        return "nic" in fabric and "kind" in fabric["topology"] and len(plan.get("jobs", [])) >= 1

    small = shrink(plan, fails, seconds=20)
    assert small["fabric"]["nic"] == {}
    assert set(small) <= {"fabricbench", "name", "fabric", "jobs"}
    assert len(small["jobs"]) == 1
    assert fails(plan)
