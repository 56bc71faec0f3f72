"""Causes that real runs were given, found again in their records."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.integration.real import PROGRAM, run_plan

from fabricbench.analysis.causes.finding import Finding
from fabricbench.report.documents.diagnosis import Insight, insight
from fabricbench.report.html.run_page import build_page
from fabricbench.report.terminal.diagnosis import insight_text

HEAD = "fabricbench: 1\nname: slow\n"
LEAVES = (
    "{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4, host_link: 400Gbps, fabric_link: 400Gbps}"
)
SWITCH = "{kind: single-switch, hosts: 4, host_link: 400Gbps}"
ALL_TO_ALL = "jobs: [{name: test, ranks: all, collective: all-to-all}]\n"
ELEVEN_OF_SIXTEEN = """
  load_balancing:
    kind: pinned
    pins:
      - {switch: leaf0, uplink: 0, flows: ["0>4-7", "1>4", "2>4,5", "3>4-7"]}
      - {switch: leaf0, uplink: 1, flows: ["1>5", "2>6"]}
      - {switch: leaf0, uplink: 2, flows: ["1>6", "2>7"]}
      - {switch: leaf0, uplink: 3, flows: ["1>7"]}
      - {switch: leaf1, uplink: 0, flows: ["4>0", "5>1", "6>2", "7>3"]}
      - {switch: leaf1, uplink: 1, flows: ["4>1", "5>2", "6>3", "7>0"]}
      - {switch: leaf1, uplink: 2, flows: ["4>2", "5>3", "6>0", "7>1"]}
      - {switch: leaf1, uplink: 3, flows: ["4>3", "5>0", "6>1", "7>2"]}
