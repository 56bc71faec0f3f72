"""Several jobs of a trial: which is shown, the ranks of all, the one that fares worst; colours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.real import run_plan

from fabricbench.analysis.comparison.verdict import Judgement
from fabricbench.report.documents.criteria import verdict_line
from fabricbench.report.html.run_page import build_page
from fabricbench.report.terminal.run import run_table
from fabricbench.report.terminal.trial import trial_list, trial_text
from fabricbench.results.job_ranking import (
    by_concern,
    jobs_text,
    kept_of,
    leading_job,
    leading_text,
    total_ranks,
    worst_job,
    worst_text,
)
from fabricbench.results.job_reports import ComparisonTrials, JobReport, stored_reports
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
    return stored_reports(trials[-1], ComparisonTrials(trials))


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
    assert [row.split()[3:6] for row in rows] == [["ring", "4/8", "worst"], ["noisy", "4/8", "86.1"]]


def test_jobs_of_one_kind_are_lines_of_one_table(tmp_path: Path) -> None:
    rings = PLAN.replace("collective: all-to-all, data_size: 16MB", "collective: all-reduce")
    text = run_table(reports(run(tmp_path, "criteria: [{metric: ideal_percent, min: 99.9}]\n", rings)))
    assert text.startswith("tenants, 2 jobs: all-reduce ring, 4 ranks\n")
    _, heads, units, first, second, *rest = text.splitlines()
    assert (heads.split()[0], units.split()[0]) == ("data", "job")
    assert sorted(line.split()[0] for line in (first, second)) == ["noisy", "ring"]
    assert {line.partition(",")[0] for line in rest[:2]} == {"job noisy", "job ring"}


def test_a_list_of_single_jobs_has_no_columns_for_several(trials: list[Trial]) -> None:
    alone = trials[0]
    assert "of all" not in trial_list([alone], stored_reports(alone))


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


def changed(
    job: JobReport, *, ideal: float | None, status: str = "complete", fails: bool = False
) -> JobReport:
    """Return a job with another share of its ideal, status and verdict."""
    metrics = {**job.summary.metrics, "ideal_percent": ideal}
    judged = [Judgement("busbw_gb_per_s", 30, None, 19.4253, passed=False)] if fails else []
    summary = replace(job.summary, status=status, metrics=metrics)
    return replace(job, summary=summary, judgements=judged, alone=None)


def test_failed_jobs_come_first_then_the_least_share_of_the_ideal(trials: list[Trial]) -> None:
    job = reports(trials)[0]
    healthy, slow = changed(job, ideal=97.9), changed(job, ideal=39.6)
    stuck, missed = changed(job, ideal=None, status="incomplete"), changed(job, ideal=99.0, fails=True)
    unknown = changed(job, ideal=None)
    assert by_concern([unknown, healthy, slow, missed, stuck]) == [stuck, missed, slow, healthy, unknown]
    assert leading_job([healthy, stuck]) is stuck
    assert leading_text(stuck, [healthy, stuck]) == "is incomplete"
    assert leading_text(missed, [healthy, missed]) == "does not meet busbw_gb_per_s"
    assert leading_text(slow, [healthy, slow]) == "reaches 39.6 % of its ideal, the least"
    assert leading_job([]) is None


def test_the_headline_names_the_job_that_failed_not_one_that_lost_nothing(trials: list[Trial]) -> None:
    noisy, ring = reports(trials)
    assert noisy.alone is not None
    lossless = replace(noisy, alone=replace(noisy.alone, kept_percent=100.0))
    missed = replace(changed(ring, ideal=39.6, fails=True), alone=None)
    assert jobs_text([lossless, missed]).endswith("; worst: job ring does not meet busbw_gb_per_s")
    assert "not met" in trial_list([trials[-1]], [lossless, missed])


def test_the_verdict_counts_criteria_and_names_the_one_that_is_missed_by_most(trials: list[Trial]) -> None:
    noisy, ring = reports(trials)
    missed = changed(ring, ideal=39.6, fails=True)
    assert verdict_line([noisy, missed]) == "1 of 1 criteria not met: busbw of ring 19.4 for 30 GB/s (4 MB)"
    near = replace(missed, judgements=[Judgement("busbw_gb_per_s", 30, None, 29.9996, passed=False)])
    assert verdict_line([near, missed]).startswith("2 of 2 criteria not met: busbw of ring 19.4 for 30")
    assert "busbw of ring 29.9996 for 30 GB/s" in verdict_line([near])
    kept = replace(missed, judgements=[Judgement("frames_lost", None, 0, 0, passed=True)])
    assert verdict_line([kept, noisy]) == "1 of 1 criteria met"
    unmeasured = replace(
        missed, judgements=[Judgement("completion_time_ratio", None, 1.5, None, passed=False)]
    )
    assert "completion_time_ratio of ring not measured for 1.5" in verdict_line([unmeasured])
    stuck = changed(noisy, ideal=None, status="incomplete")
    assert verdict_line([stuck, ring]) == "1 of 1 trial not complete: job noisy is incomplete (16 MB)"
    assert verdict_line([noisy, ring]) == ""
