"""Builds sections from the counters of one trial: likely causes, load of uplinks, losses and pauses."""

from __future__ import annotations

from fabricbench.analysis.causes.diagnosis import CAUSES
from fabricbench.analysis.causes.finding import Finding
from fabricbench.figures.figure import UPLINKS
from fabricbench.figures.links.uplinks import MAX_SWITCHES, UPLINKS_FIGURE, most_uneven
from fabricbench.figures.trial_data import Subject
from fabricbench.report.documents.counter_tables import (
    losses_table,
    marks_table,
    pauses_table,
    priorities_table,
    uplinks_table,
)
from fabricbench.report.documents.diagnosis import NO_CAUSE, UNDER_MAX, Insight, under_text
from fabricbench.report.documents.recovery import recovery_table
from fabricbench.report.documents.table import Cell, Column, Note, Row, Table
from fabricbench.report.html.figure_sections import plot_parts
from fabricbench.report.html.page_parts import Part, Section

MAX_CAUSE_ROWS = 40
MAX_CAUSES_OF_JOB = 8
"""The same number as `show` prints in the terminal."""
MAX_PAUSED_ROWS = 24


def diagnosis_section(insight: Insight) -> Section | None:
    """Return the likely causes, or `None` if every job reaches 95 % of its ideal."""
    if not insight.unhealthy:
        return None
    parts: list[Part] = []
    if insight.findings:
        shown = shown_findings(insight)
        columns = [Column("job", is_text=True), Column("cause", is_text=True)]
        columns += [Column("explains", "% of time lost"), Column("evidence", is_text=True)]
        columns += [Column("what to do", is_text=True)]
        rows = [
            Row(
                [
                    finding.job,
                    CAUSES[finding.cause],
                    "–" if finding.explained is None else f"{100 * finding.explained:.0f}",
                    Cell(
                        finding.sentence,
                        [under_text(finding, symptom) for symptom in finding.under[:UNDER_MAX]],
                    ),
                    Cell(*_remedy_lines(finding)),
                ]
            )
            for finding in shown
        ]
        parts.append(Table(columns, rows, _cause_caption(len(shown), len(insight.findings))))
    unexplained_jobs = [job for job in insight.unhealthy if not insight.of_job(job)]
    parts += [Note(f"Job {job}: {NO_CAUSE}.") for job in unexplained_jobs]
    return Section("diagnosis", "Why", parts)


def _remedy_lines(finding: Finding) -> tuple[str, list[str]]:
    texts = [
        f"{remedy.action}: {remedy.options}" if remedy.changes else remedy.action
        for remedy in finding.remedies
    ]
    return (texts[0], texts[1:]) if texts else ("–", [])


def shown_findings(insight: Insight) -> list[Finding]:
    """Return the top findings of each job: equal numbers of each, and at most `MAX_CAUSE_ROWS`."""
    jobs = list(dict.fromkeys(finding.job for finding in insight.findings))
    most = max(1, min(MAX_CAUSES_OF_JOB, MAX_CAUSE_ROWS // len(jobs))) if jobs else 0
    return [finding for job in jobs for finding in insight.of_job(job)[:most]][:MAX_CAUSE_ROWS]


def _cause_caption(shown: int, total: int) -> str:
    text = (
        "Likely causes of jobs below 95 % of their ideal, incomplete or stalled, found in the counters. Time "
        "lost is what the job took longer than its ideal; shares do not overlap, and a dash means that the "
        "effect does not follow from the counters. In small what follows from a cause, or where else it is. "
        "`fabricbench explain TRIAL --try` runs what to do and shows the gain."
    )
    if shown < total:
        text += (
            f" Reduced: {shown} of {total:,}, the most telling of each job; `fabricbench show --format json` "
            "has all."
        )
    return text


def uplinks_section(subject: Subject) -> Section | None:
    """Return the traffic distribution over uplinks, or `None` if no switch has several uplinks."""
    plots = plot_parts([UPLINKS_FIGURE], subject)
    if not plots:
        return None
    distributions = subject.uplinks
    uplinks = uplinks_table(most_uneven(distributions, MAX_SWITCHES), len(distributions))
    marks = marks_table(distributions, MAX_SWITCHES)
    return Section(UPLINKS.key, UPLINKS.title, [uplinks, *([marks] if marks else []), *plots])


def recovery_section(insight: Insight) -> Section | None:
    """Return the effect of each failure and repair on each job, or `None` without failures."""
    table = recovery_table(insight.recoveries, insight.unreached, MAX_CAUSE_ROWS)
    return Section("recovery", "Failures and recovery", [table]) if table else None


def loss_and_pause_parts(insight: Insight) -> list[Part]:
    """Return the frames lost by cause and the paused ports; empty if there were neither."""
    tables = (
        losses_table(insight),
        pauses_table(insight, MAX_PAUSED_ROWS),
        priorities_table(insight, MAX_PAUSED_ROWS),
    )
    return [table for table in tables if table]
