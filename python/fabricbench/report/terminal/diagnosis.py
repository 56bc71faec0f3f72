"""Formats a trial's likely causes, recoveries, uplinks, losses, pauses and reordering as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from fabricbench.analysis.causes.diagnosis import CAUSES
from fabricbench.analysis.causes.finding import Finding, Remedy, time_words
from fabricbench.analysis.faults.recovery import Recovery
from fabricbench.analysis.links.uplinks import EgressDistribution
from fabricbench.analysis.summary.reordering import Reordering
from fabricbench.report.documents.diagnosis import Insight, finding_text
from fabricbench.report.documents.numbers import fixed
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.words import counted

NO_CAUSE = "no known cause has left evidence in the counters"
_WIDTH = 110
_MAX_FINDINGS = 8
MAX_UNDER = 3
_MAX_SWITCHES = 32
MAX_UPLINKS_LISTED = 8
"""With more uplinks, only the smallest and the largest value are written."""
_MAX_PORTS = 8
_MAX_RECOVERIES = 12


def insight_text(insight: Insight, *, colour: bool = False) -> str:
    """Return the non-empty sections with their titles.

    Long lists are cut, with a note; JSON output has all entries.
    """
    sections = [
        _recoveries(insight),
        _uplinks(insight.distributions),
        _marks(insight.distributions),
        _losses(insight),
        _pauses(insight),
        _priorities(insight),
        _orders(insight.orders),
    ]
    parts = (why_text(insight, colour=colour), _titled(sections, colour=colour))
    return "\n\n".join(part for part in parts if part)


def why_text(insight: Insight, *, colour: bool = False) -> str:
    """Return the likely causes of each job that needs an explanation, with their remedies."""
    return _titled([_why(insight, job) for job in insight.unhealthy], colour=colour)


_Section = tuple[str, list[str]]


def _titled(sections: Sequence[_Section], *, colour: bool) -> str:
    return "\n\n".join(
        "\n".join([styled(title, Style.BOLD, colour=colour), *lines]) for title, lines in sections if lines
    )


def _why(insight: Insight, job: str) -> _Section:
    findings = insight.of_job(job)
    texts = [line for finding in findings[:_MAX_FINDINGS] for line in cause_lines(finding)] or [
        f"  {NO_CAUSE}"
    ]
    if len(findings) > _MAX_FINDINGS:
        texts.append(f"  and {len(findings) - _MAX_FINDINGS} more; --format json has all")
    state = "did not complete" if job in insight.unfinished else "is below 95 % of its ideal"
    return f"why job {job} {state}, likely causes", texts


def cause_lines(finding: Finding) -> list[str]:
    """Return a cause, its symptoms and remedies, in lines of a terminal."""
    lines = [_wrapped(finding_text(finding), "- ")]
    symptoms = [under_text(finding, symptom) for symptom in finding.under[:MAX_UNDER]]
    if len(finding.under) > MAX_UNDER:
        symptoms.append(f"and {len(finding.under) - MAX_UNDER} more; --format json has all")
    lines += [_wrapped(text, "  - ") for text in symptoms]
    return lines + [line for remedy in finding.remedies for line in _remedy_lines(remedy)]


def _remedy_lines(remedy: Remedy) -> list[str]:
    """Format a remedy; commands are never broken."""
    line = f"  remedy: {remedy.text}"
    if len(line) <= _WIDTH or not remedy.changes:
        return [_wrapped(f"remedy: {remedy.text}", "  ")]
    return [f"  remedy: {remedy.action}:", f"    `{remedy.options}`"]


def under_text(finding: Finding, below: Finding) -> str:
    """Format a symptom with its name, which is omitted if it is the same cause at another location."""
    return below.sentence if below.cause == finding.cause else f"{CAUSES[below.cause]}: {below.sentence}"


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _recoveries(insight: Insight) -> _Section:
    """Format the effect of each failure on each job: rates before, at the minimum and after, and rounds."""
    lines, recoveries = [f"- {text}" for text in insight.unreached[:_MAX_RECOVERIES]], insight.recoveries
    for recovery in recoveries[:_MAX_RECOVERIES]:
        uplinks = "; ".join(uplink.text for uplink in recovery.step.uplinks[:_MAX_PORTS])
        step_line = (
            f"- {time_words(recovery.step.at_ps)}: {'; '.join(recovery.step.what)}, job {recovery.job}"
        )
        lines.append(step_line)
        details = (uplinks, _rates(recovery), _outcome(recovery), _rounds(recovery))
        lines += [f"  {line}" for line in details if line]
    if len(recoveries) > _MAX_RECOVERIES:
        lines.append(f"and {len(recoveries) - _MAX_RECOVERIES} more; --format json has all")
    return "failures and recovery", lines


def _rates(recovery: Recovery) -> str:
    after = recovery.rate_after_gb_per_s
    settled = "" if after is None else f", then {after:.4g} ({recovery.after_percent:.3g} %)"
    return (
        f"delivered {recovery.rate_before_gb_per_s:.4g} GB/s before, {recovery.rate_low_gb_per_s:.4g} at the "
        f"lowest{settled}; averaged over {time_words(recovery.window_ps)}"
    )


def _outcome(recovery: Recovery) -> str:
    """Format whether the rate recovered, and the losses until the next step."""
    if recovery.fell_ps is None:
        ended = "no dip"
    elif recovery.stopped_ps is not None:
        ended = f"stopped after {time_words(recovery.stopped_ps - recovery.step.at_ps)}, never to go on"
    elif recovery.rate_after_gb_per_s is None:
        ended = f"neither recovered nor steady until {time_words(recovery.settled_ps)}"
    elif recovery.recovered_ps is None:
        ended = f"did not recover; steady after {time_words(recovery.settled_ps - recovery.step.at_ps)}"
    else:
        ended = f"recovered in {time_words(recovery.recovered_ps - recovery.step.at_ps)}"
    return f"{ended}; {counted(recovery.lost_frames, 'frame')} lost"


def _rounds(recovery: Recovery) -> str:
    parts = {
        "before": recovery.rounds_before_ms,
        "during": recovery.rounds_during_ms,
        "after": recovery.rounds_after_ms,
    }
    rounds = [f"{value:.4g} ms {name}" for name, value in parts.items() if value is not None]
    return f"rounds of {', '.join(rounds)}" if rounds else ""


def _uplinks(distributions: Sequence[EgressDistribution]) -> _Section:
    heads = ("switch", "queue pairs", "max to mean", "GB sent", "max to mean", "link usage %", "frames delta")
    columns = [Column(head, is_text=index in (0, 1, 3, 5)) for index, head in enumerate(heads)]
    rows = [
        Row(
            [
                distribution.switch,
                distribution.qps_text,
                fixed(distribution.qps_max_to_mean, 3),
                _joined([uplink.tx_bytes / 1e9 for uplink in distribution.uplinks], _three_digits),
                fixed(distribution.bytes_max_to_mean, 3),
                usage_text(distribution),
                "-" if distribution.frames_delta is None else f"{distribution.frames_delta:,}",
            ]
        )
        for distribution in distributions[:_MAX_SWITCHES]
    ]
    return "uplinks, in the order of their ports", _switch_lines(columns, rows, len(distributions))


def _switch_lines(columns: Sequence[Column], rows: Sequence[Row], switches: int) -> list[str]:
    """Return a table of the first switches, and the number of others."""
    lines = [render(Table(columns, rows), colour=False)] if rows else []
    if switches > len(rows):
        omitted = switches - len(rows)
        lines.append(f"and {omitted} more switch{'es' if omitted > 1 else ''}; --format json has all")
    return lines


def _marks(distributions: Sequence[EgressDistribution]) -> _Section:
    """Rates of the uplinks of each switch in both directions and where its traffic was marked."""
    marked = distributions if any(distribution.has_marks for distribution in distributions) else []
    columns = [Column(head, is_text=index < 3) for index, head in enumerate(MARK_HEADS)]
    rows = [Row(mark_cells(distribution)) for distribution in marked[:_MAX_SWITCHES]]
    title = "rates of uplinks (Gb/s) and frames marked with ECN"
    return title, _switch_lines(columns, rows, len(marked))


MARK_HEADS = ("switch", "sent", "received", "marked at uplinks", "marked above", "marked at other ports")
"""Heads of the columns of `mark_cells`."""


def mark_cells(switch: EgressDistribution) -> list[str]:
    """Return a switch, the rates of its uplinks and the marked frames at both ends of them and below."""
    return [
        switch.switch,
        _joined([uplink.tx_gbps for uplink in switch.uplinks], _tenths),
        _joined([uplink.rx_gbps for uplink in switch.uplinks], _tenths),
        _count_text([uplink.ecn_marked for uplink in switch.uplinks]),
        _count_text([uplink.peer_ecn_marked for uplink in switch.uplinks]),
        _count_text([switch.ecn_marked_below]),
    ]


def _count_text(counts: Sequence[int | None]) -> str:
    """Format a sum of counts; `-` if one is missing."""
    available = [count for count in counts if count is not None]
    return f"{sum(available):,}" if len(available) == len(counts) else "-"


def usage_text(switch: EgressDistribution) -> str:
    """Format the utilisation of a switch's uplinks, `97.1+61.4+97.1`; `-` if it was not counted."""
    percentages = [uplink.usage_percent for uplink in switch.uplinks if uplink.usage_percent is not None]
    return _joined(percentages, _tenths) or "-"


