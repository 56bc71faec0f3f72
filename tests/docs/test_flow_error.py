"""The tables of the flow model's error: what is compared, and what counts as congestion."""

from __future__ import annotations

from typing import Any

import pytest
from tools import flow_error
from tools.flow_error import Case, Compared, Comparison, Counters

from fabricbench.runner import loading

SWITCH = {"kind": "single-switch", "hosts": 8}
LEAVES = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2}


def case(topology: dict[str, Any], job: dict[str, Any], **fabric: Any) -> Case:
    fields = {
        "fabricbench": 1,
        "name": "compared",
        "fabric": {"topology": topology, "switch": {"pfc": "on"}, **fabric},
        "jobs": [job],
        "sweep": {"data_size": "8MB"},
    }
    return Case("compared", loading.load_fields(fields).trials[0], is_shipped=True)


@pytest.mark.parametrize(
    ("topology", "job", "congestion"),
    [
        (LEAVES, {"ranks": "0,4", "collective": "incast"}, flow_error.NONE),
        (SWITCH, {"collective": "incast"}, flow_error.INCAST),
        (LEAVES | {"spines": 1}, {"ranks": "0-7", "collective": "all-to-all"}, flow_error.OVERSUBSCRIBED),
        (
            LEAVES | {"hosts_per_leaf": 2, "spines": 8},
            {"ranks": "0,2,1,3", "collective": "all-gather", "algorithm": "ring"},
            flow_error.NONE,
        ),
    ],
    ids=["alone", "incast", "one uplink for four hosts", "ring"],
)
def test_congestion_is_what_the_packets_met(
    topology: dict[str, Any], job: dict[str, Any], congestion: str
) -> None:
    one = case(topology, job)
    _, counters = flow_error.run(one.planned, "sim")
    assert flow_error.congestion_of(one.planned, counters) == congestion


def test_a_deep_queue_beside_an_idle_uplink_is_a_collision() -> None:
    one = case(LEAVES, {"ranks": "0,4", "collective": "incast"})
    _, counters = flow_error.run(one.planned, "sim")
    (port,) = [row for row in counters.ports if row["node"] == "leaf0" and row["peer"] == "spine0"]
    deep = Counters([*counters.ports, {**port, "queue_max_bytes": 10**6}], counters.links)
    assert flow_error.congestion_of(one.planned, deep) == flow_error.COLLISIONS
    assert flow_error.congestion_of(one.planned, Counters(deep.ports, deep.links, 1)) == flow_error.RESENT


def test_a_transfer_alone_has_no_error_and_what_is_refused_is_counted() -> None:
    comparison = Comparison()
    comparison.add(case(LEAVES, {"ranks": "0,4", "collective": "incast"}))
    assert [(job.traffic, job.error) for job in comparison.jobs] == [("incast parallel", 0.0)]
    comparison.add(case(LEAVES, {"ranks": "0-7", "collective": "incast"}, load_balancing="flowlet"))
    assert comparison.left_out == {("refused: `fabric.load_balancing`, flowlet", True): 1}
    assert comparison.trials == 1


def test_a_line_has_count_median_high_percentile_and_the_worst_by_name() -> None:
    jobs = [Compared(f"j{number}", "ring", flow_error.NONE, number / 100) for number in range(1, 41)]
    assert flow_error.cells(reversed(jobs)) == "40 | 20.00 % | 38.00 % | 40.00 % | j40"
