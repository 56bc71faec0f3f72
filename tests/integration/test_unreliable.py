"""Unreliable connections in whole trials: records, metrics, causes, labs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.integration.real import jobs_of, run_plan

from fabricbench.analysis.summary.job_summary import Summary
from fabricbench.lab.supported_spec import likeness, obstacle
from fabricbench.plan.load import load_plan
from fabricbench.report.documents.diagnosis import insight
from fabricbench.store import Trial

PLAN = Path(__file__).parent / "defects" / "unreliable.yaml"


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Trial]:
    workspace = tmp_path_factory.mktemp("unreliable") / "workspace"
    return {trial.facts.variant: trial for trial in run_plan(workspace, PLAN)}


def summary_of(trial: Trial) -> Summary:
    (job,) = jobs_of([trial])
    return job.summary


def test_messages_with_a_gap_leave_the_trial_incomplete(trials: Mapping[str, Trial]) -> None:
    summary = summary_of(trials["uc"])
    assert summary.status == "incomplete"
    lost = summary.value("messages_lost")
    # 1024 messages of 8 packets, of which 0.1 % are lost: 8.2 messages, and three deviations.
    assert lost is not None
    assert 1 <= lost <= 17
    assert summary.reason.startswith(f"{lost} of 1024 messages lost; ")


def test_reliable_connections_complete_and_count_no_messages(trials: Mapping[str, Trial]) -> None:
    assert summary_of(trials["rc"]).status == "complete"
    assert summary_of(trials["rc"]).value("messages_lost") is None
    assert summary_of(trials["whole"]).status == "complete"
    assert summary_of(trials["whole"]).value("messages_lost") == 0


def test_the_cause_names_messages_and_where_frames_were_lost(trials: Mapping[str, Trial]) -> None:
    (cause,) = insight(trials["uc"]).findings
    assert cause.cause == "bit-errors"
    (symptom,) = cause.under
    assert symptom.cause == "loss-without-recovery"
    assert "of 1024 messages lost" in symptom.sentence
    assert symptom.sentence.endswith("; frames were lost at leaf0-host0")
    assert symptom.evidence["frames_lost"] == cause.evidence["frames"]


def test_a_lab_leaves_unreliable_connections_as_they_are() -> None:
    specs = {trial.variant: trial.run_spec for trial in load_plan(str(PLAN)).trials}
    for variant in ("uc", "rc"):
        assert not obstacle(specs[variant])
        like = likeness(specs[variant])
        assert not [each for each in like.omissions if each.field.startswith("transport.recovery")]
        assert like.run_spec["transport"].get("connection", "rc") == variant