"""
COLLISION = f"{HEAD}fabric:\n  topology: {LEAVES}{ELEVEN_OF_SIXTEEN}"
SHALLOW_PFC = "  switch: {pfc: {xoff: {bytes: 200KB}}}\n"
NO_HEADROOM = "  switch: {pfc: {xoff: {bytes: 200KB}, headroom: 10KB}}\n"
EAGER = "  switch: {ecn: {kmin: 5KB, kmax: 50KB, pmax: 100%}}\n"
SIZE = "sweep: {data_size: 16MB}\n"


def run(folder: Path, plan: str) -> Insight:
    path = folder / "slow.yaml"
    path.write_text(plan)
    return insight(run_plan(folder / "workspace", path)[0])


def by_cause(found: Insight) -> dict[str, Finding]:
    return {finding.cause: finding for finding in found.findings}


def test_a_pinned_collision_explains_the_whole_loss(tmp_path: Path) -> None:
    found = run(tmp_path, COLLISION + SHALLOW_PFC + ALL_TO_ALL + SIZE)
    assert [each.qps_text for each in found.distributions] == ["11+2+2+1", "4+4+4+4"]
    first = found.findings[0]
    assert (first.cause, first.evidence["switch"], first.evidence["qps"]) == ("hash-collision", "leaf0", 11)
    assert first.explained is not None
    assert first.explained > 0.9
    assert len(first.evidence["flows"]) == 11
    blocking = by_cause(found)["pfc-head-of-line-blocking"]
    assert blocking.evidence["full_ports"] == ["leaf0 port 4 to spine0"]
    assert found.paused[0].peer == "leaf0"
    assert "11+2+2+1" in insight_text(found)


def test_a_headroom_that_is_too_small_is_named(tmp_path: Path) -> None:
    found = run(tmp_path, COLLISION + NO_HEADROOM + ALL_TO_ALL + SIZE)
    causes = by_cause(found)
    assert causes["headroom-overrun"].evidence["frames"] == found.losses["headroom overrun"] > 0
    assert "buffer-overrun" not in causes


def test_marks_at_a_shallow_queue_are_too_eager(tmp_path: Path) -> None:
    found = by_cause(
        run(tmp_path, COLLISION + EAGER + "transport: {rate_control: dcqcn}\n" + ALL_TO_ALL + SIZE)
    )
    assert found["ecn-too-eager"].evidence["port_use"] < 0.9
    assert found["ecn-too-eager"].evidence["cnp_rx"] > 0


def test_too_few_uplinks_are_oversubscribed(tmp_path: Path) -> None:
    narrow = LEAVES.replace("spines: 4", "spines: 2")
    plan = (
        f"{HEAD}fabric:\n  topology: {narrow}\n  load_balancing: spray-round-robin\n  switch: {{pfc: on}}\n"
    )
    found = run(tmp_path, plan + "transport: {recovery: selective}\n" + ALL_TO_ALL + SIZE)
    assert {finding.cause for finding in found.findings} == {"oversubscription"}
    assert [each.qps_text for each in found.distributions] == ["-", "-"]


def test_spray_with_go_back_n_reorders(tmp_path: Path) -> None:
    plan = f"{HEAD}fabric:\n  topology: {LEAVES}\n  load_balancing: spray-random\n{SIZE}"
    ring = 'jobs: [{name: test, ranks: "0,4,1,5,2,6,3,7", collective: all-gather, algorithm: ring}]\n'
    found = run(tmp_path, plan + ring)
    reordering = by_cause(found)["reordering-with-go-back-n"]
    assert reordering.evidence["naks_without_loss"] > 0
    assert reordering.evidence["retransmits"] > 0
    assert not any(found.losses.values())


def test_an_incast_into_a_small_buffer(tmp_path: Path) -> None:
    plan = f"{HEAD}fabric:\n  topology: {SWITCH}\n  switch: {{buffer: 64KB}}\n" + (
        "transport: {timeout: 100us, retry_count: 0}\njobs: [{name: test, ranks: all, collective: incast}]\n"
    )
    found = run(tmp_path, plan + SIZE)
    causes = by_cause(found)
    assert list(causes) == ["lossy-fabric", "incast"]
    assert causes["incast"].evidence["inherent"]
    assert causes["lossy-fabric"].evidence["frames"] == found.losses["tail drop"]
    assert [each.cause for each in causes["lossy-fabric"].under] == ["retransmission-timeout"]
    assert all(finding.explained is None for finding in found.findings)


def test_a_nic_at_half_its_rate_straggles(tmp_path: Path) -> None:
    plan = f"{HEAD}fabric:\n  topology: {SWITCH}\n  switch: {{pfc: on}}\n"
    plan += "  nic: {impairments: [{host: 3, throughput: 50%}]}\n" + ALL_TO_ALL + SIZE
    found = run(tmp_path, plan)
    assert [finding.cause for finding in found.findings[:1]] == ["straggling-nic"]
    assert found.findings[0].evidence["host"] == "host3"
    assert found.findings[0].explained == pytest.approx(1, abs=0.05)


def test_small_rings_wait_for_latency_and_overhead(tmp_path: Path) -> None:
    plan = f"{HEAD}fabric:\n  topology: {SWITCH}\nsweep: {{data_size: 256KB}}\n"
    plan += "jobs: [{name: test, ranks: all, collective: all-reduce, algorithm: ring, step_overhead: 2us}]\n"
    found = by_cause(run(tmp_path, plan))
    assert set(found) == {"start-up-latency", "step-overhead"}
    both = [finding.explained or 0.0 for finding in found.values()]
    assert sum(both) == pytest.approx(1, abs=0.1)


def test_a_healthy_run_is_left_alone(tmp_path: Path) -> None:
    found = run(tmp_path, f"{HEAD}fabric:\n  topology: {SWITCH}\n{ALL_TO_ALL}{SIZE}")
    assert (list(found.unhealthy), list(found.findings), list(found.distributions)) == ([], [], [])
    assert insight_text(found) == ""


def test_show_and_the_report_say_why(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(COLLISION + SHALLOW_PFC + ALL_TO_ALL + SIZE)
    trial = run_plan(tmp_path / "workspace", path)[0]
    command = [str(PROGRAM), "show", "latest", "--workspace", str(tmp_path / "workspace")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "- hash collision: leaf0 port 4 to spine0 carries 11 of 16 queue pairs (11+2+2+1)" in text
    shown = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True).stdout
    content = json.loads(shown)
    assert content["trials"][0]["diagnosis"][0]["cause"] == "hash-collision"
    assert content["fabric"]["uplinks"][0]["qps"] == "11+2+2+1"
    assert content["fabric"]["paused_ports"]
    page = build_page([trial], trial)
    told = {answer.question: answer for answer in page.answers}
    job = content["trials"][0]
    assert told["How long"].text == f"{job['completion_time_ms']:.5f} ms"
    assert told["How far from ideal"].text == f"{job['ideal_percent']:.2f} %"
    assert (told["Why"].text, told["Why"].section) == ("hash collision", "diagnosis")
    assert told["What to do"].about == job["diagnosis"][0]["remedies"][0]["options"] != ""
    assert {"diagnosis", "uplinks"} <= {section.key for section in page.sections}
