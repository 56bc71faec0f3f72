"""Builds sections from the counters of one trial: likely causes, load of uplinks, losses and pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricbench.analysis.causes.diagnosis import CAUSES
from fabricbench.analysis.causes.finding import Finding
from fabricbench.analysis.links.uplinks import EgressDistribution
from fabricbench.figures.figure import UPLINKS
from fabricbench.figures.links.uplinks import MAX_SWITCHES, UPLINKS_FIGURE, most_uneven
from fabricbench.figures.scales import byte_counts_text, time_text
from fabricbench.figures.trial_data import Subject
from fabricbench.report.documents.diagnosis import Insight
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Cell, Column, Row, Table
from fabricbench.report.html.figure_sections import plot_parts
from fabricbench.report.html.page_parts import NotePart, Part, Section
from fabricbench.report.terminal.diagnosis import (
    MARK_HEADS,
    MAX_UNDER,
    NO_CAUSE,
    mark_cells,
    under_text,
    usage_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


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
                    Cell(finding.job),
                    Cell(CAUSES[finding.cause]),
                    Cell("–" if finding.explained is None else f"{100 * finding.explained:.0f}"),
                    Cell(
                        finding.sentence,
                        [under_text(finding, symptom) for symptom in finding.under[:MAX_UNDER]],
                    ),
                    Cell(*_remedy_lines(finding)),
                ]
            )
            for finding in shown
        ]
        parts.append(Table(columns, rows, _cause_caption(len(shown), len(insight.findings))))
    unexplained_jobs = [job for job in insight.unhealthy if not insight.of_job(job)]
    parts += [NotePart(f"Job {job}: {NO_CAUSE}.") for job in unexplained_jobs]
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
    columns = [Column("switch", is_text=True), Column("queue pairs", is_text=True), Column("max to mean")]
    columns += [
        Column("sent", is_text=True),
        Column("max to mean"),
        Column("link usage", "%", is_text=True),
    ]
    columns += [Column("frames delta", "frames")]
    rows = [
        Row(
            [
                Cell(distribution.switch),
                Cell(distribution.qps_text),
                Cell(fixed(distribution.qps_max_to_mean, 3)),
                Cell(byte_counts_text([uplink.tx_bytes for uplink in distribution.uplinks])),
                Cell(fixed(distribution.bytes_max_to_mean, 3)),
                Cell(usage_text(distribution)),
                Cell("–" if distribution.frames_delta is None else f"{distribution.frames_delta:,}"),
            ]
        )
        for distribution in most_uneven(subject.uplinks, MAX_SWITCHES)
    ]
    caption = (
        "Queue pairs and frame bytes of each uplink, in the order of its ports. A queue pair counts where "
        "its data leaves; load balancing that is not by queue pair has no count. Link usage is the time for "
        "which each uplink was occupied, over the run; frames delta the frames that the switch lost."
    )
    table = Table(columns, rows, caption)
    return Section(UPLINKS.key, UPLINKS.title, [table, *_mark_tables(subject.uplinks), *plots])


def _mark_tables(distributions: Sequence[EgressDistribution]) -> list[Table]:
    """Return rates and ECN marks of the uplinks; empty if no frame was marked."""
    if not any(distribution.has_marks for distribution in distributions):
        return []
    columns = [
        Column(head, unit, is_text=index <= 2)
        for index, (head, unit) in enumerate(
            zip(MARK_HEADS, ("", "Gb/s", "Gb/s", *["frames"] * 3), strict=True)
        )
    ]
    rows = [
        Row([Cell(text) for text in mark_cells(distribution)])
        for distribution in distributions[:MAX_SWITCHES]
    ]
    caption = (
        "Rates of each uplink over the run, in the order of the ports, in both directions; frames marked "
        "with congestion experienced at the uplinks, at the other ends of their cables, and at the other "
        "ports of the switch, such as those to hosts."
    )
    if len(rows) < len(distributions):
        caption += f" Reduced: {len(rows)} of {len(distributions):,} switches."
    return [Table(columns, rows, caption)]


def loss_and_pause_parts(insight: Insight) -> list[Part]:
    """Return the frames lost by cause and the paused ports; empty if there were neither."""
    parts: list[Part] = []
    if any(insight.losses.values()):
        rows = [
            Row([Cell(cause), Cell(f"{frames:,}", tone="bad" if frames else "muted")])
            for cause, frames in insight.losses.items()
        ]
        parts.append(Table([Column("frames lost by", is_text=True), Column("frames")], rows))
    if insight.paused:
        parts.append(_pause_table(insight))
    if insight.priorities:
        parts.append(_priority_table(insight))
    return parts


def _priority_table(insight: Insight) -> Table:
    """Return a table of the pause frames of each priority, with separate columns for XOFF and XON."""
    columns = [Column("port", is_text=True), Column("priority")]
    columns += [
        Column(f"{kind} {direction}", "frames")
        for direction in ("sent", "received")
        for kind in ("XOFF", "XON")
    ]
    columns.append(Column("paused"))
    shown = insight.priorities[:MAX_PAUSED_ROWS]
    rows = [
        Row(
            [
                Cell(f"{counters.node} port {counters.port}"),
                Cell(str(counters.priority)),
                *(
                    Cell("–" if count is None else f"{count:,}")
                    for count in (counters.pfc_tx, counters.pfc_xon_tx, counters.pfc_rx, counters.pfc_xon_rx)
                ),
                Cell(time_text(counters.paused_ps) if counters.paused_ps else "0"),
            ]
        )
        for counters in shown
    ]
    total = len(insight.priorities)
    caption = "PFC frames by priority: XOFF begins or renews a pause, XON ends it."
    if len(shown) < total:
        caption += f" Reduced: {len(shown)} of {total:,} ports and priorities, those with most frames."
    return Table(columns, rows, caption)


def _pause_table(insight: Insight) -> Table:
    columns = [Column("paused port", is_text=True), Column("by", is_text=True)]
    columns += [Column("XOFF received", "frames"), Column("XON received", "frames")]
    columns += [Column("paused"), Column("of the run", "%")]
    rows = [
        Row(
            [
                Cell(f"{port.node} port {port.port}"),
                Cell(port.peer),
                Cell(f"{port.pfc_rx:,}"),
                Cell("–" if port.pfc_xon_rx is None else f"{port.pfc_xon_rx:,}"),
                Cell(time_text(port.paused_ps)),
                Cell(fixed(100 * port.share, 1)),
            ]
        )
        for port in insight.paused[:MAX_PAUSED_ROWS]
    ]
    total = len(insight.paused)
    caption = "Ports that were paused, those paused longest first."
    if len(rows) < total:
        caption += f" Reduced: {len(rows)} of {total:,} ports."
    return Table(columns, rows, caption)
