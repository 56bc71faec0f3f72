"""The map of a fabric: pods are pods, every switch and host is in one box, few boxes at any size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.test_plans import check
from tests.support.samples import PLAN

LEAVES = "{kind: leaf-spine, leaves: 32, hosts_per_leaf: 32, spines: 16}"
PODS = "{kind: fat-tree, pods: 4, leaves_per_pod: 8, hosts_per_leaf: 16, aggs_per_pod: 4, cores_per_agg: 4}"
LARGE = (
    "{kind: fat-tree, pods: 32, leaves_per_pod: 32, hosts_per_leaf: 32, aggs_per_pod: 32, cores_per_agg: 32}"
)
RAILS = "{kind: rail-optimised, servers: 32, rails: 8, spines: 4}"
RAIL_PODS = (
    "{kind: rail-pods, pods: 2, servers_per_pod: 32, rails: 8, spines_per_rail: 32, cores_per_spine: 1, "
    "scale_up_link: 3.6Tbps}"
)
PLANES = "{kind: multi-plane, planes: 4, leaves: 4, hosts_per_leaf: 256, spines: 256}"
CUSTOM = (
    "{kind: custom, switches: [{name: a, hosts: 3}, {name: b, hosts: 2}, c], "
    "links: [{between: [a, c]}, {between: [b, c], count: 2}, {between: [a, b]}]}"
)


def plan(topology: str, ranks: str = "0-1") -> str:
    return (
        f"fabricbench: 1\nname: folded\nfabric:\n  topology: {topology}\n"
        f'jobs:\n  - {{collective: send-receive, ranks: "{ranks}"}}\nsweep: {{data_size: 1MB}}\n'
    )


def drawn(reader: TestClient, topology: str, ranks: str = "0-1") -> dict[str, Any]:
    found: dict[str, Any] = check(reader, yaml=plan(topology, ranks))["topology"]
    return found


def of_tier(found: dict[str, Any], tier: int) -> list[dict[str, Any]]:
    return [box for box in found["boxes"] if box["tier"] == tier]


@pytest.mark.parametrize(
    ("topology", "hosts", "switches", "pods", "shape"),
    [
        (LEAVES, 1024, 48, 0, "32 leaves x 32 hosts"),
        (PODS, 512, 64, 4, "4 pods x 8 leaves x 16 hosts"),
        (LARGE, 32_768, 3072, 32, "32 pods x 32 leaves x 32 hosts"),
        (RAILS, 256, 12, 0, "8 rails x 32 servers"),
        (RAIL_PODS, 512, 304, 2, "8 rails x 64 servers in 2 pods"),
        (PLANES, 1024, 1040, 0, "4 planes x 4 leaves x 256 hosts"),
        (CUSTOM, 5, 3, 0, "5 hosts, 3 switches"),
    ],
)
def test_every_host_and_switch_is_in_one_box(
    reader: TestClient, topology: str, hosts: int, switches: int, pods: int, shape: str
) -> None:
    found = drawn(reader, topology)
    assert (found["hosts"], found["switches"], found["shape"]) == (hosts, switches, shape)
    runs = [run for box in of_tier(found, 0) for run in box["hosts"]]
    assert sorted(host for first, last in runs for host in range(first, last + 1)) == list(range(hosts))
    names = [name for box in found["boxes"] for name in box["switches"]]
    assert len(names) == len(set(names)) == switches
    assert len({tuple(box["pods"]) for box in found["boxes"] if box["pods"]}) == pods
    assert len(found["boxes"]) <= 3 * 32 + 2
    assert len(json.dumps(found)) < 80_000


def test_two_pods_of_rails_are_two_pods(reader: TestClient) -> None:
    found = drawn(reader, RAIL_PODS)
    assert [(box["pods"], box["servers"]) for box in of_tier(found, 0)] == [([0, 0], 32), ([1, 1], 32)]
    leaves = of_tier(found, 1)
    assert [(box["pods"][0], box["rail"]) for box in leaves] == [
        (pod, rail) for pod in range(2) for rail in range(8)
    ]
    assert [(box["rail"], len(box["switches"])) for box in of_tier(found, 2)] == [
        (rail, 32) for rail in range(8)
    ]
    ratios = [tier["down_bps"] / tier["up_bps"] for tier in found["tiers"] if tier["up_bps"]]
    assert ratios == [1, 2]
    assert {each["links"] for each in found["bundles"]} == {32}


@pytest.mark.parametrize(
    ("topology", "leaves"),
    [
        ("{kind: rail-optimised, servers: 16, rails: 64, spines: 4}", 16),
        (
            "{kind: rail-pods, pods: 8, servers_per_pod: 4, rails: 8, spines_per_rail: 2, "
            "cores_per_spine: 2}",
            8,
        ),
    ],
)
def test_many_rails_are_blocks(reader: TestClient, topology: str, leaves: int) -> None:
    assert len(of_tier(drawn(reader, topology), 1)) == leaves


def test_links_of_a_custom_fabric_join_its_switches_within_a_tier_too(reader: TestClient) -> None:
    found = drawn(reader, CUSTOM)
    labels = [box["label"] for box in found["boxes"]]
    joined = {(labels[each["lower"]], labels[each["upper"]]): each["links"] for each in found["bundles"]}
    assert joined == {
        ("hosts of a", "a"): 3,
        ("hosts of b", "b"): 2,
        ("a", "c"): 1,
        ("b", "c"): 2,
        ("a", "b"): 1,
    }


def test_ranks_of_a_server_are_at_the_adapters_of_their_gpus(reader: TestClient) -> None:
    found = drawn(reader, RAILS, ranks="0-15")
    assert found["adapters"] == 8
    assert found["jobs"][0]["hosts"] == [[host] for host in range(16)]


def test_many_ranks_cost_no_queue_pairs(reader: TestClient) -> None:
    found = drawn(reader, LEAVES, ranks="0-1023")
    assert len(found["jobs"][0]["hosts"]) == 1024


def test_a_fabric_beyond_a_drawing_has_its_shape(reader: TestClient) -> None:
    found = drawn(reader, LARGE.replace("pods: 32", "pods: 64", 1))
    assert (found["hosts"], found["boxes"]) == (65_536, [])


def test_shipped_plans_have_a_picture(reader: TestClient) -> None:
    found = reader.get("/api/v1/plans/expect-rails/fabric").json()
    assert found["shape"] == "8 rails x 64 servers in 2 pods"
    assert reader.get("/api/v1/plans/no-such-plan/fabric").status_code == 404


def test_a_run_has_the_picture_of_its_fabric(reader: TestClient) -> None:
    run = reader.get("/api/v1/trials/by-run").json()["runs"][0]["suite"]
    assert reader.get(f"/api/v1/runs/{run}/fabric").json()["boxes"]
    assert reader.get("/api/v1/runs/000000000000/fabric").status_code == 404


def test_a_small_fabric_has_a_box_for_each_switch(reader: TestClient) -> None:
    found = check(reader, yaml=PLAN)["topology"]
    assert [(box["label"], box["hosts"]) for box in found["boxes"]] == [
        ("hosts of leaf0", [[0, 3]]),
        ("leaf0", [[0, 3]]),
    ]
