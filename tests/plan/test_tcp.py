"""TCP traffic in a plan: what the run spec says, and what a user reads who gets it wrong."""

from pathlib import Path

import pytest
from tests.plan.examples import errors_of, plan_of, write_plan

from fabricbench.plan import engine
from fabricbench.plan.expand import expand
from fabricbench.plan.load import load_plan

PLAN = """\
fabricbench: 1
name: beside
fabric: {topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}, switch: {pfc: on}}
jobs:
  - {name: ring, ranks: "0,1,4,5", collective: all-reduce, data_size: 1MB}
tcp:
  - {ranks: "2,3,6,7", rate: 20Gbps}
"""
LINE = '  - {ranks: "2,3,6,7", rate: 20Gbps}\n'


def test_the_run_spec_is_complete() -> None:
    (trial,) = expand(plan_of(PLAN))
    (tcp,) = trial.run_spec["tcp"]
    assert tcp == {
        "name": "tcp",
        "hosts": [2, 3, 6, 7],
        "collective": "permutation",
        "algorithm": "parallel",
        "root": 0,
        "stream": 1,
        "connections": 1,
        "rate_bps": 20_000_000_000,
        "write_bytes": 128 << 10,
        "outstanding_writes": None,
        "start_ps": 0,
        "start_spread_ps": 100_000_000,
        "duration_ps": None,
        "priority": 0,
        "mtu_bytes": 1500,
        "congestion": "cubic",
        "initial_window_segments": 10,
        "window_bytes": 2 << 20,
        "ack_every": 2,
        "delayed_ack_ps": 500_000_000,
        "rto_initial_ps": 10**12,
        "rto_min_ps": 5 * 10**9,
        "rto_max_ps": 60 * 10**12,
    }


def test_a_job_alone_is_without_tcp() -> None:
    trials = expand(plan_of(PLAN + "solo: true\n"))
    assert [(trial.variant, len(trial.run_spec["tcp"])) for trial in trials] == [
        ("solo/ring", 0),
        ("base", 1),
    ]


@pytest.mark.parametrize(
    "overrides", [[], ["fabric.switch.ecn.priorities=[0]"], ["transport.priorities.cnp=0"]]
)
def test_dctcp_runs_as_the_hint_says_and_a_job_alone_is_without_its_marks(
    tmp_path: Path, overrides: list[str]
) -> None:
    text = PLAN.replace("rate: 20Gbps", "rate: 20Gbps, congestion: dctcp") + "solo: true\n"
    marked = "fabric.switch.ecn={preset: alibaba, priorities: [3, 0]}"
    alone, beside = load_plan(write_plan(tmp_path, text), [marked, *overrides]).trials
    for trial in (alone, beside):
        assert engine.check(trial.spec_json) == []
    ecn = beside.run_spec["fabric"]["switch"]["ecn"]
    assert ecn is not None
    assert 0 in ecn["priorities"]
    ecn = alone.run_spec["fabric"]["switch"]["ecn"]
    assert ecn is None or ecn["priorities"] == [3]


def test_unlimited_and_for_a_time() -> None:
    text = PLAN.replace("rate: 20Gbps", "rate: unlimited, duration: 3ms")
    (tcp,) = expand(plan_of(text))[0].run_spec["tcp"]
    assert (tcp["rate_bps"], tcp["duration_ps"]) == (None, 3 * 10**9)


@pytest.mark.parametrize(
    ("fields", "place", "expected"),
    [
        (
            "rate: 20Gbps, priority: 3",
            "priority",
            "found priority 3, which PFC makes lossless; allowed: a lossy priority\n"
            "hint: TCP needs losses or marks to find its rate; the default of 0 is lossy",
        ),
        (
            "rate: 500Gbps",
            "rate",
            "found 500Gbps, more than a host's port has; allowed: at most 400Gbps\n"
            "hint: `rate: unlimited` sends as fast as congestion control allows",
        ),
        (
            "rate: 20",
            "rate",
            "found 20, which has no unit; allowed: unlimited, or a rate such as "
            '"400Gbps", in bps, kbps, Mbps, Gbps, Tbps\nhint: write the unit, such as "20Gbps"',
        ),
        (
            "rate: 1Gbps, congestion: dctcp",
            "congestion",
            "found dctcp in priority 0, which no switch marks; allowed: dctcp in a priority of `ecn`\n"
            "hint: `fabric.switch.ecn: {preset: alibaba, priorities: [3, 0]}` marks it",
        ),
        (
            "rate: 1Gbps, congestion: cubik",
            "congestion",
            'found "cubik"; allowed: cubic, newreno or dctcp\nhint: did you mean `cubic`?',
        ),
        (
            "rate: 1Gbps, window: 4MB",
            "window",
            'found "4MB"; allowed: 1448B to 2964056B with this `mtu`\n'
            "hint: `window`: At most so much written and not acknowledged, the smaller of send buffer and "
            "receive window [size]; at most 2047 segments.",
        ),
        (
            "rate: 1Gbps, name: ring",
            "name",
            "found `ring` again; allowed: a name of no job or other traffic\n"
            "hint: give each TCP traffic a `name`",
        ),
        (
            "rate: 1Gbps, collective: incast, root: 4",
            "root",
            "found 4; allowed: at most 3 with this `ranks`\nhint: `root`: Receiver of incast [rank].",
        ),
        (
            "rate: 1Gbps, rto_min: 61s",
            "rto_min",
            'found "61s"; allowed: 1ps to 60s with this `rto_max`\n'
            "hint: `rto_min`: Smallest retransmission timeout [time].",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(fields: str, place: str, expected: str) -> None:
    text = PLAN.replace("rate: 20Gbps", fields)
    assert errors_of(text) == f"error: plan.yaml:7: tcp.0.{place}: {expected}"


def test_a_host_has_one_tcp_rank() -> None:
    text = PLAN + '  - {name: more, ranks: "1,2", rate: 1Gbps}\n'
    assert errors_of(text) == (
        "error: plan.yaml:8: tcp.1.ranks: found host 2, which TCP traffic `tcp` has; "
        "allowed: hosts with one TCP rank\n"
        "hint: one entry for a host; more `connections` of each pair, or another collective"
    )


def test_hosts_of_other_traffic_and_of_no_traffic_are_refused() -> None:
    assert "found host 9; allowed: hosts 0 to 7 of this topology" in errors_of(PLAN.replace("6,7", "6,9"))
