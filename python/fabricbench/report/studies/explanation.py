"""Formats why the jobs of a trial are slow, and the results of remedies that were tried, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabricbench.analysis.causes.finding import Remedy
from fabricbench.analysis.causes.remedies import promising
from fabricbench.metrics import BY_NAME, IDEAL_SHARE
from fabricbench.report.documents.diagnosis import Insight, finding_object, remedy_object
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.documents.table_cells import heading, metric_text, sized
from fabricbench.report.terminal.diagnosis import why_text
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.results.job_reports import JobReport
from fabricbench.store import Trial
from fabricbench.words import plural

HELPS = 1.01
"""Minimum ratio of completion times for a remedy to help."""
_TIME = BY_NAME["completion_time_ms"]
_SHOWN = (_TIME, IDEAL_SHARE)


@dataclass(frozen=True)
class Tried:
    """Result of a remedy, tried in a trial of the same plan, size and seed.

    Attributes:
        remedy: The change.
        jobs: The jobs of the trial; empty if it was not run.
        refused: Why it was not run; empty if it was.
    """

    remedy: Remedy
    jobs: Sequence[JobReport] = ()
    refused: str = ""

    def gain_of(self, job: JobReport) -> float | None:
        """Return the ratio of completion times without and with the remedy, or `None` if one is missing."""
        before, after = _time(job), _time(self.of(job))
        return before / after if before and after else None

    def of(self, job: JobReport) -> JobReport | None:
        """Return the same job with the remedy."""
        return next((tried_job for tried_job in self.jobs if tried_job.sized_job == job.sized_job), None)

    def helps(self, jobs: Sequence[JobReport]) -> bool:
        """Return whether jobs complete in less total time, or newly, and none stops completing."""
        pairs = [(_time(job), _time(self.of(job))) for job in jobs]
        if any(before and not after for before, after in pairs):
            return False
        completes = any(after and not before for before, after in pairs)
        before_ms, after_ms = (sum(pair[side] or 0.0 for pair in pairs if all(pair)) for side in (0, 1))
        return before_ms > HELPS * after_ms if before_ms or not completes else completes


@dataclass(frozen=True)
class Explanation:
    """Explanation of the slow jobs of a trial.

    Attributes:
        trial: The trial.
        jobs: Its jobs.
        insight: Insight from its counters; `None` if the record has no data of the fabric.
        tried: Results of remedies, the best first; `None` if they were not tried.
    """

    trial: Trial
    jobs: Sequence[JobReport]
    insight: Insight | None
    tried: Sequence[Tried] | None = None

    @property
    def unhealthy(self) -> list[JobReport]:
        """The jobs that need an explanation."""
        names = self.insight.unhealthy if self.insight else ()
        return [job for job in self.jobs if job.summary.job in names]

    def to_try(self) -> list[Tried]:
        """Return the most promising remedies to try."""
        return [Tried(remedy) for remedy in promising(self.insight.findings)] if self.insight else []

    @property
    def helping(self) -> list[Tried]:
        """The remedies that help."""
        return [attempt for attempt in self.tried or () if attempt.helps(self.unhealthy)]


def best_first(tried: Sequence[Tried], jobs: Sequence[JobReport]) -> list[Tried]:
    """Sort remedies: most complete jobs first, then by the sum of their times."""

    def order(attempt: Tried) -> tuple[int, float]:
        times = [_time(attempt.of(job)) for job in jobs]
        return times.count(None), sum(time or 0.0 for time in times)

    return sorted(tried, key=order)


def _time(job: JobReport | None) -> float | None:
    return None if job is None or job.summary.status != "complete" else job.summary.value(_TIME.name)


NOTHING_SEEN = "the record holds no counters of the fabric, so that no cause can be named"


def explanation_text(explanation: Explanation, *, colour: bool = False) -> str:
    """Return the causes of each slow job with their remedies, and a table of tried remedies."""
    heads = [f"trial {explanation.trial.id}"]
    heads += [f"{heading(job)}, {sized(job)}: {_state(job)}" for job in explanation.jobs]
    parts = ["\n".join(styled(line, Style.BOLD, colour=colour) for line in heads)]
    if explanation.insight is None:
        parts.append(NOTHING_SEEN)
    elif not explanation.insight.unhealthy:
        parts.append("every job completed and reached 95 % of its ideal, or has none: nothing to explain")
    else:
        parts.append(why_text(explanation.insight, colour=colour))
    if explanation.tried is not None:
        parts.append(_tried_text(explanation, colour=colour))
    return "\n\n".join(parts)


def _state(job: JobReport) -> str:
    """Format the time of a job and its percentage of the ideal, or its status."""
    if job.summary.status != "complete":
        return job.summary.status
    values = [(metric, job.summary.value(metric.name)) for metric in _SHOWN]
    texts = [f"{metric_text(metric, value)} {metric.unit}" for metric, value in values if value is not None]
    return ", ".join([*texts[:1], *(f"{text} of the ideal" for text in texts[1:])]) or job.summary.status


def _tried_text(explanation: Explanation, *, colour: bool) -> str:
    if not explanation.tried:
        return "nothing to try: no remedy is a setting of the plan"
    columns = [Column(name, is_text=True) for name in ("change", "job")]
    columns += [Column("time", "ms"), Column("ideal", "%"), Column("times", "faster")]
    columns += [Column("trial", is_text=True)]
    rows = [_row("none", job, job, None, explanation.trial.id) for job in explanation.jobs]
    rows += [row for attempt in explanation.tried for row in _rows(attempt, explanation.jobs)]
    table = Table(columns, rows, title="remedies tried, the best first", notes=[_verdict(explanation)])
    return render(table, colour=colour)


def _rows(tried: Tried, jobs: Sequence[JobReport]) -> list[Row]:
    if tried.refused:
        return [Row([tried.remedy.options, "", "", "", "", f"not run: {tried.refused}"], "bad")]
    return [
        _row(tried.remedy.options, job, tried.of(job), tried.gain_of(job), tried.jobs[0].trial.id)
        for job in jobs
    ]


def _row(change: str, job: JobReport, now: JobReport | None, gain: float | None, trial: str) -> Row:
    is_complete = now is not None and now.summary.status == "complete"
    values = [metric_text(metric, now.summary.value(metric.name) if now else None) for metric in _SHOWN]
    state = trial if is_complete or now is None else f"{trial}, {now.summary.status}"
    times = "" if gain is None else f"{gain:.4g}"
    return Row([change, job.summary.job, *values, times, state], "" if is_complete else "bad")


def _verdict(explanation: Explanation) -> str:
    """Name the remedy that helps most, and its cost to other jobs, or state that none helps."""
    if not explanation.helping:
        return "none of them helps"
    best = explanation.helping[0]
    others = [job for job in explanation.jobs if job not in explanation.unhealthy]
    slower = [job.summary.job for job in others if (best.gain_of(job) or 0.0) < 1 / HELPS]
    cost = f", and slows {plural(len(slower), 'job')} {', '.join(slower)} down" if slower else ""
    compare = f"`fabricbench compare {explanation.trial.id} {best.jobs[0].trial.id}` has every metric"
    return f"{best.remedy.options} helps most{cost}; {compare}"


def explanation_json(explanation: Explanation) -> str:
    """Return the explanation as one JSON object: `trial`, `jobs` with their causes, and `tried`."""
    tried = [_tried_object(attempt, explanation) for attempt in explanation.tried or ()]
    content = {
        "trial": explanation.trial.id,
        "jobs": [_job_object(job, explanation) for job in explanation.jobs],
        "tried": None if explanation.tried is None else tried,
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _job_object(job: JobReport, explanation: Explanation) -> dict[str, Any]:
    findings = explanation.insight.of_job(job.summary.job) if explanation.insight else None
    causes = None if findings is None else [finding_object(finding) for finding in findings]
    return _result(job) | {"causes": causes}


def _result(job: JobReport) -> dict[str, Any]:
    values = {metric.name: job.summary.value(metric.name) for metric in _SHOWN}
    return {"job": job.summary.job, "status": job.summary.status} | values


def _tried_object(tried: Tried, explanation: Explanation) -> dict[str, Any]:
    jobs = [
        _result(now) | {"times_faster": tried.gain_of(job)}
        for job in explanation.jobs
        if (now := tried.of(job)) is not None
    ]
    return remedy_object(tried.remedy) | {
        "trial": tried.jobs[0].trial.id if tried.jobs else None,
        "jobs": jobs,
        "helps": tried.helps(explanation.unhealthy),
        "refused": tried.refused or None,
    }
