"""Explains why a case of a suite (job, variant, size, swept values) has no value of a metric.

A suite runs the tests of a document, such as an IETF BMWG draft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fabricbench.analysis.summary.job_summary import COMPLETE
from fabricbench.metrics import ALONE_RATIOS, BY_NAME, RATIOS, Metric
from fabricbench.report.documents.observation_points import points_of
from fabricbench.results.job_reports import JobReport
from fabricbench.results.studies.suite_metrics import KpiRow
from fabricbench.store import Trial

_CONVERGENCE: Final = "convergence_us"


def absences(rows: Sequence[KpiRow]) -> list[Mapping[str, str]]:
    """Return for each case the reasons for metrics and ratios that none of its iterations has.

    Raises:
        StoreError: A table of a trial is missing or cannot be read.
    """
    reason_by_trial: dict[str, str] = {}

    def reason(row: KpiRow, name: str) -> str:
        why = ""
        if name == _CONVERGENCE:
            if row.trial.id not in reason_by_trial:
                reason_by_trial[row.trial.id] = _why_not_converged(row.trial)
            why = reason_by_trial[row.trial.id]
        return why or _reason(row.first, name)

    return [{name: reason(row, name) for name, value in row.values.items() if value is None} for row in rows]


def _reason(job: JobReport, name: str) -> str:
    summary, ratio = job.summary, RATIOS.get(name) or ALONE_RATIOS.get(name)
    metric: Metric = ratio or BY_NAME[name]
    if not metric.concerns(summary.kind):
        return f"only {metric.kind} jobs have it"
    if summary.status != COMPLETE:
        return f"{summary.status}: {summary.reason}"
    if ratio is not None:
        is_alone = name in ALONE_RATIOS
        was_run = job.alone if is_alone else job.against
        job_text = "the job alone" if is_alone else "the reference variant's job"
        return f"{job_text} has no such value, or is another job" if was_run else f"{job_text} was not run"
    if job.missing:
        return job.missing
    return f"none {metric.absent}" if metric.absent else "not measured"


def _why_not_converged(trial: Trial) -> str:
    points = points_of(trial)
    return points.convergence.reason if points else ""
