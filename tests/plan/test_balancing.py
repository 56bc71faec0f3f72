"""Load balancing: every kind is written out, and pins find their queue pairs."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.plan.examples import SMALL, plan_of

from fabricbench import _core
from fabricbench.plan.expand import PlannedTrial, expand
from fabricbench.plan.fabric.traffic_filters import parse_flow
from fabricbench.plan.load import load_plan
from fabricbench.units import UnitError

NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=4)


def trials_of(load_balancing: str, text: str = SMALL) -> list[PlannedTrial]:
    added = f"host_link: 400Gbps\n  load_balancing: {load_balancing}\n"
    return expand(plan_of(text.replace("host_link: 400Gbps\n", added)))


def spec_of(load_balancing: str) -> Any:
    return trials_of(load_balancing)[0].run_spec["fabric"]["load_balancing"]


def uplinks_of(trial: PlannedTrial) -> dict[str, list[int]]:
    """Return how many queue pairs each uplink of each switch has."""
    balancing: Any = trial.run_spec["fabric"]["load_balancing"]
    counts: dict[str, list[int]] = {}
    for pin in balancing["pins"]:
        counts.setdefault(pin["switch"], [0, 0, 0, 0])[pin["uplink"]] += 1
    assert len({(pin["switch"], pin["qp"]) for pin in balancing["pins"]}) == len(balancing["pins"])
    return counts


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("ecmp", {"kind": "ecmp", "hash": "crc", "include_qp": False}),
        (
            "{kind: ecmp, hash: toeplitz, include_qp: true}",
            {"kind": "ecmp", "hash": "toeplitz", "include_qp": True},
        ),
        ("flowlet", {"kind": "flowlet", "gap_ps": 50_000_000}),
        ("{kind: flowlet, gap: 100ns}", {"kind": "flowlet", "gap_ps": 100_000}),
        ("spray-random", {"kind": "spray-random"}),
        ("{kind: spray-round-robin}", {"kind": "spray-round-robin"}),
        ("adaptive", {"kind": "adaptive"}),
        ("{kind: weighted, weights: [3, 1, 0]}", {"kind": "weighted", "weights": [3, 1, 0]}),
    ],
)
def test_every_kind_is_written_out_and_taken(written: str, expected: dict[str, Any]) -> None:
    trial = trials_of(written)[0]
    assert trial.run_spec["fabric"]["load_balancing"] == expected
    assert _core.check(trial.spec_json) == []


def test_pins_name_the_queue_pairs_between_ranks() -> None:
    (trial, _) = trials_of('{kind: pinned, pins: [{switch: leaf0, uplink: 2, flows: ["0,3>4-5", "1>7"]}]}')
    description = _core.describe(trial.spec_json)
    balancing: Any = trial.run_spec["fabric"]["load_balancing"]
    found = {
        (description["qps"][pin["qp"]]["src_rank"], description["qps"][pin["qp"]]["dst_rank"])
        for pin in balancing["pins"]
    }
    assert found == {(0, 4), (0, 5), (3, 4), (3, 5), (1, 7)}
    assert {(pin["switch"], pin["uplink"]) for pin in balancing["pins"]} == {("leaf0", 2)}
    assert _core.check(trial.spec_json) == []


def test_pins_name_steps_and_parts() -> None:
    text = SMALL.replace("all-to-all", "all-gather").replace("ack_every: 2", "qps_per_rank_pair: 2")
    (trial, _) = trials_of('{kind: pinned, pins: [{switch: leaf0, uplink: 0, flows: ["3>4@1-2#1"]}]}', text)
    pairs = _core.describe(trial.spec_json)["qps"]
    balancing: Any = trial.run_spec["fabric"]["load_balancing"]
    found = [pairs[pin["qp"]] for pin in balancing["pins"]]
    assert [(pair["src_rank"], pair["dst_rank"], pair["step"], pair["part"]) for pair in found] == [
        (3, 4, 1, 1),
        (3, 4, 2, 1),
    ]


def test_a_queue_pair_of_the_engine_knows_its_step() -> None:
    text = SMALL.replace("all-to-all", "all-gather")
    pairs = _core.describe(expand(plan_of(text))[0].spec_json)["qps"]
    assert [pair["step"] for pair in pairs] == [step for step in range(7) for _ in range(8)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lb-alltoall-ecmp", {"leaf0": [4, 5, 3, 4], "leaf1": [5, 3, 4, 4]}),
        ("lb-allgather-multi-qp", {"leaf0": [9, 14, 19, 14], "leaf1": [16, 11, 14, 15]}),
        ("cc-alltoall-pfc", {"leaf0": [11, 2, 2, 1], "leaf1": [4, 4, 4, 4]}),
        ("cc-alltoall-ecn", {"leaf0": [11, 2, 2, 1], "leaf1": [4, 4, 4, 4]}),
        ("cc-alltoall-dcqcn", {"leaf0": [11, 2, 2, 1], "leaf1": [4, 4, 4, 4]}),
        ("cc-alltoall-pfc-ecn", {"leaf0": [11, 2, 2, 1], "leaf1": [4, 4, 4, 4]}),
        ("cc-gather-pfc", {"leaf1": [1, 1, 1, 1]}),
    ],
)
def test_shipped_plans_have_the_published_distribution(name: str, expected: dict[str, list[int]]) -> None:
    assert uplinks_of(load_plan(name).trials[0]) == expected


def test_the_overloaded_uplink_has_the_published_share_of_each_rank() -> None:
    trial = load_plan("cc-alltoall-pfc").trials[0]
    pairs = _core.describe(trial.spec_json)["qps"]
    balancing: Any = trial.run_spec["fabric"]["load_balancing"]
    senders = [
        pairs[pin["qp"]]["src_rank"]
        for pin in balancing["pins"]
        if (pin["switch"], pin["uplink"]) == ("leaf0", 0)
    ]
    assert [senders.count(rank) for rank in range(4)] == [4, 1, 2, 4]


def test_every_queue_pair_between_the_leaves_is_pinned_in_the_multi_queue_pair_plan() -> None:
    trial = load_plan("lb-allgather-multi-qp").trials[0]
    balancing: Any = trial.run_spec["fabric"]["load_balancing"]
    pinned = {pin["qp"] for pin in balancing["pins"]}
    leaf = [host // 4 for host in range(8)]
    between = {
        pair["qp"]
        for pair in _core.describe(trial.spec_json)["qps"]
        if leaf[pair["src_host"]] != leaf[pair["dst_host"]]
    }
    assert pinned == between


@given(senders=NUMBERS, receivers=NUMBERS, steps=st.none() | NUMBERS, parts=st.none() | NUMBERS)
def test_a_flow_takes_what_it_lists(
    senders: list[int], receivers: list[int], steps: list[int] | None, parts: list[int] | None
) -> None:
    def listed(numbers: list[int]) -> str:
        return ",".join(map(str, numbers))

    text = f"{listed(senders)}>{listed(receivers)}"
    text += "" if steps is None else f"@{listed(steps)}"
    text += "" if parts is None else f"#{listed(parts)}"
    flow = parse_flow(text)
    for number in (0, senders[0], 31):
        pair: Any = {
            "job": "a", "src_rank": number, "dst_rank": receivers[0], "step": (steps or [9])[-1],
            "part": (parts or [9])[-1],
        }  # fmt: skip
        assert flow.takes(pair) == (number in senders)
        assert not flow.takes(pair | {"dst_rank": 99})


@pytest.mark.parametrize("text", ["", "0", "0>", ">0", "0>1@", "0-1", "a/", "0>1 2", 7, None, "0>1#1@2"])
def test_what_is_no_flow_is_refused(text: object) -> None:
    with pytest.raises(UnitError):
        parse_flow(text)