def _three_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _tenths(value: float | None) -> str:
    return fixed(value, 1)


def _joined(values: Sequence[float | None], text: Callable[[float | None], str]) -> str:
    """Format a value per uplink, `1.52+1.37`; for more uplinks their range, `0.9 to 1.6`."""
    available = [value for value in values if value is not None]
    if len(values) > MAX_UPLINKS_LISTED and len(available) == len(values):
        return f"{text(min(available))} to {text(max(available))}"
    return "+".join(text(value) for value in values)


def _losses(insight: Insight) -> _Section:
    if not any(insight.losses.values()):
        return "", []
    return "frames lost", [f"  {cause}: {frames:,}" for cause, frames in insight.losses.items()]


def _orders(orders: Sequence[Reordering]) -> _Section:
    heads = ("job", "frames behind", "% of all", "P50", "P99", "max")
    columns = [Column(head, is_text=index == 0) for index, head in enumerate(heads)]
    rows = [
        Row(
            [
                order.job,
                f"{order.late_frames:,}",
                fixed(order.late_percent, 3),
                *(
                    f"{distance:,}"
                    for distance in (order.distance_p50, order.distance_p99, order.distance_max)
                ),
            ]
        )
        for order in orders
    ]
    title = "frames out of order, behind the newest, and by how many frames"
    return title, [render(Table(columns, rows), colour=False)] if rows else []


