"""Diagnosis of collectives across rails, from what the runs recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.real import run_plan

from fabricbench.report.documents.diagnosis import Insight, insight
from fabricbench.report.terminal.diagnosis import insight_text

PLANS = Path(__file__).parent / "defects"
SMALL = ("fabric.topology.servers=8", "fabric.topology.rails=4", "fabric.topology.spines=1")
ACROSS = "across-rails"


def diagnosed(root: Path, name: str, *overrides: str) -> Insight:
    (trial,) = run_plan(root / "workspace", PLANS / f"{name}.yaml", *SMALL, *overrides)
    return insight(trial)


@pytest.mark.parametrize(
    ("plan", "overrides"),
    [
        ("rails-in-one-ring", ("sweep={data_size: [16MB]}",)),
        ("rails-without-scale-up", ("sweep={data_size: [16MB]}",)),
        ("rails-without-scale-up", ("sweep={data_size: [16MB]}", "jobs.0.algorithm=halving-doubling")),
        ("rails-in-one-ring", ("sweep={data_size: [16MB]}", "jobs.0.collective=all-gather")),
    ],
)
def test_the_order_of_ranks_is_the_cause_and_no_hardware_is_advised(
    tmp_path: Path, plan: str, overrides: tuple[str, ...]
) -> None:
    found = diagnosed(tmp_path, plan, *overrides)
    first = found.findings[0]
    assert first.cause == ACROSS
    assert first.explained is not None
    assert first.explained > 0.5
    assert {"oversubscription", "hash-collision"} & {each.cause for each in first.under}
    (remedy,) = first.remedies
    assert 'the first with `ranks: "0-28:4"`' in remedy.text
    text = insight_text(found)
    assert "per rail" in text
    for hardware in ("too few", "more or faster uplinks", "no setting helps: a limit of the fabric"):
        assert hardware not in text


def test_a_ring_over_one_rail_on_too_few_uplinks_is_no_matter_of_rails(tmp_path: Path) -> None:
    """Pods of a rail meet at two slow spine links; ranks of one rail alternate between the pods."""
    pods = (
        "fabric={server: none, topology: {kind: rail-pods, pods: 2, servers_per_pod: 4, rails: 2, "
        "spines_per_rail: 2, cores_per_spine: 1, host_link: 400Gbps, fabric_link: 100Gbps}, "
        "switch: {pfc: on}}"
    )
    (trial,) = run_plan(
        tmp_path / "workspace",
        PLANS / "rails-in-one-ring.yaml",
        pods,
        "transport.rate_control=line-rate",
        'jobs=[{name: test, ranks: "0,8,2,10,4,12,6,14", collective: all-reduce, algorithm: ring}]',
        "sweep={data_size: [4MB]}",
    )
    found = insight(trial)
    assert "oversubscription" in {each.cause for each in found.findings}
    assert ACROSS not in {each.cause for each in found.findings}
