"""Several jobs of a trial: which is shown, the ranks of all, the one that fares worst; colours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.real import run_plan

from fabricbench.report.html.build import build_page
from fabricbench.report.terminal import run_table, trial_list, trial_text
from fabricbench.results.jobs import Beside, JobReport, stored_reports
from fabricbench.results.several import jobs_text, kept_of, total_ranks, worst_job, worst_text
from fabricbench.store import Trial

PLAN = """
fabricbench: 1
name: tenants
fabric:
  topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2, host_link: 400Gbps}
jobs:
  - {name: noisy, ranks: "2,3,6,7", collective: all-to-all, data_size: 16MB}
  - {name: ring, ranks: "0,4,1,5", collective: all-reduce}
sweep: {data_size: 4MB}
"""
WORST = "job ring keeps 58.7 % of its bus bandwidth alone"


def run(folder: Path, more: str = "solo: true\n", plan: str = PLAN) -> list[Trial]:
    path = folder / "tenants.yaml"
    path.write_text(plan + more)
    return run_plan(folder / "workspace", path)


def reports(trials: list[Trial]) -> list[JobReport]:
    return stored_reports(trials[-1], Beside(trials))


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return run(tmp_path_factory.mktemp("several"))


def test_the_job_that_keeps_least_is_the_worst(trials: list[Trial]) -> None:
    jobs = reports(trials)
    worst = worst_job(jobs)
    assert worst is not None
    assert worst.summary.job == "ring"
    assert kept_of(worst) == min(kept for job in jobs if (kept := kept_of(job)) is not None)
    assert jobs_text(jobs) == f"2 jobs, 8 ranks in all; worst: {WORST}"
    assert total_ranks(trials[-1]) == 8


def test_without_runs_alone_no_job_is_the_worst(tmp_path: Path) -> None:
    jobs = reports(run(tmp_path, ""))
    assert worst_job(jobs) is None
    assert jobs_text(jobs) == "2 jobs, 8 ranks in all"
    assert jobs_text(jobs[:1]) == ""


def test_a_job_that_only_completes_alone_is_the_worst(trials: list[Trial]) -> None:
    noisy, ring = reports(trials)
    stuck = replace(noisy, summary=replace(noisy.summary, status="incomplete"))
    assert worst_job([stuck, ring]) is stuck
    assert worst_text(stuck) == "job noisy is incomplete, and completes alone"


def test_the_terminal_names_the_jobs_and_the_worst(trials: list[Trial]) -> None:
    jobs = reports(trials)
    assert f"8 ranks in all; worst: {WORST}, at 4 MB" in run_table(jobs)
    assert f"2 jobs, 8 ranks in all; worst: {WORST}" in trial_text(jobs)
    heads, units, *rows = trial_list([trials[-1]], jobs).splitlines()
    assert "ranks" in heads
    assert "of all" in units
    assert [row.split()[3:6] for row in rows] == [["noisy", "4/8", "86.1"], ["ring", "4/8", "worst"]]


def test_a_list_of_single_jobs_has_no_columns_for_several(trials: list[Trial]) -> None:
    alone = trials[0]
    assert "of all" not in trial_list([alone], stored_reports(alone, Beside()))


def test_the_banner_names_the_worst_and_is_green_by_criteria_alone(
    trials: list[Trial], tmp_path: Path
) -> None:
    page = build_page(trials, trials[-1])
    assert page.verdict.endswith(f"; 4 MB: 2 jobs, 8 ranks in all; worst: {WORST}")
    assert any(WORST in answer.about for answer in page.answers)
    assert page.tone == ""
    limits = {"good": "{metric: frames_lost, max: 0}", "bad": "{metric: ideal_percent, min: 99}"}
    for tone, limit in limits.items():
        (tmp_path / tone).mkdir()
        judged = run(tmp_path / tone, f"criteria: [{limit}]\n")
        assert build_page(judged, judged[-1]).tone == tone
