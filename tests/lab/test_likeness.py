"""What of a plan labs run, and what their twins leave out: no privilege needed."""

from __future__ import annotations

import copy

import pytest
from tests.lab.conftest import plan_of_lab

from fabricbench.cli.testbed.lab_run import fitting_scale as scale_of_plan, lab_plan
from fabricbench.lab import build
from fabricbench.lab.errors import LabError
from fabricbench.lab.supported_spec import DEEP_BUFFER_BYTES, likeness, obstacle
from fabricbench.lab.trial_groups import SCALE_MIN, fitting_scale, lab_trials, parts
from fabricbench.plan import engine
from fabricbench.plan.document.shipped import shipped_plans
from fabricbench.plan.expand import canonical_json
from fabricbench.runner import loading
from fabricbench.work import collective_of

FOLDERS = ("cc", "ddc", "dfs", "imb", "interconnect", "isolation", "jct", "lb", "spray")


def test_pauses_give_way_to_queues_that_never_drop_in_the_lab_and_in_its_twin() -> None:
    spec = loading.load("cc-alltoall-pfc-ecn", quick=True).trials[0].run_spec
    before = copy.deepcopy(spec)
    found = likeness(spec)
    switch = found.run_spec["fabric"]["switch"]
    assert switch["pfc"] is None
    assert switch["buffer"]["size_bytes"] == DEEP_BUFFER_BYTES
    assert switch["ecn"] == spec["fabric"]["switch"]["ecn"]
    fields = [each.field for each in found.omissions]
    assert fields == ["fabric.switch.pfc", "fabric.switch.forwarding", "transport.window"]
    assert found.run_spec["transport"]["window_packets"] == 1_024 // 7
    assert spec == before, "trials share parts of their run specs"


def test_a_plan_of_which_a_lab_has_everything_stays_as_it_is() -> None:
    overrides = ["transport.window=64", "fabric.switch.forwarding=cut-through"]
    trial = loading.load("jct-alltoall", overrides, quick=True).trials[0]
    found = likeness(trial.run_spec)
    assert canonical_json(found.run_spec) == trial.spec_json
    assert found.omissions == ()


def test_ports_forward_as_a_cut_through_switch_does() -> None:
    found = likeness(loading.load("jct-alltoall", quick=True).trials[0].run_spec)
    assert found.run_spec["fabric"]["switch"]["forwarding"] == "cut-through"
    assert "fabric.switch.forwarding" in {each.field for each in found.omissions}


def test_copies_within_a_host_take_no_time_that_the_scale_stretches() -> None:
    spec = loading.load("ethernet-vs-infiniband-alltoall", quick=True, chosen=["ethernet"]).trials[0].run_spec
    assert collective_of(spec["jobs"][0])["copies_own_block"]
    found = likeness(spec)
    assert found.run_spec["fabric"]["shared_memory"]["rate_bps"] == 100_000_000_000_000
    assert "fabric.shared_memory" in {each.field for each in found.omissions}
    nobody = likeness(loading.load("jct-alltoall", quick=True).trials[0].run_spec)
    assert "fabric.shared_memory" not in {each.field for each in nobody.omissions}


def test_spraying_delay_lines_and_failures_are_left_out_with_a_line_each() -> None:
    spray = likeness(loading.load("spray-reordering", quick=True).trials[0].run_spec)
    assert spray.run_spec["fabric"]["load_balancing"]["kind"] == "ecmp"
    assert {each.field for each in spray.omissions} == {
        "fabric.load_balancing",
        "fabric.extra_delays",
        "fabric.switch.forwarding",
        "transport.window",
    }
    failing = likeness(loading.load("imb-link-failure", quick=True).trials[0].run_spec)
    assert failing.run_spec["fabric"]["failures"] == []
    assert "fabric.failures" in {each.field for each in failing.omissions}


def test_frames_that_are_lost_from_the_start_stay() -> None:
    failures = "fabric.failures=[{at: 0s, kind: frame-loss, link: host0-leaf0, share: 1%}]"
    found = likeness(loading.load("jct-alltoall", [failures], quick=True).trials[0].run_spec)
    assert len(found.run_spec["fabric"]["failures"]) == 1
    assert "fabric.failures" not in {each.field for each in found.omissions}


@pytest.mark.parametrize(
    ("plan", "variant", "reason"),
    [
        ("ethernet-vs-infiniband-p2p", "infiniband", "InfiniBand: "),
        ("ddc-steady-state", "scheduled", "scheduled fabric: "),
        ("dfs-random-write", "depth-1-static", "storage: "),
        ("imb-tcp-background", "static", "TCP traffic beside the jobs: "),
    ],
)
def test_what_would_leave_no_experiment_is_refused_with_its_reason(
    plan: str, variant: str, reason: str
) -> None:
    trials = loading.load(plan, chosen=[variant], quick=True).trials
    assert all(obstacle(trial.run_spec).startswith(reason) for trial in trials)


