"""Plans that provoke one cause each: it is named first, and its remedy, applied, makes the job faster."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.real import run_plan

from fabricbench.analysis.causes.diagnosis import CAUSES
from fabricbench.analysis.causes.finding import Finding
from fabricbench.report.documents.diagnosis import insight, record_of
from fabricbench.results.job_reports import JobReport, reports_of_run
from fabricbench.runner import loading
from fabricbench.runner.trials import Runner
from fabricbench.store import Trial, Workspace

HEAD = "fabricbench: 1\nname: slow\n"
ALL_TO_ALL = "jobs: [{collective: all-to-all}]\nsweep: {data_size: 4MB}\n"
RING = (
    'jobs: [{ranks: "0,4,1,5,2,6,3,7", collective: all-gather, algorithm: ring}]\nsweep: {data_size: 4MB}\n'
)
INCAST = "jobs: [{collective: incast}]\nsweep: {data_size: 4MB}\n"
PAIR = 'jobs: [{ranks: "0,1", collective: send-receive}]\nsweep: {data_size: 4MB}\n'
HOG = (
    "jobs:\n"
    "  - {name: victim, ranks: '1,4', collective: send-receive, data_size: 8MB}\n"
    "  - {name: hog, ranks: '5,0,2,3,6,7', collective: incast, data_size: 8MB}\n"
)
SPRAYED = "  load_balancing: spray-round-robin\ntransport: {recovery: selective}\n"


def leaves(spines: int, hosts: int = 4) -> str:
    kind = f"kind: leaf-spine, leaves: 2, hosts_per_leaf: {hosts}, spines: {spines}"
    return f"{HEAD}fabric:\n  topology: {{{kind}, host_link: 400Gbps, fabric_link: 400Gbps}}\n"


def switch(hosts: int = 4) -> str:
    return f"{HEAD}fabric:\n  topology: {{kind: single-switch, hosts: {hosts}, host_link: 400Gbps}}\n"


PLANS = {
    "lossy-fabric": leaves(2) + "  switch: {buffer: 1MB}\n" + ALL_TO_ALL,
    "reordering-with-go-back-n": leaves(4) + "  load_balancing: spray-random\n" + RING,
    "hash-collision": leaves(4) + "  switch: {pfc: on}\n" + RING,
    "pfc-head-of-line-blocking": leaves(4) + "  switch: {pfc: {xoff: {bytes: 100KB}}}\n" + SPRAYED + HOG,
    "ecn-too-eager": switch(9)
    + "  switch: {pfc: on, ecn: {kmin: 5KB, kmax: 20KB, pmax: 100%}}\ntransport: {rate_control: dcqcn}\n"
    + INCAST,
    "small-window": switch() + "transport: {window: 4}\n" + PAIR,
    "short-packets": switch() + "transport: {message_size: 1KB}\n" + ALL_TO_ALL,
    "timeout-too-short": switch()
    + "  extra_delays: [{link: leaf0-host1, delay: 50us}]\ntransport: {timeout: 60us}\n"
    + PAIR.replace("4MB", "16MB"),
    "headroom-overrun": leaves(1) + "  switch: {pfc: {xoff: {bytes: 200KB}, headroom: 10KB}}\n" + ALL_TO_ALL,
    "host-overrun": switch()
    + "  nic: {receive_buffer: 200KB, impairments: [{host: 3, throughput: 50%}]}\n"
    + ALL_TO_ALL,
    "straggling-nic": switch()
    + "  switch: {pfc: on}\n  nic: {impairments: [{host: 3, throughput: 50%}]}\n"
    + ALL_TO_ALL,
    "bit-errors": switch()
    + "  failures: [{at: 0s, kind: frame-loss, link: leaf0-host0, share: 0.5%}]\n"
    + "transport: {timeout: 1ms}\n"
    + ALL_TO_ALL.replace("4MB", "16MB"),
    "fewer-uplinks": leaves(2, 2)
    + "  convergence_time: 100us\n  failures: [{at: 50us, kind: link-down, link: leaf0-spine0}]\n"
    + "transport: {timeout: 500us}\n"
    + ALL_TO_ALL.replace("4MB", "16MB"),
}
"""A plan for each cause that a setting takes away."""
WITHOUT_SETTING = {
    "oversubscription": leaves(2) + "  switch: {pfc: on}\n" + SPRAYED + ALL_TO_ALL,
    "start-up-latency": leaves(4) + "  link_layer: infiniband\n" + RING,
}
PLACES = {
    "lossy-fabric": "leaf1 port 4 to spine0",
    "hash-collision": "leaf0 port 4 to spine0",
    "pfc-head-of-line-blocking": "leaf1 port 1 to host5",
    "ecn-too-eager": "leaf0 port 0 to host0",
    "headroom-overrun": "leaf0 port 4 to spine0",
    "straggling-nic": "host3",
    "bit-errors": "leaf0-host0",
    "fewer-uplinks": "leaf0-spine0",
    "oversubscription": "leaf0",
}


@dataclass
class Bench:
    """A workspace to run plans in."""

    folder: Path

    def run(self, text: str) -> Trial:
        """Run the one trial of a plan."""
        path = self.folder / "slow.yaml"
        path.write_text(text)
        return run_plan(self.folder / "workspace", path)[0]

    def again(self, trial: Trial, changes: tuple[str, ...] = ()) -> Trial:
        """Run a trial again with changes of its plan."""
        plan = record_of(trial).plan
        assert plan is not None
        loaded = plan.load(changes)
        store = Workspace.open(self.folder / "workspace")
        return Runner(store, loading.backend_of(loaded)).run(loaded).trials[0]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def causes(trial: Trial) -> list[Finding]:
    """Return the causes of the first slow job, and check what holds of any."""
    found = insight(trial)
    for job in found.unhealthy:
        shares = [each.explained for each in found.of_job(job) if each.explained is not None]
        assert sum(shares) <= 1 + 1e-9
        assert shares == sorted(shares, reverse=True)
        assert all(0 <= share <= 1 for share in shares)
    assert {each.cause for each in found.findings} <= set(CAUSES)
    return found.of_job(found.unhealthy[0])


def first_job(trial: Trial) -> JobReport:
    return reports_of_run([trial])[0]


def time_ms(trial: Trial) -> float:
    value = first_job(trial).summary.value("completion_time_ms")
    assert value is not None
    return value


@pytest.mark.parametrize("cause", PLANS)
def test_a_remedy_of_the_first_cause_makes_the_job_faster(bench: Bench, cause: str) -> None:
    trial = bench.run(PLANS[cause])
    first = causes(trial)[0]
    assert first.cause == cause
    assert cause not in PLACES or first.where[0] == PLACES[cause]
    remedy = first.remedies[0]
    assert remedy.changes
    assert time_ms(bench.again(trial, tuple(remedy.changes))) < 0.97 * time_ms(trial)


@pytest.mark.parametrize("cause", WITHOUT_SETTING)
def test_what_no_setting_takes_away_is_said_to_be_so(bench: Bench, cause: str) -> None:
    first = causes(bench.run(WITHOUT_SETTING[cause]))[0]
    assert first.cause == cause
    assert [list(each.changes) for each in first.remedies] == [[]]
    assert first.remedies[0].action.startswith("no setting helps")
    assert cause not in PLACES or first.where[0] == PLACES[cause]


def test_a_lossy_fabric_has_its_symptoms_under_it(bench: Bench) -> None:
    found = causes(bench.run(PLANS["lossy-fabric"]))
    assert found[0].sentence.startswith("PFC and ECN are both off, and 1,607 frames (12 % of all) were lost")
    assert [each.cause for each in found[0].under] == ["loss-with-go-back-n", "retransmission-timeout"]
    assert [list(each.changes) for each in found[0].remedies] == [
        ["fabric.switch.pfc=on"],
        ["fabric.switch.ecn=on", "transport.rate_control=dcqcn"],
        ["transport.recovery=selective"],
    ]
    told = {each.cause for each in found}
    assert not told & {"retransmission-timeout", "loss-with-go-back-n", "buffer-overrun"}


def test_a_remedy_that_the_plan_refuses_is_not_told(bench: Bench) -> None:
    """A buffer of 64 KB has no room for the headroom of PFC."""
    found = causes(bench.run(switch() + "  switch: {buffer: 64KB}\n" + INCAST))
    assert found[0].cause == "lossy-fabric"
    assert ["fabric.switch.pfc=on"] not in [list(each.changes) for each in found[0].remedies]
    assert found[1].cause == "incast"
    assert found[1].remedies[0].action == "no setting helps: the pattern is an incast"


def test_a_job_that_failed_has_causes_without_shares(bench: Bench) -> None:
    plan = switch() + "  switch: {buffer: 64KB}\ntransport: {timeout: 100us, retry_count: 0}\n" + INCAST
    found = causes(bench.run(plan))
    assert found[0].cause == "lossy-fabric"
    assert [each.cause for each in found[0].under] == ["retransmission-timeout"]
    assert all(each.explained is None for each in found)


def test_tcp_beside_a_job_does_not_make_its_fabric_lossy(bench: Bench) -> None:
    plan = leaves(2) + "  switch: {pfc: on, buffer: 4MB}\n" + ALL_TO_ALL
    found = causes(bench.run(f"{plan}tcp: [{{ranks: all, rate: unlimited, priority: 0}}]\n"))
    assert "lossy-fabric" not in {each.cause for each in found}


def test_credits_and_scheduled_fabrics_are_not_lossy(bench: Bench) -> None:
    scheduled = causes(bench.run(leaves(2) + "  switch: {scheduled: on}\n" + ALL_TO_ALL))
    infiniband = causes(bench.run(leaves(2) + "  link_layer: infiniband\n" + ALL_TO_ALL))
    for found in (scheduled, infiniband):
        assert "oversubscription" in {each.cause for each in found}
        assert "lossy-fabric" not in {each.cause for each in found}
        assert not [
            each for one in found for remedy in one.remedies for each in remedy.changes if "pfc" in each
        ]


def test_storage_has_no_ideal_and_no_cause(bench: Bench) -> None:
    storage = "{clients: '0,1', targets: '2,3', operations: 10}"
    trial = bench.run(f"{switch()}jobs: [{{collective: storage, data_size: 4KB, storage: {storage}}}]\n")
    assert list(insight(trial).findings) == []


VARIANTS = (
    "variants:\n"
    "  - {name: ecmp}\n"
    "  - {name: sprayed, set: {fabric.load_balancing: spray-random}}\n"
    "iterations: 2\nsolo: true\n"
)


def test_a_trial_runs_again_as_it_was(tmp_path: Path) -> None:
    """Each variant, size, iteration and job alone gives the run spec of the trial, and with it its id."""
    path = tmp_path / "slow.yaml"
    jobs = (
        "jobs: [{name: a, ranks: 0-3, collective: all-to-all}, {name: b, ranks: 4-7, collective: incast}]\n"
    )
    path.write_text(leaves(2) + jobs + "sweep: {data_size: [64KB, 128KB]}\n" + VARIANTS)
    trials = run_plan(tmp_path / "workspace", path)
    assert {trial.facts.variant for trial in trials} >= {"ecmp", "sprayed", "ecmp/solo/a"}
    for trial in trials:
        plan = record_of(trial).plan
        assert plan is not None
        again = plan.load().trials
        assert [json.loads(each.spec_json) for each in again] == [trial.facts.run_spec]
        changed = plan.load(["transport.recovery=selective"]).trials[0].run_spec
        assert changed["transport"]["recovery"] == "selective"
        assert changed["fabric"] == trial.facts.run_spec["fabric"]
