"""Builds the answers of the first screen: duration, percentage of the ideal, likely cause, and remedy."""

from __future__ import annotations

from collections.abc import Sequence

from fabricbench.analysis.causes.diagnosis import CAUSES, HEALTHY_PERCENT
from fabricbench.analysis.causes.finding import Finding
from fabricbench.metrics import BY_NAME, HEADLINES, Metric
from fabricbench.report.documents.diagnosis import Insight
from fabricbench.report.documents.table import Tone
from fabricbench.report.documents.table_cells import value_text
from fabricbench.report.html.page_parts import Answer
from fabricbench.results.job_ranking import worst_of
from fabricbench.results.result_rows import ResultRow

_TIME = BY_NAME["completion_time_ms"]
_IDEAL = BY_NAME["ideal_percent"]


def answers(rows: Sequence[ResultRow], insight: Insight | None) -> list[Answer]:
    """Return the answers about the trial in focus, each with the range of its run.

    Args:
        rows: Every row of the report.
        insight: Insight from the counters of the trial in focus; `None` if its record has no data of them.
    """
    focus_rows = [row for row in rows if row.is_focus]
    run = [row for row in rows if not row.trial.is_printed]
    answer_list = [_how_long(focus_rows, run), _how_far(focus_rows, run)]
    if insight is not None:
        answer_list += _why(focus_rows, insight)
    return [answer for answer in answer_list if answer is not None]


def _how_long(focus_rows: Sequence[ResultRow], run: Sequence[ResultRow]) -> Answer | None:
    """Return the time of the slowest job, or a substitute if jobs have no end."""
    incomplete = [row for row in focus_rows if row.summary.status != "complete"]
    if incomplete:
        return Answer(
            "How long",
            incomplete[0].summary.status,
            incomplete[0].summary.reason or incomplete[0].label,
            "bad",
        )
    timed = [row for row in focus_rows if row.summary.value(_TIME.name) is not None]
    if not timed:
        headline_metrics = [
            (row, HEADLINES[row.summary.kind]) for row in focus_rows if row.summary.kind in HEADLINES
        ]
        measured = [
            (row, metric) for row, metric in headline_metrics if row.summary.value(metric.name) is not None
        ]
        if not measured:
            return None
        row, metric = measured[0]
        return Answer("How fast", _text(row, metric), f"{metric.title}, {row.label}")
    slowest = max(timed, key=lambda row: row.summary.value(_TIME.name) or 0.0)
    return Answer("How long", _text(slowest, _TIME), f"{slowest.label}{_range(run, _TIME)}")


def _how_far(focus_rows: Sequence[ResultRow], run: Sequence[ResultRow]) -> Answer | None:
    """Return the smallest percentage of the ideal, and the worst job's ratio to itself alone."""
    rows_with_ideal = [row for row in focus_rows if row.summary.value(_IDEAL.name) is not None]
    worst = worst_of([row.report for row in focus_rows]) if len(focus_rows) > 1 else ""
    worst_note = f"; worst: {worst}" if worst else ""
    if not rows_with_ideal:
        return Answer("How far from ideal", "–", f"no ideal is known{worst_note}") if focus_rows else None
    least = min(rows_with_ideal, key=lambda row: row.summary.value(_IDEAL.name) or 0.0)
    percent = least.summary.value(_IDEAL.name) or 0.0
    tone: Tone = "good" if percent >= HEALTHY_PERCENT and not worst else ""
    about = f"of ideal, {least.label}{_range(run, _IDEAL)}{worst_note}"
    return Answer("How far from ideal", _text(least, _IDEAL), about, tone)


def _why(focus_rows: Sequence[ResultRow], insight: Insight) -> list[Answer]:
    """Return the first cause of the job with the largest loss, and the first remedy."""
    if not insight.unhealthy:
        return [
            Answer(
                "Why", "nothing in the way", f"every job reaches {HEALTHY_PERCENT:.0f} % of its ideal", "good"
            ),
            Answer("What to do", "nothing", "the rest is framing, latency and the algorithm's own waiting"),
        ]
    if not insight.findings:
        return [Answer("Why", "no known cause", "no counter explains it: see Counters and Over time")]
    first = _first_finding(focus_rows, insight)
    share = "" if first.explained is None else f"{100 * first.explained:.0f} % of the time lost; "
    of_job = f"job {first.job}: " if len(focus_rows) > 1 else ""
    answer_list = [Answer("Why", CAUSES[first.cause], f"{of_job}{share}{first.sentence}", "bad", "diagnosis")]
    if first.remedies:
        remedy = first.remedies[0]
        answer_list.append(Answer("What to do", remedy.action, remedy.options, "", "diagnosis"))
    return answer_list


def _first_finding(focus_rows: Sequence[ResultRow], insight: Insight) -> Finding:
    """Return the first finding of the job with the smallest percentage of its ideal, or the first of all."""
    shares = {row.summary.job: row.summary.value(_IDEAL.name) for row in focus_rows}
    failed = {row.summary.job for row in focus_rows if row.report.is_rejected}
    order = sorted(
        insight.unhealthy,
        key=lambda job: (job not in insight.unfinished, job not in failed, shares.get(job) or 0.0),
    )
    return next(iter([finding for job in order for finding in insight.of_job(job)]), insight.findings[0])


def _text(row: ResultRow, metric: Metric) -> str:
    return f"{value_text(row.trial, row.summary, metric)} {metric.unit}".strip()


def _range(run: Sequence[ResultRow], metric: Metric) -> str:
    """Format the minimum and maximum of a metric in the run, if there are several results."""
    measured = [row for row in run if row.summary.value(metric.name) is not None]
    if len({row.trial.id for row in measured}) < 2:
        return ""
    by_value = sorted(measured, key=lambda row: row.summary.value(metric.name) or 0.0)
    return f"; {_text(by_value[0], metric)} to {_text(by_value[-1], metric)} in the run"