def _pauses(insight: Insight) -> _Section:
    columns = [Column(head, is_text=index < 2) for index, head in enumerate(("port", "paused by"))]
    columns += [Column(head) for head in ("PFC XOFF", "XON", "paused ms", "% of the run")]
    rows = [
        Row(
            [
                f"{port.node} port {port.port}",
                port.peer,
                f"{port.pfc_rx:,}",
                f"{port.pfc_xon_rx:,}" if port.pfc_xon_rx is not None else "-",
                f"{port.paused_ps / 1e9:.4g}",
                fixed(100 * port.share, 1),
            ]
        )
        for port in insight.paused[:_MAX_PORTS]
    ]
    lines = [render(Table(columns, rows), colour=False)] if rows else []
    if len(insight.paused) > _MAX_PORTS:
        omitted_ports = counted(len(insight.paused) - _MAX_PORTS, "more port")
        lines.append(f"and {omitted_ports}; --format json has all")
    return "paused ports", lines


def _priorities(insight: Insight) -> _Section:
    heads = ("port", "priority", "XOFF sent", "XON sent", "XOFF received", "XON received", "paused ms")
    columns = [Column(head, is_text=index == 0) for index, head in enumerate(heads)]
    rows = [
        Row(
            [
                f"{counters.node} port {counters.port}",
                str(counters.priority),
                *(
                    "-" if count is None else f"{count:,}"
                    for count in (counters.pfc_tx, counters.pfc_xon_tx, counters.pfc_rx, counters.pfc_xon_rx)
                ),
                f"{counters.paused_ps / 1e9:.4g}",
            ]
        )
        for counters in insight.priorities[:_MAX_PORTS]
    ]
    lines = [render(Table(columns, rows), colour=False)] if rows else []
    if len(insight.priorities) > _MAX_PORTS:
        lines.append(f"and {len(insight.priorities) - _MAX_PORTS} more; --format json has all")
    return "PFC frames by priority", lines
