"""Degraded elements: closed forms of one slow link, jobs that stop, equal elements, flows and packets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import fabricbench as fb
from fabricbench.backend.registry import get_backend
from fabricbench.plan.degradation import State, elements_of, groups_of
from fabricbench.runner.degraded_trials import degradable
from fabricbench.runner.unrecorded_trials import UnrecordedTrials

SWITCH = "{kind: single-switch, hosts: 8, host_link: 100Gbps}"
TRUNKS = "host_link: 100Gbps, fabric_link: 400Gbps"
NARROW = f"{{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 1, {TRUNKS}}}"
LEAVES = "{kind: leaf-spine, leaves: 4, hosts_per_leaf: 4, spines: 4, host_link: 100Gbps}"
RAILS = "{kind: rail-optimised, servers: 4, rails: 4, spines: 2, host_link: 400Gbps, fabric_link: 400Gbps}"
HALF, DOWN, LOSS = "half rate", "down", "1e-4 loss"


def plan(root: Path, job: str, topology: str, size: str = "64MB") -> fb.Plan:
    file = root / "fabric.yaml"
    file.write_text(
        "fabricbench: 1\nname: fabric\n"
        f"fabric: {{topology: {topology}, switch: {{pfc: on, ecn: sonic}}}}\n"
        "transport: {rate_control: dcqcn, qp_mode: per-pair}\n"
        f"jobs:\n  - {{name: test, {job}}}\nsweep: {{data_size: {size}}}\n"
    )
    return fb.load(file)


def changes(degraded: fb.Degraded, state: str) -> Mapping[str, float | None]:
    """Return the change of each element in a state."""
    return {name: change for (name, at, _), change in degraded.elements.items() if at == state}


def test_a_ring_has_the_rate_of_its_slowest_adapter(tmp_path: Path) -> None:
    ring = plan(tmp_path, "collective: all-reduce, algorithm: ring", SWITCH)
    half = changes(fb.degrade(ring, states=[HALF]), HALF)
    assert [half[f"host{rank}-leaf0"] for rank in range(8)] == [pytest.approx(-0.5, abs=0.01)] * 8


def test_a_tree_waits_for_its_slow_adapter_in_the_rounds_that_use_it(tmp_path: Path) -> None:
    # Three rounds. Rank 1 receives in the last; rank 2 receives in the second and sends in the third; ranks 0
    # and 4 take part in all.
    tree = plan(tmp_path, "collective: broadcast, algorithm: tree, root: 0", SWITCH)
    half = changes(fb.degrade(tree, states=[HALF]), HALF)
    rounds = {0: 6, 1: 4, 2: 5, 3: 4, 4: 6, 5: 4, 6: 5, 7: 4}
    for rank, slow in rounds.items():
        assert half[f"host{rank}-leaf0"] == pytest.approx(3 / slow - 1, abs=0.01), rank


def test_an_all_to_all_takes_what_the_slow_link_has_to_send(tmp_path: Path) -> None:
    # Seven blocks of an adapter at its rate R; 16 blocks of all pairs of ranks on a link of 4 R, or 2 R.
    alltoall = plan(tmp_path, "collective: all-to-all", NARROW)
    half = changes(fb.degrade(alltoall, states=[HALF]), HALF)
    assert half["host5-leaf1"] == pytest.approx(7 / 14 - 1, abs=0.01)
    assert half["leaf0-spine0"] == pytest.approx(7 / 8 - 1, abs=0.01)
    assert half["spine0"] == pytest.approx(7 / 8 - 1, abs=0.01)
    assert half["leaf0"] == pytest.approx(7 / 14 - 1, abs=0.01)


def test_links_without_data_lose_nothing_and_are_not_run(tmp_path: Path) -> None:
    rails = plan(tmp_path, "collective: all-reduce, algorithm: ring", RAILS, "256MB")
    degraded = fb.degrade(rails, states=[HALF, DOWN])
    rows = degraded.frame.to_dicts()
    for row in rows:
        if row["kind"] == "link" or row["such_as"].startswith("spine"):
            assert (row["change_worst"], row["backend"], row["stops"]) == (0.0, None, False)
    adapters = [row for row in rows if row["kind"] == "adapter"]
    assert [row["elements"] for row in adapters] == [16, 16]
    assert {row["state"]: row["change_worst"] for row in adapters} == {
        HALF: pytest.approx(-0.5, abs=0.03),
        DOWN: -1.0,
    }


def test_a_link_that_is_down_leaves_its_data_to_others(tmp_path: Path) -> None:
    alltoall = plan(tmp_path, "collective: all-to-all", LEAVES, "16MB")
    down = changes(fb.degrade(alltoall, states=[DOWN]), DOWN)
    links = [change for name, change in down.items() if name.startswith("leaf") and "-" in name]
    assert len(links) == 16
    assert all(change is not None and -0.75 < change < 0.2 for change in links)
    assert (down["host0-leaf0"], down["leaf0"]) == (-1.0, -1.0)
    assert down["spine0"] is not None
    assert -0.75 < down["spine0"] < 0.2


def test_only_jobs_that_use_an_element_lose(tmp_path: Path) -> None:
    jobs = "ranks: 0-3, collective: all-to-all}\n  - {name: other, ranks: 4-7, collective: all-to-all"
    degraded = fb.degrade(plan(tmp_path, jobs, SWITCH), states=[HALF, DOWN])
    assert degraded.elements["host5-leaf0", HALF, "test"] == pytest.approx(0.0, abs=0.001)
    assert degraded.elements["host5-leaf0", HALF, "other"] == pytest.approx(-0.5, abs=0.01)
    assert degraded.elements["host5-leaf0", DOWN, "test"] == pytest.approx(0.0, abs=0.001)
    assert degraded.elements["host5-leaf0", DOWN, "other"] == -1.0


def test_every_element_of_a_group_loses_the_same(tmp_path: Path) -> None:
    rails = plan(tmp_path, "collective: all-to-all", RAILS, "16MB")
    trial = degradable(rails.loaded)
    groups = [group for group in groups_of(elements_of([trial])) if group.elements[0].kind == "adapter"]
    assert [len(group.elements) for group in groups] == [16]
    times = {
        element.name: _time(rails, _failure(HALF, element.name, 200)) for element in groups[0].elements[::5]
    }
    assert max(times.values()) == pytest.approx(min(times.values()), rel=0.001)


def _failure(state: str, link: str, rate_gbps: int) -> dict[str, Any]:
    assert state == HALF
    return {"kind": "link-rate", "at": "0s", "link": link, "rate": f"{rate_gbps}Gbps"}


def _time(plan: fb.Plan, failure: dict[str, Any], backend: str = "flow") -> float:
    changed = plan.with_({"backend": backend, "fabric.failures": [failure]})
    (summary,) = UnrecordedTrials(get_backend(backend)).summaries(changed.loaded.trials)
    end_ps = summary["jobs"][0]["end_ps"]
    assert end_ps is not None
    return end_ps / 1e6


@pytest.mark.parametrize(
    ("job", "topology", "link", "rate_gbps"),
    [
        ("collective: all-reduce, algorithm: ring", SWITCH, "host3-leaf0", 50),
        ("collective: broadcast, algorithm: tree", SWITCH, "host2-leaf0", 50),
        ("collective: all-to-all", NARROW, "leaf0-spine0", 200),
        ("collective: all-reduce, algorithm: ring", RAILS, "host1-rail2", 200),
    ],
)
def test_flows_take_the_time_of_packets_on_a_slow_link(
    tmp_path: Path, job: str, topology: str, link: str, rate_gbps: int
) -> None:
    slow = plan(tmp_path, job, topology, "16MB").with_({"transport.rate_control": "line-rate"})
    flows, packets = (_time(slow, _failure(HALF, link, rate_gbps), backend) for backend in ("flow", "sim"))
    assert flows == pytest.approx(packets, rel=0.05)


def test_lost_frames_cost_bandwidth_by_packets(tmp_path: Path) -> None:
    ring = plan(tmp_path, "collective: all-reduce, algorithm: ring", SWITCH)
    degraded = fb.degrade(ring, states=[LOSS])
    row = degraded.frame.filter(kind="adapter").row(0, named=True)
    assert row["backend"] == "sim"
    assert -0.9 < row["change_worst"] < -0.001


def test_states_are_named(tmp_path: Path) -> None:
    assert list(State) == [HALF, LOSS, DOWN]
    with pytest.raises(ValueError, match="slow"):
        fb.degrade(plan(tmp_path, "collective: all-to-all", SWITCH), states=["slow"])
