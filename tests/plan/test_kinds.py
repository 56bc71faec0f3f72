"""Kinds of traffic: what a plan says, before it runs, of how well the flow model will do."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tools.swarm.generate import plan_of
from tools.swarm.long_transfers import long_plan_of

from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates import traffic_kinds
from fabricbench.plan.estimates.flow_error import measured
from fabricbench.plan.estimates.traffic_kinds import KINDS, kinds_of
from fabricbench.runner import loading

SWITCH = {"kind": "single-switch", "hosts": 8}
LEAVES = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 4}


def spec_of(
    *jobs: dict[str, Any],
    topology: dict[str, Any] = SWITCH,
    transport: dict[str, Any] | None = None,
    size: str = "64MB",
    backend: str = "sim",
    **fabric: Any,
) -> Any:
    fields = {
        "fabricbench": 1,
        "name": "kinds",
        "backend": backend,
        "fabric": {"topology": topology, **fabric},
        "transport": transport or {},
        "jobs": list(jobs),
        "sweep": {"data_size": size},
    }
    return loading.load_fields(fields).trials[0].run_spec


ALL_TO_ALL = {"collective": "all-to-all"}
OPEN = {"collective": "permutation", "arrivals": {"rate": "100Gbps", "duration": "100us"}}
SPRAY = {"transport": {"recovery": "selective"}, "load_balancing": "spray-round-robin"}


@pytest.mark.parametrize(
    ("job", "more", "kind"),
    [
        (ALL_TO_ALL, {}, traffic_kinds.ALL_TO_ALL),
        (ALL_TO_ALL, {"topology": LEAVES}, traffic_kinds.ALL_TO_ALL),
        (ALL_TO_ALL, {"topology": LEAVES | {"spines": 3}}, traffic_kinds.CROWDED),
        (ALL_TO_ALL | {"algorithm": "pairwise"}, {}, traffic_kinds.STEPS),
        (
            {"collective": "all-reduce", "algorithm": "ring"},
            {"topology": LEAVES | {"spines": 1}},
            traffic_kinds.STEPS,
        ),
        ({"collective": "incast"}, {}, traffic_kinds.ROOTED),
        ({"collective": "gather"}, {}, traffic_kinds.ROOTED),
        ({"collective": "permutation"}, {}, traffic_kinds.STEPS),
        (OPEN, {"size": "64KB"}, traffic_kinds.OPEN_LOOP),
        (ALL_TO_ALL, {"size": "64KB"}, traffic_kinds.SHORT),
        (
            ALL_TO_ALL,
            {"transport": {"rate_control": "dcqcn"}, "switch": {"ecn": "on"}},
            traffic_kinds.BY_MARKS,
        ),
        (ALL_TO_ALL, {"transport": {"rate_control": "swift"}}, traffic_kinds.BY_DELAY),
        (ALL_TO_ALL, {"transport": {"rate_control": "timely"}}, traffic_kinds.BY_GRADIENT),
        (ALL_TO_ALL, {"transport": {"window": 4}}, traffic_kinds.WINDOW),
        (ALL_TO_ALL, {"topology": LEAVES} | SPRAY, traffic_kinds.SPRAYED),
    ],
)
def test_the_kind_of_a_job_follows_from_its_plan(job: Any, more: Any, kind: str) -> None:
    assert kinds_of(spec_of(job, **more)) == [kind]


def test_a_rate_control_without_a_kind_has_an_unknown_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic_kinds, "_CONTROLLED", {})
    kinds = kinds_of(spec_of(ALL_TO_ALL, transport={"rate_control": "timely"}))
    assert kinds == ["timely"]
    assert not measured(kinds[0]).is_known


def test_a_transfer_is_short_below_64_packets() -> None:
    job = {"ranks": "0,1", "collective": "incast"}
    assert kinds_of(spec_of(job, size=str(64 * 4096))) == [traffic_kinds.ROOTED]
    assert kinds_of(spec_of(job, size=str(64 * 4096 - 1))) == [traffic_kinds.SHORT]


def test_a_window_is_small_below_the_idle_round_trip_of_the_longest_path() -> None:
    spec = spec_of(ALL_TO_ALL)
    found = []
    for window in range(1, 300):
        spec["transport"]["window_packets"] = window
        found.append(traffic_kinds.is_windowed(spec))
    assert found == sorted(found, reverse=True)
    # Twelve hops of a full frame (83.56 ns), the cable and the pipeline, and both NICs twice.
    nic, switch = spec["fabric"]["nic"], spec["fabric"]["switch"]
    cable = spec["fabric"]["topology"]["host_link"]["cable"]["delay_ps"]
    round_trip_ps = 4 * nic["latency_ps"] + 12 * (83_560 + cable + switch["pipeline_latency_ps"])
    assert sum(found) == (round_trip_ps - 1) // 81_920


@pytest.mark.parametrize("plan_of_seed", [plan_of, long_plan_of])
def test_every_job_of_a_random_plan_has_one_kind_whatever_the_seed(plan_of_seed: Any) -> None:
    drawn = set()
    for seed in range(150):
        try:
            trials = loading.load_fields(plan_of_seed(seed)).trials
        except PlanError:
            continue
        for trial in trials:
            before = copy.deepcopy(trial.run_spec)
            found = kinds_of(trial.run_spec)
            assert trial.run_spec == before
            assert len(found) == len(trial.run_spec["jobs"])
            assert set(found) <= set(KINDS)
            other: Any = trial.run_spec | {"seed": trial.run_spec["seed"] ^ 1}
            assert kinds_of(other) == found
            drawn |= set(found)
    assert len(drawn) >= 6


def test_scenarios_of_long_transfers_are_valid_and_long() -> None:
    found: list[str] = []
    for seed in range(200):
        spec = loading.load_fields(long_plan_of(seed)).trials[0].run_spec
        found += kinds_of(spec)
    assert long_plan_of(7) == long_plan_of(7) != long_plan_of(8)
    assert found.count(traffic_kinds.SHORT) < len(found) / 4
    assert {
        traffic_kinds.ALL_TO_ALL,
        traffic_kinds.CROWDED,
        traffic_kinds.ROOTED,
        traffic_kinds.STEPS,
        traffic_kinds.SPRAYED,
        traffic_kinds.BY_MARKS,
    } < set(found)