def test_a_variant_that_differs_only_by_what_labs_lack_is_not_run_again() -> None:
    found = lab_trials(loading.load("imb-dynamic-ecn", quick=True).trials)
    assert {trial.variant for trial in found.trials} == {"static", "static-early"}
    reasons = {each.trial.variant: each.reason for each in found.excluded}
    assert reasons.keys() == {"dynamic", "dynamic-early"}
    assert reasons["dynamic"].startswith("the same as variant static without fabric.switch.pfc, ")
    assert all(note.startswith("left out, as labs lack it: ") for note in found.trials[0].notes)


@pytest.mark.parametrize("plan", [plan for plan in shipped_plans() if plan.split("-")[0] in FOLDERS])
def test_the_simulator_takes_what_a_lab_runs_of_every_plan(plan: str) -> None:
    for trial in lab_trials(loading.load(plan, ["scale=4000"], quick=True).trials).trials:
        assert engine.check(trial.spec_json) == []


def test_each_fabric_is_one_lab_with_the_trials_of_its_variants() -> None:
    loaded = loading.load("ethernet-vs-infiniband-p2p", ["scale=4000"], quick=True)
    found, excluded = parts("lab", "plan", lab_trials(loaded.trials).trials, 1, pinned=True)
    assert excluded == []
    variants = [[trial.variant for trial in part.trials] for part in found]
    assert variants == [["ethernet"], ["ethernet-200g"], ["ethernet-inter-leaf"]]
    sizes = loading.load("jct-alltoall", ["scale=4000", "sweep.data_size=[16MB,64MB]"])
    (only,), _ = parts("lab", "plan", lab_trials(sizes.trials).trials, 1, pinned=True)
    assert len(only.trials) == 2


def test_short_chunks_take_50_ms_unless_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(64)))
    short = loading.load("ethernet-vs-infiniband-p2p", quick=True, chosen=["ethernet", "ethernet-200g"])
    # 32 KB at 200 Gb/s are 1.31 us, and 49.8 ms at this scale.
    assert fitting_scale(lab_trials(short.trials).trials) == 38 * SCALE_MIN
    tiny = loading.load("jct-alltoall", ["sweep.data_size=[64B]"], quick=True)
    assert fitting_scale(lab_trials(tiny.trials).trials) == 80 * SCALE_MIN
    slow = loading.load(
        "jct-alltoall", ["sweep.data_size=[64B]", "fabric.topology.fabric_link=50Gbps"], quick=True
    )
    assert fitting_scale(lab_trials(slow.trials).trials) == 50 * SCALE_MIN, "its links have 1 Mb/s"
    many = loading.load("jct-alltoall", ["sweep.data_size=[512KB]", "jobs.0.repeat=10000"], quick=True)
    # 7 times 64 KB from each host are 9.2 us at 400 Gb/s: 10,000 of them are 60 s at scale 653.
    assert fitting_scale(lab_trials(many.trials).trials) == SCALE_MIN


def test_a_scale_leaves_all_values_of_a_plan_within_their_limits() -> None:
    loaded = loading.load("imb-dynamic-ecn-allgather", quick=True)
    # The interval of dynamic ECN, 100 us, may be 1 s at the most, and ends there.
    assert scale_of_plan(loaded) == fitting_scale(lab_trials(loaded.trials).trials) > 10 * SCALE_MIN


def test_a_fabric_that_is_too_large_is_told_for_its_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1})
    loaded = loading.load("ddc-steady-state", ["scale=4000"], quick=True)
    found, excluded = parts("lab", "plan", lab_trials(loaded.trials).trials, 1, pinned=True)
    assert found == []
    assert {each.trial.variant for each in excluded} == {"ideal", "clos"}
    assert all(each.reason.startswith("504 hosts; on 2 processors at most 120 ") for each in excluded)


def test_a_plan_that_no_lab_can_run_is_an_error_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "check_rights", lambda: None)
    loaded = loading.load("dfs-random-write", quick=True)
    with pytest.raises(LabError, match="no lab can run dfs-random-write: storage: endpoints"):
        lab_plan(loaded, None)


def test_queue_pairs_have_the_paths_of_the_simulator() -> None:
    lab = plan_of_lab("lb-alltoall-ecmp")
    leaf = next(node for node in lab.switches if node.name == "leaf0")
    # The plan pins 4, 5, 3 and 4 queue pairs to the uplinks of leaf0, which are its ports 4 to 7.
    counts = [sum(pin.port == port for pin in leaf.pins) for port in range(4, 8)]
    assert counts == [4, 5, 3, 4]
    spines = [node for node in lab.switches if node.name.startswith("spine")]
    assert all(not spine.pins for spine in spines), "one way down each"
    assert "fabric.load_balancing" not in {each.field for each in lab.omissions}


def test_the_scale_is_one_at_which_the_machine_keeps_up(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = lab_trials(loading.load("jct-alltoall", quick=True).trials).trials
    marking = lab_trials(loading.load("cc-alltoall-ecn", quick=True).trials).trials
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1})
    assert (fitting_scale(plain), fitting_scale(marking)) == (SCALE_MIN, 4 * SCALE_MIN)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(64)))
    assert (fitting_scale(plain), fitting_scale(marking)) == (SCALE_MIN, SCALE_MIN)
