"""The tables of the flow model's error: what is compared, and what counts as congestion."""

from __future__ import annotations

from typing import Any

import pytest
from tools import flow_error
from tools.flow_error import Case, Compared, Comparison, Counters

from fabricbench.backend import flow
from fabricbench.plan.estimates import traffic_kinds
from fabricbench.plan.estimates.flow_error import Measured
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
    found = [(job.kind, job.traffic, job.is_lossless, job.error) for job in comparison.jobs]
    assert found == [(traffic_kinds.ROOTED, traffic_kinds.ROOTED, True, 0.0)]
    comparison.add(case(LEAVES, {"ranks": "0-7", "collective": "incast"}, load_balancing="flowlet"))
    assert comparison.left_out == {("refused: fabric.load_balancing, flowlet", True): 1}
    assert comparison.trials == 1


def job(number: int, kind: str = traffic_kinds.STEPS, congestion: str = flow_error.NONE) -> Compared:
    return Compared(f"j{number}", kind, traffic_kinds.STEPS, True, congestion, "line-rate", number / 100)


def test_a_line_has_count_median_high_percentile_and_the_worst_by_name() -> None:
    jobs = [job(number) for number in range(40, 0, -1)]
    assert flow_error.table(jobs, ["kind"], lambda one: (0, one.kind)).splitlines()[2] == (
        "| steps | 40 | 20.00 % | 38.00 % | 40.00 % | j40 |"
    )


def test_lines_are_in_the_order_of_kinds_and_classes() -> None:
    jobs = [
        job(1, traffic_kinds.STEPS, flow_error.INCAST),
        job(2, traffic_kinds.STEPS),
        job(3, traffic_kinds.OPEN_LOOP),
    ]
    text = flow_error.section(Comparison(jobs))
    places = [text.index(line) for line in ("| none | 2 |", "| incast | 1 |")]
    places += [text.index(line) for line in ("| open loop | 1 |", "| steps | 2 |", "| steps | on | 2 |")]
    places += [text.index(f"| steps | steps | {each} | 1 |") for each in ("none", "incast")]
    assert places == sorted(places)


def test_the_file_has_the_kinds_that_were_met_and_the_version_of_the_model() -> None:
    comparison = Comparison([*map(job, range(1, 21)), job(50, traffic_kinds.SHORT)], trials=3, scenarios=18)
    found = flow_error.data_of(comparison)
    assert found["results"] == flow.RESULTS
    assert list(found["kinds"]) == [traffic_kinds.SHORT, traffic_kinds.STEPS]
    known = Measured(**found["kinds"][traffic_kinds.STEPS])
    assert known == Measured(20, 10.0, 19.0, 20.0)
    assert known.is_known
    assert not Measured(**found["kinds"][traffic_kinds.SHORT]).is_known
