"""The map of a large fabric as the server sends it: every switch once, every host below one of them."""

import json

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


def plan(topology: str, ranks: str = "0-7") -> str:
    return (
        f"fabricbench: 1\nname: folded\nfabric:\n  server: none\n  topology: {topology}\n"
        f'jobs:\n  - {{collective: all-to-all, ranks: "{ranks}"}}\nsweep: {{data_size: 1MB}}\n'
    )


@pytest.mark.parametrize(
    ("topology", "hosts", "switches", "pods"),
    [(LEAVES, 1024, 48, 0), (PODS, 512, 64, 4), (LARGE, 32_768, 3072, 32), (RAILS, 256, 12, 0)],
)
def test_every_host_is_below_one_switch(
    reader: TestClient, topology: str, hosts: int, switches: int, pods: int
) -> None:
    found = check(reader, yaml=plan(topology))["topology"]
    assert (found["hosts"], found["nodes"], found["reduced"]) == (hosts, [], False)
    runs = [run for each in found["switches"] for run in each["hosts"]]
    assert sorted(host for first, last in runs for host in range(first, last + 1)) == list(range(hosts))
    assert len({each["name"] for each in found["switches"]}) == switches
    assert len({each["pod"] for each in found["switches"]} - {None}) == pods
    assert len(json.dumps(found)) < 250_000


def test_leaves_and_aggregation_switches_are_in_the_pod_of_their_numbers(reader: TestClient) -> None:
    found = check(reader, yaml=plan(PODS))["topology"]
    pods = {each["name"]: each["pod"] for each in found["switches"]}
    assert [pods[name] for name in ("leaf7", "leaf8", "agg3", "agg4", "core0")] == [0, 1, 0, 1, None]


def test_a_crowded_fabric_is_drawn_without_its_queue_pairs(reader: TestClient) -> None:
    found = check(reader, yaml=plan(LEAVES, ranks="0-511"))["topology"]
    assert len(found["switches"]) == 48
    assert len(found["jobs"][0]["hosts"]) == 512


def test_a_small_fabric_is_sent_whole(reader: TestClient) -> None:
    found = check(reader, yaml=PLAN)["topology"]
    assert found["switches"] == []
    assert len(found["nodes"]) == 5
