"""The command `calibrate`: known endpoints of a simulated fabric are recovered, wrong options refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.cli.main import run
from fabricbench.plan.profile import read_profile

KNOWN = """\
fabricbench: 1
name: known
fabric:
  topology:
    {{kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, host_link: {rate}, fabric_link: 200Gbps}}
  nic: {{latency: {latency}}}
transport: {{window: {window}}}
jobs:
  - {{collective: all-to-all, send_overhead: {send}, receive_overhead: {receive}}}
sweep: {{data_size: [1MB]}}
"""
BLIND = """\
fabricbench: 1
name: blind
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, fabric_link: 200Gbps}
jobs:
  - {collective: all-reduce, algorithm: ring}
sweep: {data_size: [4KB, 64KB, 1MB]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(**changes: str) -> str:
    known = {"rate": "100Gbps", "latency": "2us", "window": "16", "send": "300ns", "receive": "700ns"}
    return KNOWN.format(**(known | changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"send_overhead": 300_000, "receive_overhead": 700_000, "latency": 2_000_000, "rate": 100e9}),
        (
            {"rate": "25Gbps", "latency": "10us", "window": "4096", "send": "2us", "receive": "0"},
            {"send_overhead": 2_000_000, "receive_overhead": 0, "latency": 10_000_000, "rate": 25e9},
        ),
    ],
)
def test_a_simulated_fabric_is_recovered_within_its_residuals(
    folder: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str], expected: dict[str, float]
) -> None:
    (folder / "known.yaml").write_text(text(**changes))
    options = ["--iterations", "1", "--size-max", "4MB", "--pairs", "host0:host3", "--format", "json"]
    assert run(["calibrate", "known.yaml", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    found = read_profile(folder / "host-profile.yaml").profile
    assert told["parameters"]["send_overhead"]["value"]
    parameters = vars(found.parameters)
    for name, value in expected.items():
        each = parameters[name]
        measured = each.value_bps if name == "rate" else each.value_ps
        residual = max(each.residual_max, 0.1) / 100
        assert abs(measured - value) <= residual * value + 1_000, name
    window = parameters["window"]
    assert (None if window is None else window.value) == (16 if not changes else None)
    assert {row["sweep"] for row in found.sweeps} == {"rate", "window", "messages", "latency"}


def test_a_ring_is_predicted_by_the_profile_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "known.yaml").write_text(text(window="8388608"))
    (folder / "blind.yaml").write_text(BLIND)
    assert run(["calibrate", "known.yaml", "--iterations", "1", "--size-max", "1MB"]) == 0
    capsys.readouterr()

    def times(*options: str) -> list[float]:
        assert run(["run", "blind.yaml", "--format", "json", *options]) == 0
        jobs: Any = json.loads(capsys.readouterr().out)
        return [float(each["completion_time_ms"]) for each in jobs["trials"]]

    known = [
        "fabric.topology.host_link=100Gbps",
        "fabric.nic.latency=2us",
        "jobs.0.send_overhead=300ns",
        "jobs.0.receive_overhead=700ns",
    ]
    measured = times(*(part for each in known for part in ("-s", each)))
    assert times("--profile", "host-profile.yaml") == pytest.approx(measured, rel=1e-3)
    assert times() != pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "found no PLAN"),
        (["known.yaml", "--lab", "--hosts", "hosts.yaml"], "beside --lab"),
        (["known.yaml", "--pairs", "host0"], 'found "host0"; allowed: two hosts'),
        (["known.yaml", "--pairs", "host0:host0"], 'found "host0:host0"'),
        (["known.yaml", "--pairs", "host0:host9"], 'found host "host9"'),
        (["known.yaml", "--pairs", "host0:host1,host1:host0"], "again"),
        (["known.yaml", "--size-max", "big"], '--size-max: found "big"'),
        (["known.yaml", "--size-max", "1KB"], "allowed: 256KB or more"),
        (["known.yaml", "-o", "nowhere/profile.yaml"], "cannot write nowhere/profile.yaml"),
        (["--hosts", "hosts.yaml"], "hosts.yaml"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    (folder / "known.yaml").write_text(text())
    assert run(["calibrate", *options]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "host-profile.yaml").exists()
    assert not (folder / "fabricbench-workspace").exists()


def test_a_profile_that_is_not_there_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "blind.yaml").write_text(BLIND)
    assert run(["run", "blind.yaml", "--profile", "none.yaml"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --profile: found no file")
    assert "none.yaml" in error
