"""Likely causes of trials with several jobs: every job has its own."""

from __future__ import annotations

from pathlib import Path

from tests.report.test_tenants import PLAN, Crowded
from tests.support.samples import call

from fabricbench.analysis.causes.finding import Finding
from fabricbench.report.documents.diagnosis import Insight
from fabricbench.report.html.run_page import build_page
from fabricbench.report.html.sections.causes import MAX_CAUSE_ROWS, shown_findings
from fabricbench.store import Workspace


def insight_of(*causes: tuple[str, str]) -> Insight:
    """Return what is found of trials with so many causes, each of a job."""
    findings = [Finding(cause, job, None, f"{cause} of {job}") for cause, job in causes]
    jobs = list(dict.fromkeys(job for _, job in causes))
    return Insight(jobs, [], findings, [], {}, [], [], [], [], [], [])


def test_no_job_loses_its_causes_to_another() -> None:
    found = insight_of(*[("hash-collision", job) for job in "abcd" for _ in range(30)])
    shown = [finding.job for finding in shown_findings(found)]
    assert {job: shown.count(job) for job in "abcd"} == dict.fromkeys("abcd", 8)
    many = insight_of(*[("hash-collision", f"job-{job}") for job in range(MAX_CAUSE_ROWS + 5)])
    assert len(shown_findings(many)) == MAX_CAUSE_ROWS
    assert shown_findings(insight_of()) == []


def test_what_is_told_of_a_trial_of_several_jobs_names_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "tenants.yaml").write_text(PLAN)
    assert call("run", "tenants.yaml", cwd=tmp_path, backend=Crowded()).returncode == 0
    workspace = Workspace.open(tmp_path / "fabricbench-workspace")
    trial = next(each for each in workspace.trials() if each.facts.variant == "base")
    page = build_page(workspace.family(trial), trial)
    assert page.focus == f"Detailed plots: 1 MB, trial {trial.id}"
    told = {answer.question: answer for answer in page.answers}
    assert told["How long"].text.endswith(" ms")
    assert told["Why"].about.startswith("job ")
