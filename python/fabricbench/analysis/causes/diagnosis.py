"""Diagnoses a trial's slow jobs: runs all searches for causes, sorts the findings and adds remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from fabricbench.analysis.causes import capacity, framing, latency, load, pausing, recovery
from fabricbench.analysis.causes.evidence import Case, cases, ideal_job_ps
from fabricbench.analysis.causes.finding import UNRECOVERED, Finding
from fabricbench.analysis.causes.remedies import with_remedies
from fabricbench.analysis.causes.roots import roots
from fabricbench.analysis.record.tables import ALL, observed_chunks
from fabricbench.analysis.record.trial import Record
from fabricbench.metrics import JobKind
from fabricbench.work import job_kind

HEALTHY_PERCENT = 95.0
"""Percentage of its ideal from which a complete job needs no explanation."""

CAUSES: Mapping[str, str] = MappingProxyType(
    {
        "pfc-deadlock": "PFC deadlock",
        "credit-deadlock": "credit deadlock",
        "pfc-stall": "stall under PFC",
        "pfc-storm": "PFC storm",
        "link-failure": "link failure",
        "bit-errors": "bit errors",
        "fewer-uplinks": "fewer uplinks after a failure",
        "straggling-nic": "straggling NIC",
        "across-rails": "collective across rails",
        "shared-hosts": "hosts shared with other jobs",
        "lossy-fabric": "lossy fabric",
        "hash-collision": "hash collision",
        "oversubscription": "oversubscription",
        "incast": "incast",
        "headroom-overrun": "headroom overrun",
        "wred-drops": "drops by WRED",
        "buffer-overrun": "buffer overrun",
        "host-overrun": "host overrun",
        "pfc-head-of-line-blocking": "PFC head-of-line blocking",
        "ecn-too-eager": "ECN too eager",
        "reordering-with-go-back-n": "reordering with go-back-N",
        "timeout-too-short": "timeout too short",
        "small-window": "window too small",
        "short-packets": "short packets",
        "loss-with-go-back-n": "loss with go-back-N",
        UNRECOVERED: "loss without recovery",
        "retransmission-timeout": "retransmission timeouts",
        "step-overhead": "step overhead",
        "start-up-latency": "start-up latency",
        "not-recorded": "not recorded",
    }
)
"""Title of every cause, sorted from root cause to symptom. Findings have this order if the counters do not
give their effect. Retransmissions and waiting times are reported under their cause.
"""

_SEARCHES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    pausing.stall,
    pausing.storms,
    pausing.straggling_nics,
    load.across_rails,
    load.shared_hosts,
    load.hash_collisions,
    load.oversubscription,
    load.incast,
    recovery.overruns,
    capacity.lost_uplinks,
    pausing.head_of_line_blocking,
    recovery.eager_marking,
    recovery.resending,
    recovery.timeouts,
    recovery.unrecovered,
    framing.small_window,
    framing.short_packets,
    latency.step_overhead,
    latency.startup_latency,
)


def diagnose(record: Record) -> list[Finding]:
    """Return the likely causes for every job below `HEALTHY_PERCENT` of its ideal, incomplete or stalled.

    Jobs are in the order of the spec. The causes of a job are sorted: first those with a known effect, the
    largest first, then the others in the order of `CAUSES`. Symptoms are listed under their causes, and
    percentages of a job do not overlap. A healthy job has no findings; for another job, none means that no
    known cause has left evidence. Where the record has no counters of the fabric, or not every chunk has a
    row, one finding reports that no cause was searched for, except of messages that endpoints lost.
    """
    mode = observed_chunks(record.run_spec)
    if mode != ALL:
        return [_not_recorded(job, _ROWS.format(mode), observe_chunks=mode) for job in unhealthy_jobs(record)]
    if "frames_lost" not in record.summary:
        found = _found_by_endpoints(record)
        unexplained = [job for job in unhealthy_jobs(record) if job not in {each.job for each in found}]
        return [*found, *(_not_recorded(job, _PACKETS) for job in unexplained)]
    findings = [finding for case in cases(record, unhealthy_jobs(record)) for finding in _of_job(case)]
    return with_remedies(findings, record.run_spec, record.plan)


_ROWS = "observe.chunks is {}, causes follow from the rows of all; `-s observe.chunks=all` records them"
_PACKETS = "causes follow from counters of packets, which this record has not; `--backend sim` counts them"


def _not_recorded(job: str, why: str, **evidence: str) -> Finding:
    """Return a finding that the record lacks the data needed to find causes."""
    return Finding("not-recorded", job, None, f"no cause was looked for: {why}", evidence)


def _found_by_endpoints(record: Record) -> list[Finding]:
    """Return the jobs that never completed for messages lost on unreliable connections."""
    jobs = [outcome["name"] for outcome in record.summary["jobs"] if "messages" in outcome]
    return [finding for case in cases(record, jobs) for finding in recovery.unrecovered(case)]


def unhealthy_jobs(record: Record) -> list[str]:
    """Return the jobs that did not complete, or took longer than `HEALTHY_PERCENT` of the ideal allows."""
    jobs = zip(record.run_spec["jobs"], record.summary["jobs"], strict=True)
    return [job["name"] for job, outcome in jobs if not _is_healthy(record, job, outcome)]


def unfinished_jobs(record: Record) -> list[str]:
    """Return the jobs that did not complete."""
    jobs = zip(record.run_spec["jobs"], record.summary["jobs"], strict=True)
    return [job["name"] for job, outcome in jobs if outcome["status"] != "complete"]


def _is_healthy(record: Record, job: Mapping[str, object], outcome: Mapping[str, object]) -> bool:
    if outcome["status"] != "complete":
        return False
    if outcome["end_ps"] is None or job_kind(job) is not JobKind.COLLECTIVE:
        return True
    taken_ps = int(str(outcome["end_ps"])) - int(str(outcome["start_ps"]))
    return 100 * ideal_job_ps(record.run_spec, job, outcome) >= HEALTHY_PERCENT * taken_ps


def _of_job(case: Case) -> list[Finding]:
    order = list(CAUSES)
    findings = _without_consequent_collisions([finding for search in _SEARCHES for finding in search(case)])
    return roots(sorted(findings, key=lambda finding: order.index(finding.cause)))


def _without_consequent_collisions(findings: list[Finding]) -> list[Finding]:
    """Remove collisions at switches that lost uplinks: their other uplinks are fuller for that reason."""
    fewer = {
        name
        for finding in findings
        if finding.cause == "fewer-uplinks"
        for name in finding.evidence["switches"]
    }
    return [
        finding
        for finding in findings
        if finding.cause != "hash-collision"
        or fewer.isdisjoint((finding.evidence["switch"], finding.evidence["peer"]))
    ]
