"""Custom topologies: what is listed is built, and every mistake in a list is named with its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import golden, write_plan

from fabricbench.plan import engine
from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan
from fabricbench.plan.loaded_plan import LoadedPlan

MISTAKES = golden("custom")
PLAN = """\
fabricbench: 1
name: own
fabric:
  topology:
    kind: custom
    switches: {switches}
    links: {links}
  load_balancing: {balancing}
jobs:
  - collective: all-to-all
sweep: {{data_size: 12MB}}
"""
RING = {
    "switches": "[{name: a, hosts: 1}, {name: b, hosts: 1}, {name: c, hosts: 1}, {name: d, hosts: 1}]",
    "links": "[{between: [a, b]}, {between: [b, c]}, {between: [c, d]}, {between: [d, a]}]",
}


def load(folder: Path, switches: str, links: str, balancing: str = "ecmp") -> LoadedPlan:
    return load_plan(write_plan(folder, PLAN.format(switches=switches, links=links, balancing=balancing)))


def description(loaded: LoadedPlan) -> Any:
    return engine.describe(json.dumps(loaded.trials[0].run_spec))


@pytest.mark.parametrize("case", MISTAKES, ids=[f"{case['switches']} {case['links']}" for case in MISTAKES])
def test_a_mistake_is_named_with_its_line(case: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        load(tmp_path, case["switches"], case["links"])
    assert str(caught.value).replace(f"{tmp_path}/", "") == case["expect"]


def test_switches_hosts_and_links_are_as_listed(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "[core, {name: a, hosts: 2}, {name: b, hosts: 1}]",
        "[{between: [core, a], count: 2, link: {rate: 800Gbps, length: 100m}}, {between: [b, core]}]",
    )
    found = description(loaded)
    assert [(node["name"], node["tier"]) for node in found["nodes"][3:]] == [("a", 1), ("b", 1), ("core", 2)]
    fabric = [link for link in found["links"] if link["from"] in "ab"]
    ends = [(link["from"], link["from_port"], link["to"], link["to_port"]) for link in fabric]
    assert ends == [("a", 2, "core", 0), ("a", 3, "core", 1), ("b", 1, "core", 2)]
    assert [(link["rate_bps"], link["delay_ps"]) for link in fabric] == [
        *[(800 * 10**9, 500_000)] * 2,
        (400 * 10**9, 150_000),
    ]
    assert loaded.plan.fabric.topology.cable_count == len(found["links"])


def test_a_switch_of_a_ring_chooses_between_both_ways(tmp_path: Path) -> None:
    pins = "[{switch: a, uplink: 1, flows: ['0>2']}, {switch: b, uplink: 0, flows: ['1>3']}]"
    pinned = f"{{kind: pinned, pins: {pins}}}"
    found = load(tmp_path, **RING, balancing=pinned).trials[0].run_spec["fabric"]["load_balancing"]
    assert found["kind"] == "pinned"
    assert [(pin["switch"], pin["uplink"]) for pin in found["pins"]] == [("a", 1), ("b", 0)]
