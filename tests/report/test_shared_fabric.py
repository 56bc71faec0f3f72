"""Counters of the whole fabric: in no column of a job that shares it, and losses of each job beside them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from tests.integration.real import jobs_of, run_plan

from fabricbench.report.documents.fabric_metrics import OF_FABRIC
from fabricbench.report.html.sections.summary import summary_section
from fabricbench.report.output.json_csv import trials_csv, trials_json
from fabricbench.report.terminal.run import run_table
from fabricbench.report.terminal.trial import trial_text
from fabricbench.results.job_reports import JobReport
from fabricbench.results.result_rows import result_rows
from fabricbench.store import Trial

PLANS = Path(__file__).parents[1] / "integration/defects"


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Job training loses its host's link for good; job moe, on another leaf, loses nothing."""
    root = tmp_path_factory.mktemp("shared")
    (trial,) = run_plan(root / "workspace", PLANS / "tenants-one-link-down.yaml")
    return trial


@pytest.fixture(scope="module")
def jobs(stalled: Trial) -> list[JobReport]:
    return jobs_of([stalled])


def lost_of_fabric(trial: Trial) -> int:
    assert trial.summary is not None
    return int(sum(trial.summary["frames_lost"].values()))


def test_a_job_that_lost_nothing_has_no_losses_of_others(stalled: Trial, jobs: list[JobReport]) -> None:
    training, moe = jobs
    assert (training.summary.job, moe.summary.job) == ("training", "moe")
    assert moe.summary.value("data_frames_lost") == 0
    own = training.summary.value("data_frames_lost")
    assert own is not None
    # The fabric also lost acknowledgements.
    assert 0 < own <= lost_of_fabric(stalled)


def test_the_terminal_has_the_fabric_in_rows_of_its_own(stalled: Trial, jobs: list[JobReport]) -> None:
    count = f"{lost_of_fabric(stalled):,}"
    of_jobs, _, fabric = trial_text(jobs).partition("whole fabric, all jobs together")
    assert count not in of_jobs
    assert "Data frames lost" in of_jobs
    assert f"Frames lost {count:>22} frames".split() == fabric.splitlines()[2].split()
    tables, _, fabric = run_table(jobs).partition("whole fabric, all jobs together")
    assert count.replace(",", "") not in tables
    assert count.replace(",", "") in fabric
    assert tables.index("job training") < tables.index("job moe"), "failed first"


def test_programs_get_the_fabric_under_names_of_its_own(stalled: Trial, jobs: list[JobReport]) -> None:
    trials = json.loads(trials_json(jobs))["trials"]
    assert [each["job"] for each in trials] == ["training", "moe"]
    for each in trials:
        assert all(each[metric.name] is None for metric in OF_FABRIC)
        assert each["fabric_metrics"]["frames_lost"] == lost_of_fabric(stalled)
    rows = list(csv.DictReader(io.StringIO(trials_csv(jobs))))
    assert [row["frames_lost"] for row in rows] == ["", ""]
    assert {row["fabric_frames_lost"] for row in rows} == {str(lost_of_fabric(stalled))}
    assert [row["data_frames_lost"] for row in rows][1] == "0"


def test_the_report_has_a_table_of_the_fabric(stalled: Trial) -> None:
    section = summary_section(result_rows([stalled], stalled))
    assert "whole fabric, all jobs together" in [getattr(part, "title", "") for part in section.parts]
    assert "'lost'" in repr(section.parts[0])


def test_a_single_job_keeps_the_counters_of_its_fabric(tmp_path: Path) -> None:
    (trial,) = run_plan(
        tmp_path / "workspace",
        PLANS / "tenants-one-link-down.yaml",
        'jobs=[{name: training, ranks: "0-3", collective: all-reduce, algorithm: ring}]',
    )
    jobs = jobs_of([trial])
    (shown,) = json.loads(trials_json(jobs))["trials"]
    assert shown["frames_lost"] == shown["fabric_metrics"]["frames_lost"] == lost_of_fabric(trial)
    assert "whole fabric" not in trial_text(jobs)


def test_tcp_traffic_shares_the_fabric_as_well(tmp_path: Path) -> None:
    (trial,) = run_plan(
        tmp_path / "workspace",
        PLANS / "tenants-one-link-down.yaml",
        'jobs=[{name: training, ranks: "4-7", collective: all-reduce, algorithm: ring}]',
        'tcp=[{name: files, ranks: "0-3", collective: permutation, rate: 20Gbps}]',
    )
    (shown,) = json.loads(trials_json(jobs_of([trial])))["trials"]
    assert shown["frames_lost"] is None
    assert shown["data_frames_lost"] == 0
