"""Formats a trial's likely causes, recoveries, uplinks, losses, pauses and reordering as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fabricbench.analysis.causes.diagnosis import CAUSES
from fabricbench.analysis.causes.finding import Finding, Remedy, time_words
from fabricbench.analysis.faults.recovery import Recovery
from fabricbench.report.documents.counter_tables import (
    marks_table,
    orders_table,
    pauses_table,
    priorities_table,
    uplinks_table,
)
from fabricbench.report.documents.diagnosis import Insight, finding_text
from fabricbench.report.documents.table import Table
from fabricbench.report.terminal.text_table import Style, render, styled
from fabricbench.words import counted

NO_CAUSE = "no known cause has left evidence in the counters"
_WIDTH = 110
_MAX_FINDINGS = 8
MAX_UNDER = 3
_MAX_SWITCHES = 32
_MAX_PORTS = 8
_MAX_RECOVERIES = 12


def insight_text(insight: Insight, *, colour: bool = False) -> str:
    """Return the non-empty sections with their titles.

    Long lists are cut, with a note; JSON output has all entries.
    """
    distributions = insight.distributions
    uplinks = uplinks_table(distributions[:_MAX_SWITCHES], len(distributions)) if distributions else None
    parts = (
        why_text(insight, colour=colour),
        _titled([_recoveries(insight)], colour=colour),
        _table_text(uplinks, colour=colour),
        _table_text(marks_table(distributions, _MAX_SWITCHES), colour=colour),
        _titled([_losses(insight)], colour=colour),
        _table_text(pauses_table(insight, _MAX_PORTS), colour=colour),
        _table_text(priorities_table(insight, _MAX_PORTS), colour=colour),
        _table_text(orders_table(insight.orders), colour=colour),
    )
    return "\n\n".join(part for part in parts if part)


def _table_text(table: Table | None, *, colour: bool) -> str:
    return render(table, colour=colour) if table else ""


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


def _losses(insight: Insight) -> _Section:
    if not any(insight.losses.values()):
        return "", []
    return "frames lost", [f"  {cause}: {frames:,}" for cause, frames in insight.losses.items()]
