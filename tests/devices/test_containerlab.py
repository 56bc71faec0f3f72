"""Topologies of containerlab: which nodes are hosts, what the links are, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricbench.plan.devices.containerlab import fragment_of
from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_fields

SAMPLE = Path(__file__).parent / "samples" / "clos.clab.yml"


def of(text: str) -> Fragment:
    return fragment_of(text, "lab.clab.yml")


def refused(text: str) -> str:
    with pytest.raises(PlanError) as error:
        of(text)
    return str(error.value)


def plan_of(fragment: Fragment) -> dict[str, Any]:
    return {
        "fabricbench": 1,
        "name": "lab",
        **fragment.plan,
        "jobs": [{"collective": "all-to-all"}],
        "sweep": {"data_size": "64KB"},
    }


def test_a_lab_is_a_custom_fabric() -> None:
    fragment = fragment_of(SAMPLE.read_text(), "clos.clab.yml")
    assert fragment.plan["fabric"]["topology"] == {
        "kind": "custom",
        "host_link": "25Gbps",
        "switches": ["spine1", "spine2", {"name": "leaf1", "hosts": 1}, {"name": "leaf2", "hosts": 3}],
        "links": [
            {"between": ["leaf1", "spine1"], "count": 2, "link": "100Gbps"},
            {"between": ["leaf1", "spine2"], "link": "100Gbps"},
            {"between": ["leaf2", "spine1"], "link": "100Gbps"},
            {"between": ["leaf2", "spine2"], "link": "400Gbps"},
        ],
    }
    assert fragment.read == (
        "switches: 4, 3 hosts, 9 links",
        "hosts of the plan: 0 gpu1 at leaf1, 1 gpu1 at leaf2, 2 gpu2 at leaf2, 3 storage at leaf2",
    )
    told = "\n".join(fragment.warnings)
    assert "links of hosts differ: 25Gbps of 3 links, 50Gbps of 1 link" in told
    assert "1 link without a rate" in told
    told = "\n".join(fragment.left_out)
    for part in ("image, mgmt-ipv4", "links.9: a link out of the lab (host)", "(mgmt-net)", "links: mtu"):
        assert part in told
    load_fields(plan_of(fragment))


def test_what_a_node_is_called_for_wins_over_its_kind() -> None:
    nodes = "{r1: {kind: linux, group: router}, h1: {kind: linux}}"
    text = f"topology: {{nodes: {nodes}, links: [{{endpoints: ['r1:a', 'h1:b']}}]}}"
    assert of(text).plan["fabric"]["topology"]["switches"] == [{"name": "r1", "hosts": 1}]


def test_names_that_a_plan_cannot_have_are_changed() -> None:
    text = (
        "topology: {nodes: {host1: {kind: ceos}, h: {kind: linux}}, links: [{endpoints: ['host1:a', 'h:b']}]}"
    )
    assert of(text).plan["fabric"]["topology"]["switches"] == [{"name": "switch-host1", "hosts": 1}]


SWITCHES, HOSTS = "s1: {kind: ceos}, s2: {kind: ceos}", "h1: {kind: linux}, h2: {kind: linux}"
NODES = f"topology:\n  nodes: {{{SWITCHES}, {HOSTS}}}\n  links:\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: x", "topology.nodes: found nothing; allowed: nodes by their names"),
        ("topology: {nodes: []}", "topology.nodes: found nothing"),
        ("topology: {nodes: {s: 3}}", "topology.nodes.s: found a number; allowed"),
        ("topology: {nodes: {s: {}}, links: []}", "topology.nodes.s.kind: found nothing"),
        (f"{NODES}    - endpoints: [s1:a, s3:b]", '.endpoints.1: found the node "s3"'),
        (f"{NODES}    - endpoints: [s1:a]", "topology.links.0.endpoints: found a list of 1"),
        (f"{NODES}    - endpoints: [s1:a, s2]", 'found "s2"; allowed: a node and its interface'),
        (f"{NODES}    - endpoints: [s1:a, s1:b]", 'found a link from "s1" to itself'),
        (f"{NODES}    - endpoints: [h1:a, h2:b]", 'found a link between the hosts "h1" and "h2"'),
        (f"{NODES}    - endpoints: [s1:a, h1:b]\n    - endpoints: [s1:a, h2:b]", '"s1:a", which link 0 has'),
        (f"{NODES}    - endpoints: [s1:a, h1:b]\n      vars: {{rate: fast}}", 'vars.rate: found "fast"'),
        (f"{NODES}    - endpoints: [s1:a, s2:b]", "topology.nodes: found no host with a link"),
        (f"{NODES}    - 3", "topology.links.0: found a number; allowed: a mapping with `endpoints`"),
        ("- a", "found a list at the top; allowed: a mapping with `topology`"),
        ("", "found an empty file; allowed: a mapping with `topology`"),
        ("a: &a [*a]", "an alias to a value that contains it"),
    ],
)  # fmt: skip
def test_what_is_no_lab_is_refused(text: str, told: str) -> None:
    assert told in refused(text)


INHERITED = """
topology:
  kinds: {linux: {labels: {role: host}}}
  groups: {tier1: {kind: linux, labels: {role: leaf}}, 10: {labels: {role: host}}}
  nodes:
    l1: {group: tier1}
    l2:
      <<: *l
    h1: {kind: linux}
    h2: {kind: linux, group: 10}
  links:
    - endpoints: ["l1:eth1", "l2:eth1"]
    - endpoints: ["l1:eth2", "h1:eth1"]
    - endpoints: ["l2:eth2", "h2:eth1"]
"""


def test_a_node_has_what_its_group_its_kind_and_merged_keys_say() -> None:
    fragment = of("x-leaf: &l {group: tier1}\n" + INHERITED)
    assert fragment.plan["fabric"]["topology"]["switches"] == [
        {"name": "l1", "hosts": 1},
        {"name": "l2", "hosts": 1},
    ]
    assert not any("<<" in each for each in fragment.left_out)


def test_an_endpoint_of_a_link_out_of_the_lab_is_no_list() -> None:
    text = "topology: {nodes: {l: {kind: srl}, h: {kind: linux}}, links: [{endpoint: [l:e1, h:e1]}]}"
    assert "topology.links.0.endpoint: found a list; allowed: `node` and `interface`" in refused(text)
