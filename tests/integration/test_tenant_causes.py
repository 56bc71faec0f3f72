"""Causes of jobs that share a fabric: only links and losses of their own, as the runs recorded them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.real import jobs_of, run_plan

from fabricbench.analysis.causes.finding import Finding
from fabricbench.analysis.comparison.isolation import is_solo
from fabricbench.report.documents.diagnosis import Insight, insight
from fabricbench.store import Trial

PLANS = Path(__file__).parent / "defects"
APART = {
    "ring": {"leaf0", "leaf1", *(f"host{host}" for host in range(16))},
    "moe": {"leaf2", "leaf3", "leaf4", "leaf5", *(f"host{host}" for host in range(16, 48))},
    "storage": {"leaf6", "leaf7", *(f"host{host}" for host in range(48, 64))},
}
"""Leaves and hosts of the tenants of tenants-apart.yaml, which share no link."""


def run(root: Path, name: str, *overrides: str) -> list[Trial]:
    return run_plan(root / "workspace", PLANS / f"{name}.yaml", *overrides)


def every(findings: list[Finding]) -> Iterator[Finding]:
    for each in findings:
        yield each
        yield from every(list(each.under))


def causes(found: Insight, job: str) -> dict[str, Finding]:
    return {each.cause: each for each in found.of_job(job)}


def named(finding: Finding) -> set[str]:
    """The leaves and hosts that a finding names as its places."""
    words = {word for place in finding.where for word in place.replace("-", " ").split()}
    return {word for word in words if word.startswith(("leaf", "host"))}


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Trial]]:
    """Trials of tenants that share no link, by variant; those of jobs alone among them."""
    trials = run(tmp_path_factory.mktemp("apart"), "tenants-apart", "sweep={data_size: [16MB]}")
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.facts.variant, []).append(trial)
    return found


@pytest.mark.parametrize("variant", ["ecmp", "spray", "link-fails"])
def test_causes_name_only_leaves_and_hosts_of_the_job(apart: Mapping[str, list[Trial]], variant: str) -> None:
    (trial,) = apart[variant]
    found = insight(trial)
    assert found.findings
    for each in every(list(found.findings)):
        assert named(each) <= APART[each.job], each


@pytest.mark.parametrize("variant", ["ecmp", "spray", "link-fails"])
def test_tenants_that_share_no_link_have_the_causes_that_they_have_alone(
    apart: Mapping[str, list[Trial]], variant: str
) -> None:
    (beside,) = [insight(trial) for trial in apart[variant]]
    for job in APART:
        (alone,) = [
            insight(trials[0])
            for name, trials in apart.items()
            if is_solo(name) and name.startswith(f"{variant}/") and name.endswith(f"/{job}")
        ]
        assert list(causes(beside, job)) == list(causes(alone, job)), job


def test_a_link_failure_is_a_cause_of_the_job_that_lost_frames_by_it_alone(
    apart: Mapping[str, list[Trial]],
) -> None:
    found = insight(apart["link-fails"][0])
    failure = causes(found, "ring")["link-failure"]
    assert failure.where == ("leaf0-spine1",)
    assert failure.evidence["frames"] == found.losses["link down"] > 0
    for job in ("moe", "storage"):
        assert not {"link-failure", "fewer-uplinks"} & causes(found, job).keys()
    assert {each.job for each in found.recoveries} == {"ring"}


def test_tenants_meet_at_the_one_link_that_they_share(tmp_path: Path) -> None:
    (trial,) = run(tmp_path, "tenants-share-one-link")
    found = insight(trial)
    for job in ("first", "second"):
        (cause,) = found.of_job(job)
        assert (cause.cause, cause.where) == ("hash-collision", ("leaf0 port 4 to spine0",))
        assert cause.explained is not None
        assert cause.explained > 0.9
    assert not found.of_job("third")


@pytest.mark.parametrize(
    "link",
    ["leaf0-spine0", "leaf0-spine1", "leaf0-spine3", "leaf2-spine3", "host6-leaf1", "host11-leaf2"],
)
def test_a_failed_link_is_a_cause_of_the_jobs_that_take_longer_for_it(tmp_path: Path, link: str) -> None:
    """Queue pairs are pinned, acknowledgements hashed: leaf0-spine1 has some of both jobs on leaf0."""
    failure: list[Any] = [{"at": "20us", "kind": "link-down", "link": link}]
    usual = jobs_of(run(tmp_path / "usual", "tenants-share-one-link"))
    (trial,) = run(tmp_path, "tenants-share-one-link", f"fabric.failures={failure}")
    found = insight(trial)
    having = {each.job for each in found.findings if each.cause == "link-failure"}
    took = {job.summary.job: job.summary.value("completion_time_ms") for job in usual}
    longer = {
        job.summary.job
        for job in jobs_of([trial])
        if (now := job.summary.value("completion_time_ms")) is None
        or now > 1.005 * (took[job.summary.job] or 0)
    }
    assert having == longer


def test_losses_of_tenants_that_share_no_link_are_parted_among_them(tmp_path: Path) -> None:
    lossy = ("fabric.switch.pfc=off", "fabric.switch.ecn=off", "transport.rate_control=line-rate")
    small = (
        *("fabric.switch.buffer=1MB", "sweep={data_size: [4MB]}"),
        *("solo=false", "variants=[]", "criteria=[]"),
    )
    (trial,) = run(tmp_path, "tenants-apart", *lossy, *small)
    found = insight(trial)
    frames = {job: causes(found, job)["lossy-fabric"].evidence["frames"] for job in APART}
    assert sum(frames.values()) == found.losses["tail drop"]
    assert 0 < frames["ring"] < frames["moe"]


def test_jobs_on_the_same_hosts_name_each_other(tmp_path: Path) -> None:
    (trial,) = run(tmp_path, "shared-hosts")
    found = insight(trial)
    for job, other in (("a", "b"), ("b", "a")):
        (finding,) = found.of_job(job)
        assert finding.cause == "shared-hosts"
        assert finding.evidence["jobs"] == [other]
        assert finding.evidence["hosts"] == list(range(8))
        assert finding.explained == pytest.approx(1, abs=0.05)
    assert not found.of_job("apart")


def test_jobs_one_after_the_other_do_not_share_their_hosts(tmp_path: Path) -> None:
    (trial,) = run(tmp_path, "shared-hosts", "jobs.1.start=50ms")
    assert not insight(trial).findings
