"""How jobs disturb each other, in variants that leave one of them as it is, with the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricbench.cli.main import run

PINNED = """
fabricbench: 1
name: crossed
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}
  load_balancing:
    kind: pinned
    pins:
      - {switch: leaf0, uplink: 0, flows: ["a/0>1"]}
      - {switch: leaf0, uplink: 1, flows: ["b/0>1"]}
      - {switch: leaf0, uplink: 2, flows: ["c/0>1"]}
      - {switch: leaf1, uplink: 0, flows: ["a/1>0"]}
      - {switch: leaf1, uplink: 1, flows: ["b/1>0"]}
      - {switch: leaf1, uplink: 2, flows: ["c/1>0"]}
jobs:
  - {name: a, ranks: "0,4", collective: send-receive, data_size: 1MB}
  - {name: b, ranks: "1,5", collective: send-receive, data_size: 1MB}
  - {name: c, ranks: "2,6", collective: send-receive, data_size: 1MB}
solo: true
"""
VARIANTS = """
variants:
  - {name: apart, reference: true}
  - {name: a-moves, set: {fabric.load_balancing.pins.0.uplink: 1}}
  - {name: all-on-one, set: {fabric.load_balancing.pins.0.uplink: 1, fabric.load_balancing.pins.2.uplink: 1}}
  # Each job alone is one that ran before, under different variants.
  - {name: c-moves, set: {fabric.load_balancing.pins.2.uplink: 1}}
"""
TCP = """
fabricbench: 1
name: beside-tcp
fabric:
  topology: {kind: single-switch, hosts: 4}
  switch: {ecn: {preset: alibaba, priorities: [3, 5]}}
jobs:
  - {name: a, ranks: "0,1", collective: send-receive, data_size: 8MB}
tcp:
  - {name: files, ranks: "0,2", collective: incast, rate: 20Gbps, congestion: dctcp, priority: 5}
solo: true
variants:
  - {name: little, reference: true}
  - {name: much, set: {tcp.0.rate: 80Gbps}}
"""


def factors(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> dict[tuple[str, str], float]:
    (folder / "plan.yaml").write_text(text)
    capsys.readouterr()
    assert run(["run", str(folder / "plan.yaml"), "--format", "json", "--workspace", str(folder / "w")]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    beside = [trial for trial in trials if "solo" not in trial["variant"]]
    times = {trial["id"]: trial["completion_time_ms"] for trial in trials if "solo" in trial["variant"]}
    for trial in beside:
        alone = trial["alone"]
        assert alone["interference_factor"] == trial["completion_time_ms"] / times[alone["trial"]]
    return {(trial["variant"], trial["job"]): trial["alone"]["interference_factor"] for trial in beside}


def test_a_job_that_no_variant_changes_has_a_factor_in_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = factors(tmp_path, capsys, PINNED + VARIANTS)
    assert len(found) == 4 * 3
    crowded = {key for key, factor in found.items() if factor > 1.5}
    moves = {("a-moves", "a"), ("a-moves", "b"), ("c-moves", "b"), ("c-moves", "c")}
    assert crowded == moves | {("all-on-one", job) for job in "abc"}
    assert all(found[key] == pytest.approx(1, abs=0.01) for key in found.keys() - crowded)


def test_jobs_beside_more_and_less_tcp_have_one_trial_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = factors(tmp_path, capsys, TCP)
    assert 1 < found["little", "a"] < found["much", "a"]
