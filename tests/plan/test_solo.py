"""Each job of a plan alone as well: which trials there are, what they run, and how they are called."""

import pytest
from tests.plan.examples import errors_of, plan_of

from fabricbench.plan.expand import expand
from fabricbench.plan.sweep.labels import shared_variant, solo_job, solo_variant

TENANTS = """\
fabricbench: 1
name: tenants
fabric: {topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}}
jobs:
  - {name: ring, ranks: "0,1,4,5", collective: all-reduce}
  - {name: other, ranks: "2,3,6,7", collective: all-to-all, data_size: 1MB}
solo: true
sweep: {data_size: [1MB, 2MB]}
"""
PINS = "{kind: pinned, pins: [{switch: leaf0, uplink: 2, flows: ['ring/1>2', 'other/1>2']}]}"


def test_jobs_alone_come_before_the_trial_beside_and_each_once() -> None:
    trials = expand(plan_of(TENANTS))
    assert [(trial.variant, trial.data_size_bytes >> 20) for trial in trials] == [
        ("solo/ring", 1),
        ("solo/other", 1),
        ("base", 1),
        ("solo/ring", 2),
        ("base", 2),
    ]
    assert [trial.index for trial in trials] == [0, 1, 2, 3, 4]
    assert len({trial.spec_json for trial in trials}) == 5


def test_iterations_have_their_own_jobs_alone() -> None:
    trials = expand(plan_of(TENANTS + "iterations: 2\n"))
    assert sum(trial.is_solo for trial in trials) == 2 * 3
    for trial in trials:
        seeds = {other.run_spec["seed"] for other in trials if other.iteration == trial.iteration}
        assert seeds == {trial.run_spec["seed"]}


def test_a_job_alone_differs_in_nothing_but_its_company() -> None:
    solo, beside = (expand(plan_of(TENANTS))[index].run_spec for index in (1, 2))
    assert solo["jobs"] == beside["jobs"][1:]
    assert solo["jobs"][0]["stream"] == 1
    assert {**solo, "jobs": None} == {**beside, "jobs": None}


def test_a_neighbour_that_repeats_until_the_others_end_runs_once_alone() -> None:
    text = TENANTS.replace("data_size: 1MB}", "data_size: 1MB, repeat: until-others-end}")
    solo, beside = (expand(plan_of(text))[index].run_spec["jobs"] for index in (1, 2))
    assert (solo[0]["repeat"], beside[1]["repeat"]["kind"]) == (
        {"kind": "rounds", "rounds": 1},
        "until-others-end",
    )


def test_pins_follow_the_queue_pairs_of_the_job_that_is_left() -> None:
    text = TENANTS.replace("spines: 4}}", f"spines: 4}}, load_balancing: {PINS}}}")
    trials = expand(plan_of(text))

    def pinned(index: int) -> list[int]:
        balancing = trials[index].run_spec["fabric"]["load_balancing"]
        assert balancing["kind"] == "pinned"
        return [pin["qp"] for pin in balancing["pins"]]

    assert (len(pinned(0)), len(pinned(1)), len(pinned(2))) == (6, 1, 7)
    assert pinned(0) == pinned(2)[:6]
    ring_qps = 4 * 6
    assert pinned(1) == [pinned(2)[6] - ring_qps]


def test_one_job_is_alone_already() -> None:
    text = TENANTS.replace(
        '  - {name: other, ranks: "2,3,6,7", collective: all-to-all, data_size: 1MB}\n', ""
    )
    assert errors_of(text) == (
        "error: plan.yaml:6: solo: found true with one job; allowed: true with several jobs\n"
        "hint: a run of job `ring` is one alone already"
    )


@pytest.mark.parametrize("variant", ["base", "fabric-b", "solo"])
def test_a_label_has_one_reading(variant: str) -> None:
    label = solo_variant(variant, "ring")
    assert (solo_job(label), shared_variant(label)) == ("ring", variant)
    assert (solo_job(variant), shared_variant(variant)) == (None, variant)


def test_the_base_variant_is_left_out_of_labels() -> None:
    assert (solo_variant("base", "ring"), solo_variant("b", "ring")) == ("solo/ring", "b/solo/ring")
