"""A trial that is beyond the machine is refused before it starts, and before its chunks are made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plan.examples import write_plan

from fabricbench.cli.main import run
from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates.cost import Limits, duration
from fabricbench.plan.load import load_plan

NUMBERS = re.compile(r"[0-9][0-9.,]*")
GB = 1 << 30

LARGE = """
fabricbench: 1
name: large
title: More than this machine has
fabric:
  topology: {kind: leaf-spine, leaves: 128, hosts_per_leaf: 40, spines: 40, host_link: 400Gbps, fabric_link: 400Gbps}
jobs:
  - {name: test, ranks: "0-4999", collective: all-to-all, data_size: 20000000}
"""  # noqa: E501


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "large.yaml").write_text(LARGE)
    return "large.yaml"


def refusal(plan: str, limits: Limits, *overrides: str) -> str:
    with pytest.raises(PlanError) as error:
        load_plan(plan, overrides, limits)
    return str(error.value)


def test_what_needs_more_memory_than_is_left_is_refused(large: str) -> None:
    expected = (
        "error: large.yaml:7: jobs: found a trial, which needs about 6.6 GB of memory (24,995,000 chunks, "
        "24,995,000 queue pairs, 20,480 ports); allowed: 2 GB, which is what this machine has left\n"
        "hint: fewer ranks or hosts need less; `--force` runs it nonetheless"
    )
    assert refusal(large, Limits(2 * GB, None)) == expected


def test_what_takes_longer_than_the_limit_is_refused_and_named(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    text = refusal(plan, Limits(None, 600_000), "sweep.data_size=[16MB,15TB]")
    expected = (
        f"error: {plan}:N: sweep: found trial N of N (N TB), which takes up to N min on one core "
        "(N packet-hops); allowed: N min\n"
        "hint: a smaller data size takes less, and what repeats may be skipped; "
        "`--time-limit MINUTES` allows more, `--force` runs it nonetheless"
    )
    begin = len(f"error: {plan}")
    assert text[:begin] + NUMBERS.sub("N", text[begin:]) == expected
    assert "trial 2 of 2 (15 TB)" in text


def test_a_trial_may_be_beyond_both_limits(tmp_path: Path) -> None:
    text = refusal(write_plan(tmp_path), Limits(1 << 20, 1), "sweep.data_size=16MB")
    assert text.count("error: ") == 1, "memory is looked at first, before the engine makes anything"
    assert "of memory" in text


def test_within_the_limits_a_plan_is_loaded(tmp_path: Path) -> None:
    plan = load_plan(write_plan(tmp_path), (), Limits(GB, 60_000))
    (first, second) = plan.estimates
    assert first is not None
    assert second is not None
    assert second["payload_bytes"] == 2 * first["payload_bytes"]
    assert second["packet_hops"] == 2 * first["packet_hops"]
    assert plan.cost.startswith("estimate: ")


def test_what_the_engine_refuses_is_refused_in_its_own_words(tmp_path: Path) -> None:
    text = refusal(write_plan(tmp_path), Limits(1, 1), "sweep.data_size=3B")
    assert "of memory" not in text


def test_the_program_exits_with_2_unless_forced(large: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ("-s", "jobs.0.ranks=0-99", "-s", "jobs.0.data_size=100GB", "--time-limit", "1")
    assert run(["plan", "check", large, *small]) == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "which takes up to" in refused.err
    assert "allowed: 60 s" in refused.err
    assert run(["run", large, *small]) == 2
    assert not Path("fabricbench-workspace").exists()
    assert run(["plan", "check", large, *small, "--force"]) == 0


def test_a_capture_is_refused_for_its_memory_and_not_for_the_time_of_the_trial(
    large: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fabricbench.runner.loading.available_memory_bytes", lambda: 1 << 28)
    assert run(["capture", large, "--list-qps"]) == 2
    assert "of memory" in capsys.readouterr().err
    small = ("-s", "jobs.0.ranks=0-3", "-s", "jobs.0.data_size=15TB")
    assert run(["capture", large, *small, "--list-qps"]) == 0


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (800, "0.8 s"),
        (42_000, "42 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (7_500_000, "2 h 5 min"),
        (10_800_000, "3 h"),
        (260_000_000, "3 days"),
    ],
)
def test_durations_are_written_for_people(time_ms: int, text: str) -> None:
    assert duration(time_ms) == text
