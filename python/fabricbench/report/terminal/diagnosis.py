"""Formats a trial's likely causes, and the tables of its counters, as text for people."""

from __future__ import annotations

import textwrap

from fabricbench.analysis.causes.finding import Finding, Remedy
from fabricbench.report.documents.counter_tables import (
    losses_table,
    marks_table,
    orders_table,
    pauses_table,
    priorities_table,
    uplinks_table,
)
from fabricbench.report.documents.diagnosis import NO_CAUSE, UNDER_MAX, Insight, finding_text, under_text
from fabricbench.report.documents.recovery import recovery_table
from fabricbench.report.terminal.text_table import Style, joined, styled

_WIDTH = 110
_MAX_FINDINGS = 8
_MAX_SWITCHES = 32
_MAX_PORTS = 8
_MAX_RECOVERIES = 12


def insight_text(insight: Insight, *, colour: bool = False) -> str:
    """Return the likely causes and the tables of the counters.

    Long lists are cut, with a note; JSON output has all entries.
    """
    distributions = insight.distributions
    tables = (
        recovery_table(insight.recoveries, insight.unreached, _MAX_RECOVERIES),
        uplinks_table(distributions[:_MAX_SWITCHES], len(distributions)) if distributions else None,
        marks_table(distributions, _MAX_SWITCHES),
        losses_table(insight),
        pauses_table(insight, _MAX_PORTS),
        priorities_table(insight, _MAX_PORTS),
        orders_table(insight.orders),
    )
    parts = (why_text(insight, colour=colour), joined(tables, colour=colour))
    return "\n\n".join(part for part in parts if part)


def why_text(insight: Insight, *, colour: bool = False) -> str:
    """Return the likely causes of each job that needs an explanation, with their remedies."""
    return "\n\n".join(_why(insight, job, colour=colour) for job in insight.unhealthy)


def _why(insight: Insight, job: str, *, colour: bool) -> str:
    findings = insight.of_job(job)
    texts = [line for finding in findings[:_MAX_FINDINGS] for line in cause_lines(finding)] or [
        f"  {NO_CAUSE}"
    ]
    if len(findings) > _MAX_FINDINGS:
        texts.append(f"  and {len(findings) - _MAX_FINDINGS} more; --format json has all")
    state = "did not complete" if job in insight.unfinished else "is below 95 % of its ideal"
    title = styled(f"why job {job} {state}, likely causes", Style.BOLD, colour=colour)
    return "\n".join([title, *texts])


def cause_lines(finding: Finding) -> list[str]:
    """Return a cause, its symptoms and remedies, in lines of a terminal."""
    lines = [_wrapped(finding_text(finding), "- ")]
    symptoms = [under_text(finding, symptom) for symptom in finding.under[:UNDER_MAX]]
    if len(finding.under) > UNDER_MAX:
        symptoms.append(f"and {len(finding.under) - UNDER_MAX} more; --format json has all")
    lines += [_wrapped(text, "  - ") for text in symptoms]
    return lines + [line for remedy in finding.remedies for line in _remedy_lines(remedy)]


def _remedy_lines(remedy: Remedy) -> list[str]:
    """Format a remedy; commands are never broken."""
    line = f"  remedy: {remedy.text}"
    if len(line) <= _WIDTH or not remedy.changes:
        return [_wrapped(f"remedy: {remedy.text}", "  ")]
    return [f"  remedy: {remedy.action}:", f"    `{remedy.options}`"]


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_on_hyphens=False,
        break_long_words=False,
    )
