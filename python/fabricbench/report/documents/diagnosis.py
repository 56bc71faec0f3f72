"""Collects a trial's diagnosis: likely causes, load of uplinks, losses, pauses, recovery; parts as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import TypedDict

from fabricbench.analysis.causes.diagnosis import CAUSES, diagnose, unfinished_jobs, unhealthy_jobs
from fabricbench.analysis.causes.finding import Finding, Remedy
from fabricbench.analysis.causes.remedies import plan_of
from fabricbench.analysis.faults.losses import (
    PausedPort,
    PriorityPauses,
    losses_by_cause,
    paused_ports,
    pauses_by_priority,
)
from fabricbench.analysis.faults.recovery import Recovery, Step, recoveries, steps
from fabricbench.analysis.faults.unreached_failures import unreached_failures
from fabricbench.analysis.links.uplinks import EgressDistribution, Uplink, switch_uplinks
from fabricbench.analysis.record.trial import Record
from fabricbench.analysis.summary.reordering import Reordering, reorderings
from fabricbench.store import Trial

NO_CAUSE: Final = "no known cause has left evidence in the counters"
UNDER_MAX: Final = 3
"""Maximum symptoms that are named with a cause."""


class RemedyJson(TypedDict):
    """A remedy of a cause; `set` are fields of the plan, `options` the same for the command line."""

    what: str
    set: list[str]
    options: str


class SymptomJson(TypedDict):
    """A symptom of a cause, or the same cause at another location."""

    cause: str
    sentence: str


class FindingJson(TypedDict):
    """A likely cause; `explained` is the fraction of the lost time, and those of a job do not overlap."""

    cause: str
    explained: float | None
    sentence: str
    where: list[str]
    evidence: dict[str, Any]
    under: list[SymptomJson]
    remedies: list[RemedyJson]


class UplinksJson(TypedDict):
    """The uplinks of a switch; values that were not measured are null."""

    switch: str
    qps: str | None
    qps_max_to_mean: float | None
    bytes_max_to_mean: float | None
    usage_percent: float | None
    frames_delta: int | None
    ecn_marked_below: int | None
    uplinks: list[Uplink]


class FabricJson(TypedDict):
    """State of the fabric in a trial: uplinks, frames lost by cause, paused ports and priorities."""

    uplinks: list[UplinksJson]
    frames_lost: Mapping[str, int]
    paused_ports: list[PausedPort]
    pfc_by_priority: list[PriorityPauses]


@dataclass(frozen=True)
class Insight:
    """Results derived from the counters of one trial.

    Attributes:
        unhealthy: Jobs below 95 % of their ideal, incomplete or stalled.
        unfinished: Those of them that are incomplete or stalled.
        findings: Their likely causes, the strongest first.
        distributions: Every switch with several uplinks.
        losses: Frames lost by description of the cause.
        paused: Every port that was paused, the longest first.
        priorities: Pause frames of each priority at each port that has any, most frames first.
        steps: Failures and repairs, in order of time.
        recoveries: Effect of each step on each job.
        unreached: Descriptions of failures scheduled after the end of the run.
        orders: The order of arrival of each job with late frames.
    """

    unhealthy: Sequence[str]
    unfinished: Sequence[str]
    findings: Sequence[Finding]
    distributions: Sequence[EgressDistribution]
    losses: Mapping[str, int]
    paused: Sequence[PausedPort]
    priorities: Sequence[PriorityPauses]
    orders: Sequence[Reordering]
    steps: Sequence[Step]
    recoveries: Sequence[Recovery]
    unreached: Sequence[str]

    def of_job(self, job: str) -> list[Finding]:
        """Return the findings of one job."""
        return [finding for finding in self.findings if finding.job == job]


def insight(trial: Trial) -> Insight:
    """Read the counters of a finished trial.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    record = record_of(trial)
    ports = list(trial.tables.batches("ports"))
    return Insight(
        unhealthy=unhealthy_jobs(record),
        unfinished=unfinished_jobs(record),
        findings=diagnose(record),
        distributions=switch_uplinks(ports, trial.tables.batches("links"), record.summary["end_ps"]),
        losses=losses_by_cause(record.summary),
        paused=paused_ports(ports, record.summary["end_ps"]),
        priorities=pauses_by_priority(trial.tables.batches("priorities")),
        orders=reorderings(record),
        steps=steps(record),
        recoveries=recoveries(record),
        unreached=unreached_failures(record.run_spec, record.summary["end_ps"]),
    )


def insight_of(trial: Trial) -> Insight | None:
    """Return the insight of a finished trial, or `None` if its record has no data of the fabric or of losses.

    Raises:
        StoreError: A table is missing or cannot be read.
    """
    messages = [job["messages"] for job in (trial.summary or {}).get("jobs", ()) if "messages" in job]
    has_lost = any(each["received"] < each["sent"] for each in messages)
    return insight(trial) if has_lost or trial.has("ports", "links", "events") else None


def record_of(trial: Trial) -> Record:
    """Return a finished trial as a record of `fabricbench.analysis`."""
    facts = trial.facts
    size = (facts.data_size_bytes, facts.size_kind)
    plan = plan_of(facts.plan_source, facts.overrides, facts.variant, facts.iteration, size, facts.axes)
    return Record(facts.run_spec, trial.summary or {}, trial.tables, plan)


def finding_text(finding: Finding) -> str:
    """Format a finding in one line: cause, evidence, and the explained fraction of the lost time."""
    text = f"{CAUSES[finding.cause]}: {finding.sentence}"
    return text if finding.explained is None else f"{text} ({explained_text(finding)})"


def under_text(finding: Finding, below: Finding) -> str:
    """Format a symptom with its name, which is omitted if it is the same cause at another location."""
    return below.sentence if below.cause == finding.cause else f"{CAUSES[below.cause]}: {below.sentence}"


def explained_text(finding: Finding) -> str:
    """Format the fraction of the lost time that a cause explains."""
    share = 100 * (finding.explained or 0.0)
    return (
        f"explains {'less than 1' if 0 < share < 1 else f'{share:.0f}'} % of the time lost against the ideal"
    )


def finding_object(finding: Finding) -> FindingJson:
    """Return a finding as its JSON object."""
    return {
        "cause": finding.cause,
        "explained": finding.explained,
        "sentence": finding.sentence,
        "where": list(finding.where),
        "evidence": dict(finding.evidence),
        "under": [{"cause": symptom.cause, "sentence": symptom.sentence} for symptom in finding.under],
        "remedies": [remedy_object(remedy) for remedy in finding.remedies],
    }


def remedy_object(remedy: Remedy) -> RemedyJson:
    """Return a remedy as its JSON object; `set` is empty if no setting implements it."""
    return {"what": remedy.action, "set": list(remedy.changes), "options": remedy.options}


def distribution_object(distribution: EgressDistribution) -> UplinksJson:
    """Return the uplinks of a switch as their JSON object."""
    return {
        "switch": distribution.switch,
        "qps": distribution.qps_text if distribution.has_paths else None,
        "qps_max_to_mean": distribution.qps_max_to_mean,
        "bytes_max_to_mean": distribution.bytes_max_to_mean,
        "usage_percent": distribution.usage_percent,
        "frames_delta": distribution.frames_delta,
        "ecn_marked_below": distribution.ecn_marked_below,
        "uplinks": list(distribution.uplinks),
    }
