"""Whole runs in which links and switches fail, with the real engine."""

from __future__ import annotations

from pathlib import Path

from tests.integration.real import jobs_of, run_plan

from fabricbench.report.documents.diagnosis import insight

PLAN = """
fabricbench: 1
name: link-failure
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, host_link: 100Gbps}
  convergence_time: 100us
  failures:
    - {at: 300us, kind: link-down, link: spine1-leaf0}
    - {at: 900us, kind: link-up, link: spine1-leaf0}
transport: {timeout: 200us}
jobs:
  - {name: test, ranks: all, collective: all-to-all, repeat: 6}
sweep: {data_size: 16MB}
"""


def test_a_link_fails_and_is_repaired_and_the_record_tells(tmp_path: Path) -> None:
    plan = tmp_path / "failure.yaml"
    plan.write_text(PLAN)
    trial = run_plan(tmp_path / "workspace", plan)[0]
    assert trial.status == "complete"
    events = [(row["time_ps"], row["kind"]) for row in trial.tables.table("events").to_pylist()]
    us = 1_000_000
    assert events == [
        (300 * us, "link_down"),
        (400 * us, "routes_converged"),
        (900 * us, "link_up"),
        (1_000 * us, "routes_converged"),
    ]
    lost = sum(trial.tables.table("ports")["lost_link_down_frames"].to_pylist())
    job = jobs_of([trial])[0].summary
    assert job.value("frames_lost") == lost > 0


def test_a_host_that_is_cut_off_leaves_an_incomplete_trial_with_its_reason(tmp_path: Path) -> None:
    plan = tmp_path / "failure.yaml"
    plan.write_text(PLAN.replace("link: spine1-leaf0}", "link: host3-leaf0}").replace("900us", "90ms"))
    trial = run_plan(tmp_path / "workspace", plan, "transport.retry_count=1")[0]
    job = jobs_of([trial])[0].summary
    assert (trial.status, job.status) == ("incomplete", "incomplete")
    assert "used up its 1 retries" in job.reason
    causes = {finding.cause: finding for finding in insight(trial).of_job("test")}
    assert causes["link-failure"].evidence["frames"] == job.value("frames_lost")


def test_frames_that_a_bad_link_corrupts_are_lost_for_a_cause_of_their_own(tmp_path: Path) -> None:
    plan = tmp_path / "failure.yaml"
    bad = "{at: 300us, kind: bit-errors, link: spine1-leaf0, rate: 1e-5}"
    text = PLAN.replace("{at: 300us, kind: link-down, link: spine1-leaf0}", bad)
    good = "{at: 900us, kind: bit-errors, link: spine1-leaf0, rate: 0}"
    plan.write_text(text.replace("{at: 900us, kind: link-up, link: spine1-leaf0}", good))
    trial = run_plan(tmp_path / "workspace", plan)[0]
    kinds = [(row["time_ps"], row["kind"]) for row in trial.tables.table("events").to_pylist()]
    assert kinds == [(300_000_000, "bit_errors"), (900_000_000, "bit_errors")]
    ports = trial.tables.table("ports").to_pylist()
    corrupted = {(port["node"], port["peer"]): port["fcs_error_frames"] for port in ports}
    lost = jobs_of([trial])[0].summary.value("frames_lost")
    assert lost is not None
    assert corrupted["spine1", "leaf0"] + corrupted["leaf0", "spine1"] == lost > 0
    causes = {finding.cause: finding for finding in insight(trial).of_job("test")}
    assert causes["bit-errors"].evidence["frames"] == lost
    assert causes["bit-errors"].sentence.startswith(f"{lost:,} frames arrived corrupted")


def test_the_dip_and_the_recovery_are_measured(tmp_path: Path) -> None:
    plan = tmp_path / "failure.yaml"
    # Four times 100 Gb/s above four hosts, one of them down for a while.
    text = PLAN.replace("spines: 2,", "spines: 4,").replace("repeat: 6", "repeat: 40")
    text = text.replace("at: 300us", "at: 10ms").replace("at: 900us", "at: 25ms")
    plan.write_text(text.replace("transport: {", "transport: {recovery: selective, "))
    balancing = "fabric.load_balancing=spray-random"
    trial = run_plan(tmp_path / "workspace", plan, balancing, "fabric.switch.buffer=64MB")[0]
    down, up = insight(trial).recoveries
    assert (down.step.at_ps, down.step.converged_ps) == (10_000_000_000, 10_100_000_000)
    assert [(one.switch, one.up, one.all) for one in down.step.uplinks] == [("leaf0", 3, 4)]
    assert up.step.uplinks == []
    assert down.lost_frames > 0
    assert down.fell_ps is not None
    assert down.rate_low_gb_per_s < 0.9 * down.rate_before_gb_per_s
    assert down.rounds_during_ms is not None
    assert down.rounds_before_ms is not None
    assert down.rounds_during_ms > down.rounds_before_ms
    assert up.after_percent is not None
    assert up.after_percent > 95


def test_a_leaf_with_fewer_uplinks_has_no_collision_for_being_uneven(tmp_path: Path) -> None:
    plan = tmp_path / "failure.yaml"
    # Sixteen hosts: most of what a leaf sends leaves it.
    text = PLAN.replace("leaves: 2", "leaves: 4").replace("repeat: 6", "repeat: 20").replace("300us", "5ms")
    text = text.replace("    - {at: 900us, kind: link-up, link: spine1-leaf0}\n", "")
    plan.write_text(text.replace("transport: {", "transport: {recovery: selective, "))
    for kind in ("adaptive", "spray-random"):
        workspace = tmp_path / kind
        overrides = (f"fabric.load_balancing={kind}", "fabric.topology.fabric_link=200Gbps")
        trial = run_plan(workspace, plan, *overrides, "fabric.switch.buffer=64MB")[0]
        found = insight(trial)
        causes = {finding.cause: finding for finding in found.of_job("test")}
        assert causes["fewer-uplinks"].evidence["switches"] == ["leaf0"]
        (uplinks,) = [each for each in found.distributions if each.switch == "leaf0"]
        assert uplinks.bytes_max_to_mean is not None
        assert uplinks.bytes_max_to_mean > 1.2
        assert "hash-collision" not in causes
